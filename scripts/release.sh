#!/usr/bin/env bash
# Builds the files of a release into a folder: wheels, a tarball with the program, completions and man pages, and checksums.
#
#   scripts/release.sh [OUT]      OUT is target/release-files unless it is given
#   ONLY=x86_64 scripts/release.sh
#
# Needs Rust (rustup, for the second processor), Python 3.9 or later with venv, and a package index. zig and the tools that link
# by it come from PyPI: programs run with the C library of 2014 (glibc 2.17) and later. The same commit gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$(realpath -m "${1:-target/release-files}")
tools=$PWD/target/release-tools
glibc=2.17
machines=${ONLY:-x86_64 aarch64}
manuals=$PWD/target/release-manuals

# One time for all that records one: that of the commit.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
# No folder of this machine in what is built.
RUSTFLAGS="--remap-path-prefix=$PWD=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
# The linker drops more code when it sees all crates at once: the program is 1.7 MB smaller.
CARGO_PROFILE_RELEASE_LTO=fat
export SOURCE_DATE_EPOCH RUSTFLAGS CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_LTO

[ -x "$tools/bin/maturin" ] || python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check 'maturin[zig]>=1.9,<2' 'cargo-zigbuild>=0.20' 'auditwheel>=6'
export PATH=$tools/bin:$PATH

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
rm -rf "$out" && mkdir -p "$out"

for machine in $machines; do
    triple=$machine-unknown-linux-gnu
    if command -v rustup > /dev/null; then rustup target add "$triple" > /dev/null; fi
    maturin build --release --locked --zig --target "$triple" --compatibility manylinux_2_17 --out "$out"
    cargo zigbuild --release --locked --package antsreg-cli --target "$triple.$glibc"
    name=antsreg-gpu-$version-$machine-linux
    folder=target/$name
    rm -rf "$folder" && mkdir -p "$folder/bin" "$folder/share/man/man1" "$folder/share/completions"
    cp "target/$triple/release/antsreg-gpu" "$folder/bin/"
    cp README.md LICENSE-MIT LICENSE-APACHE crates/heads/template/LICENSE-MNI "$folder/"
    # What the program says of itself is the same on every processor; it is asked on this one.
    if [ "$machine" = "$(uname -m)" ]; then
        native=$folder/bin/antsreg-gpu
        cargo zigbuild --release --locked --package antsreg-cli --example man --target "$triple.$glibc"
        rm -rf "$manuals" && "target/$triple/release/examples/man" "$manuals"
    fi
    for shell in bash zsh fish; do
        "${native:?build $(uname -m) first}" completions "$shell" > "$folder/share/completions/antsreg-gpu.$shell"
    done
    cp "$manuals"/*.1 "$folder/share/man/man1/"
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C target -cf - "$name" \
        | gzip -9n > "$out/$name.tar.gz"
done

for wheel in "$out"/*.whl; do
    auditwheel show "$wheel" | tr '\n' ' ' && echo
    # No library of CUDA inside, and none of the driver's names offered to others.
    python3 - "$wheel" <<'PYTHON'
import sys, zipfile
names = zipfile.ZipFile(sys.argv[1]).namelist()
sys.exit(f"{sys.argv[1]}: {names}" if any("cuda" in name.lower() for name in names) else 0)
PYTHON
done
(cd "$out" && sha256sum -- * > SHA256SUMS && cat SHA256SUMS)
