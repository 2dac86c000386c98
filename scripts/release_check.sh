#!/usr/bin/env bash
# Tries the wheel of a release on a bare Debian 11 (glibc 2.31, Python 3.9), in a chroot: the package is imported, registers on the
# processor, and says that there is no GPU.
#
#   scripts/release_check.sh FILES CHROOT      FILES as scripts/release.sh made them; CHROOT is made unless it is there
#
# Runs as root. Needs debootstrap, pip and unzip, Debian's archive, and PyPI for numpy.
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
files=$1 root=$2
machine=$(uname -m)

[ -x "$root/usr/bin/python3" ] || debootstrap --variant=minbase --include=python3 bullseye "$root" http://deb.debian.org/debian
rm -rf "$root/opt/site" "$root/opt/wheels" && mkdir -p "$root/opt/site"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.9 \
    --implementation cp --platform "manylinux_2_17_$machine" --platform "manylinux2014_$machine" --dest "$root/opt/wheels" numpy
# A wheel is an archive: nothing but Python is needed to use it.
for wheel in "$files"/*"$machine".whl "$root"/opt/wheels/*.whl; do unzip -q -o "$wheel" -d "$root/opt/site"; done

chroot "$root" env PYTHONPATH=/opt/site python3 - <<'PYTHON'
import numpy
import antsreg_gpu

print("wheel:", antsreg_gpu.devices(), antsreg_gpu.why_no_gpu())
assert [device["device"] for device in antsreg_gpu.devices()] == ["cpu"] and antsreg_gpu.why_no_gpu()
i, j, k = numpy.mgrid[:32, :32, :32]


def ball(x):
    return numpy.exp(-((i - x) ** 2 + (j - 16.0) ** 2 + (k - 15.0) ** 2) / 40, dtype=numpy.float32)


affine = numpy.diag([4.0, 4.0, 4.0, 1.0])
found = antsreg_gpu.register((ball(16.0), affine), (ball(17.0), affine), "translation")
print("wheel: moved by", found.affine[:3, 3].round(2))
assert abs(found.affine[0, 3] - 4) < 0.4
try:
    antsreg_gpu.register((ball(16.0), affine), (ball(17.0), affine), device="cuda:0")
    raise SystemExit("a GPU was used")
except antsreg_gpu.DeviceError as error:
    print("wheel:", error)
PYTHON
