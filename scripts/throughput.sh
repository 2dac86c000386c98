#!/usr/bin/env bash
# Times `antsreg-gpu batch` on NVIDIA GPUs: subjects a second on one GPU by number of workers, and on several by number of
# GPUs, each time compared with the first; and the processor's seconds for each.
#
#   scripts/throughput.sh PROGRAM FIXED OUT COUNT IMAGE…
#
# The images are taken in turn until there are COUNT subjects for every GPU. OUT is a folder on a fast disk; what is in
# OUT/batch goes. A table comes last; rates leave out getting the GPUs ready, `all` does not.
set -euo pipefail
[ $# -ge 5 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
program=$1 fixed=$2 out=$3 count=$4
shift 4
images=("$@")
mkdir -p "$out"

table() { # SUBJECTS
    local n
    echo subject,image
    for ((n = 0; n < $1; n++)); do echo "s$n,$(realpath "${images[n % ${#images[@]}]}")"; done
}

rows=()
first=
measure() { # GPUS WORKERS FORMAT [OPTION…]
    local devices began ended rate cores
    local TIMEFORMAT='%U %S'
    devices=cuda:$(seq -s, 0 $(($1 - 1)))
    table $(($1 * count)) > "$out/subjects.csv"
    rm -rf "$out/batch"
    began=$(date +%s.%N)
    cores=$({ time "$program" batch "$out/subjects.csv" -f "$fixed" -o "$out/batch" --device "$devices" --workers "$2" \
        --format "$3" "${@:4}" > "$out/log" 2> "$out/errors"; } 2>&1) || { cat "$out/errors"; exit 1; }
    ended=$(date +%s.%N)
    rate=$(sed -n 's/.*: \([0-9.]*\) subjects a second.*/\1/p' "$out/log")
    first=${first:-$rate}
    rows+=("$(awk -v row="| $1 | $2 | $3 ${*:4} | $(($1 * count))" -v rate="$rate" -v first="$first" -v all="$began $ended" \
        -v cores="$cores" -v subjects="$(($1 * count))" 'BEGIN {
            split(all, t, " "); split(cores, c, " ")
            printf "%s | %.2f | %.2f | %.1f s | %.2f |", row, rate, rate / first, t[2] - t[1], (c[1] + c[2]) / subjects
        }')")
    tail -2 "$out/log"
}

gpus=$("$program" info | grep -c '^ *cuda:[0-9]')
for workers in 1 2 3 4; do measure 1 "$workers" nii; done
measure 1 3 nii.gz
first=
for ((n = 1; n <= gpus; n *= 2)); do measure "$n" 3 nii; done
printf '\n| GPUs | workers each | format | subjects | a second | of the first | all | core-seconds a subject |\n|---|---|---|---|---|---|---|---|\n'
printf '%s\n' "${rows[@]}"
[ "$gpus" -gt 1 ] || echo "There is one GPU here: with several, the last lines compare them."
rm -rf "$out/batch"
