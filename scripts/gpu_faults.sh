#!/usr/bin/env bash
# What happens when a GPU fails: too little memory at the start and in the middle, no GPU, a driver that does not start.
#
#   scripts/gpu_faults.sh pack FOLDER                   where Rust is: builds, and puts the programs into FOLDER
#   scripts/gpu_faults.sh run FOLDER FIXED MOVING OUT   where the GPU is, with a pair of images of about 1 mm
#
# After each fault: --device cuda ends with 1 and says what is wrong, --device auto computes on the processor where the GPU
# was of no use from the start, nothing unfinished stays, and what was there before is whole or replaced as a whole. A table
# comes last; the exit code is 1 if anything was otherwise. The GPU's settings are left alone.
set -euo pipefail

pack() {
    cargo build --release --package antsreg-cli
    cargo build --release --package antsreg-register --example hold_memory
    mkdir -p "$1"
    cp target/release/antsreg-gpu target/release/examples/hold_memory "$1"
}

# Makes ready: old outputs under all names, so that half of a new set shows.
old_outputs() {
    local name
    rm -rf "$work"
    mkdir "$work"
    for name in 0GenericAffine.mat 1Warp.nii 1InverseWarp.nii Warped.nii InverseWarped.nii record.json; do
        printf 'of before' > "$work/p$name"
    done
}

# How many of the outputs are old, and whether anything unfinished is there.
state() {
    local old new
    old=$(grep -l -x 'of before' "$work"/p* 2> /dev/null | wc -l)
    new=$(($(find "$work" -type f -name 'p*' | wc -l) - old))
    if [ -n "$(find "$work" -name '.*' -mindepth 1)" ]; then echo unfinished; elif [ "$new" = 0 ]; then echo old; elif [ "$old" = 0 ]; then echo new; else echo mixed; fi
}

# judge NAME CODE "EXPECTED CODES" "EXPECTED STATES" WORD: the message must have the word where the code is not 0.
judge() {
    local name=$1 code=$2 found verdict=ok
    found=$(state)
    [[ " $3 " == *" $code "* ]] || verdict=FAILED
    [[ " $4 " == *" $found "* ]] || verdict=FAILED
    [ "$code" = 0 ] && [ "$found" = old ] && verdict=FAILED
    [ "$code" != 0 ] && [ "$found" != old ] && verdict=FAILED
    if [ "$code" != 0 ] && ! grep -qiE "$5" "$out/$name.log"; then verdict=FAILED; fi
    if grep -q panicked "$out/$name.log"; then verdict=FAILED; fi
    [ "$verdict" = ok ] || failed=1
    table+=("$(printf '%-34s code %3s  outputs %-10s %s' "$name" "$code" "$found" "$verdict")")
}

# register NAME DEVICE: one registration over old outputs; its code in $code.
register() {
    old_outputs
    code=0
    timeout 300 "$folder/antsreg-gpu" register -f "$fixed" -m "$moving" -o "$work/p" --format nii --device "$2" \
        > "$out/$1.log" 2>&1 || code=$?
}

# full_after MS NAME ARGUMENTS…: runs the program, and fills the memory of the GPU after this time; its code in $code.
full_after() {
    local running
    code=0
    timeout 600 "$folder/antsreg-gpu" "${@:3}" > "$out/$2.log" 2>&1 &
    running=$!
    sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
    hold 0
    wait "$running" || code=$?
    release
}

# Holds all memory but $1 MB until `release`.
hold() {
    coproc HOLDER { exec "$folder/hold_memory" "$1"; }
    holder=$HOLDER_PID
    local line
    read -r line <&"${HOLDER[0]}"
    echo "$line"
}

release() {
    exec {HOLDER[1]}>&-
    wait "$holder" || true
}

run() {
    folder=$(realpath "$1") fixed=$(realpath "$2") moving=$(realpath "$3")
    mkdir -p "$4"
    out=$(realpath "$4") work=$(mktemp -d)
    local began taken n name
    table=() failed=0

    began=$(date +%s%N)
    register whole cuda
    taken=$((($(date +%s%N) - began) / 1000000))
    judge whole "$code" 0 new .
    echo "a whole registration takes $taken ms"

    # No GPU to be seen.
    for visible in '' 77; do
        export CUDA_VISIBLE_DEVICES=$visible
        register "hidden-${visible:-none}-cuda" cuda
        judge "hidden-${visible:-none}-cuda" "$code" 1 old 'gpu|cuda|device'
        register "hidden-${visible:-none}-auto" auto
        judge "hidden-${visible:-none}-auto" "$code" 0 new .
        unset CUDA_VISIBLE_DEVICES
    done
    register beyond-cuda:77 cuda:77
    judge beyond-cuda:77 "$code" 1 old 'cuda:77'

    # The driver reserves more addresses than this.
    old_outputs
    code=0
    (ulimit -v 8000000; timeout 300 "$folder/antsreg-gpu" register -f "$fixed" -m "$moving" -o "$work/p" --format nii \
        --device cuda > "$out/no-addresses-cuda.log" 2>&1) || code=$?
    judge no-addresses-cuda "$code" 1 old 'gpu|cuda|device|memory'

    # Too little memory from the start.
    hold 200
    register full-cuda cuda
    judge full-cuda "$code" 1 old memory
    register full-auto auto
    judge full-auto "$code" 0 new .
    release

    # Memory that is taken while the registration runs, at twelve times. Either it had all it needed, or it says so.
    for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
        name=taken-after-$((taken * n / 12))-ms
        old_outputs
        full_after $((taken * n / 12)) "$name" register -f "$fixed" -m "$moving" -o "$work/p" --format nii --device cuda
        judge "$name" "$code" '0 1' 'old new' memory
    done

    # Several workers share a GPU that another process fills.
    rm -rf "$work"
    mkdir "$work"
    full_after $((taken / 2)) batch batch -f "$fixed" "$moving" "$fixed" -o "$work/out" --format nii --device cuda --workers 2
    local verdict=ok
    [[ " 0 1 3 " == *" $code "* ]] || verdict=FAILED
    [ -z "$(find "$work" -name '.antsreg*' -o -name '*.part')" ] || verdict=FAILED
    if [ "$code" != 0 ] && ! grep -qi memory "$out/batch.log"; then verdict=FAILED; fi
    [ "$verdict" = ok ] || failed=1
    table+=("$(printf '%-34s code %3s  %s' batch-of-2 "$code" "$verdict")")

    rm -rf "$work"
    printf '%s\n' "${table[@]}" | tee "$out/table.txt"
    return "$failed"
}

case "${1:-}" in
    pack) [ $# -eq 2 ] && pack "$2" ;;
    run) [ $# -eq 5 ] && run "$2" "$3" "$4" "$5" ;;
    *) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
