#!/usr/bin/env bash
# Checks and times everything on a machine with an NVIDIA GPU, which need not be the one that built it.
#
#   scripts/gpu.sh pack FOLDER OASIS   where Rust is: builds, and puts binaries and volumes (*_t1, *_labels) into FOLDER
#   scripts/gpu.sh run FOLDER OUT      where the GPU is: parity (OUT/checked.json, to be committed as
#                                      crates/kernels/cu/checked.json), sanitizer, kernels, whole registrations
#
# A short table comes last; the logs stay in OUT.
set -euo pipefail

PAIRS=("1001 1000" "1002 1000" "1006 1002" "1104 1007")

# The executable that cargo names for a target built without running it.
built() { "$@" --no-run 2>&1 | sed -n 's/.*(\(target.*\))$/\1/p' | tail -1; }

pack() {
    local folder=$1 oasis=$2
    cargo build --release
    mkdir -p "$folder/oasis"
    strip -o "$folder/antsreg-gpu" target/release/antsreg-gpu
    strip -o "$folder/parity" "$(built cargo test -p antsreg-kernels --test parity)"
    strip -o "$folder/kernels" "$(built cargo bench -p antsreg-kernels --bench cuda_kernels)"
    cp "$oasis"/*_t1.nii.gz "$oasis"/*_labels.nii.gz "$oasis/common_labels.txt" "$folder/oasis"
}

register() { # FIXED MOVING PREFIX [OPTION…]
    "$folder/antsreg-gpu" register -f "$oasis/$1_t1.nii.gz" -m "$oasis/$2_t1.nii.gz" -o "$3" --device cuda "${@:4}"
}

run() {
    folder=$1 oasis=$1/oasis
    local out=$2 work
    work=$(mktemp -d)
    "$folder/antsreg-gpu" info
    "$folder/parity" --record "$out/checked.json" > "$out/parity.log" 2>&1 && tail -1 "$out/parity.log"
    for tool in memcheck racecheck; do
        compute-sanitizer --tool "$tool" "$folder/parity" --small > "$out/$tool.log" 2>&1 || true
        tail -1 "$out/$tool.log"
    done
    "$folder/kernels" > "$out/kernels.log"
    register 1000 1001 "$work/profile_" --profile > "$out/profile.log" 2>&1
    printf '\n| 1001 → 1000, seconds | read | device | affine | syn | outputs | all |\n|---|---|---|---|---|---|---|\n'
    rm -rf ~/.nv
    for n in "empty JIT cache" 1 2 3 4 5; do
        register 1000 1001 "$work/${n%% *}_" --quiet > /dev/null
        python3 - "$work/${n%% *}_record.json" "$n" <<'EOF'
import json, sys
seconds = json.load(open(sys.argv[1]))["seconds"]
names = ("read", "device", "linear", "syn", "outputs", "total")
print("|", sys.argv[2], "|", " | ".join(f"{seconds[name]:.2f}" for name in names), "|")
EOF
    done
    cmp "$work/1_1Warp.nii.gz" "$work/2_1Warp.nii.gz" && echo "two runs: identical warps"
    for preset in default best; do
        for pair in "${PAIRS[@]}"; do
            read -r moving fixed <<< "$pair"
            echo "$moving → $fixed, $preset"
            register "$fixed" "$moving" "$work/p_" --preset "$preset" --fixed-labels "$oasis/${fixed}_labels.nii.gz" \
                --moving-labels "$oasis/${moving}_labels.nii.gz" --label-interpolation nearest \
                --label-list "$oasis/common_labels.txt" 2> /dev/null | grep -E "Overlap|Jacobian|Seconds|memory"
        done
    done
    rm -rf "$work"
}

case ${1:-} in
    pack | run) "$@" ;;
    *) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
