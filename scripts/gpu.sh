#!/usr/bin/env bash
# Checks and times everything on a machine with an NVIDIA GPU, which need not be the one that built it.
#
#   scripts/gpu.sh pack FOLDER OASIS   where Rust is: builds, and puts binaries and volumes (*_t1, *_labels) into FOLDER
#   scripts/gpu.sh run FOLDER OUT      where the GPU is: parity (OUT/checked.json, OUT/checked_lab.json and OUT/checked_pipeline.json,
#                                      to be committed as crates/{kernels,lab}/cu/checked.json and tests/parity/checked.json),
#                                      kernels, whole registrations
#   scripts/gpu.sh parity FOLDER OUT   the parity tests alone, with their records
#   scripts/gpu.sh sanitize FOLDER OUT the same small volumes under compute-sanitizer
#   scripts/gpu.sh cohort FOLDER OUT   where the GPU is, or several of them: batches and templates by number of GPUs; TMPDIR
#                                      wants a fast disk with 25 GB to spare
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
    local tests="parity:antsreg-kernels:parity lab_parity:antsreg-lab:parity pipeline_parity:antsreg-tests:pipeline_parity" of name
    for of in $tests; do
        IFS=: read -r name package test <<< "$of"
        local binary; binary=$(built cargo test -p "$package" --test "$test")
        # The sources that the binary tests, for the record: the machine with the GPU need not have them.
        "$binary" --describe "$folder/$name.json"
        strip -o "$folder/$name" "$binary"
    done
    strip -o "$folder/kernels" "$(built cargo bench -p antsreg-kernels --bench cuda_kernels)"
    cp "$oasis"/*_t1.nii.gz "$oasis"/*_labels.nii.gz "$oasis/common_labels.txt" "$folder/oasis"
    cp scripts/throughput.sh scripts/atlas_bars.sh "$folder"
}

register() { # FIXED MOVING PREFIX [OPTION…]
    "$folder/antsreg-gpu" register -f "$oasis/$1_t1.nii.gz" -m "$oasis/$2_t1.nii.gz" -o "$3" --device cuda "${@:4}"
}

# Compares all operations, the lab's schemes and whole registrations with the CPU, and writes the records.
parity() {
    folder=$1
    local out=$2 failed=0 name record
    for name in parity:checked lab_parity:checked_lab pipeline_parity:checked_pipeline; do
        record=${name#*:} name=${name%:*}
        "$folder/$name" --described "$folder/$name.json" --record "$out/$record.json" > "$out/$name.log" 2>&1 || failed=1
        tail -3 "$out/$name.log"
    done
    return $failed
}

run() {
    folder=$1 oasis=$1/oasis
    local out=$2 work
    work=$(mktemp -d)
    "$folder/antsreg-gpu" info
    parity "$@"
    "$folder/kernels" > "$out/kernels.log"
    register 1000 1001 "$work/profile_" --profile > "$out/profile.log" 2>&1
    printf '\n| 1001 → 1000, seconds | read | device | affine | syn | outputs | all | process |\n|---|---|---|---|---|---|---|---|\n'
    local n process TIMEFORMAT=%R
    for n in "empty JIT cache" "empty JIT cache" "empty JIT cache" 1 2 3 4 5; do
        [[ $n == empty* ]] && rm -rf ~/.nv
        process=$({ time register 1000 1001 "$work/${n%% *}_" --quiet > /dev/null 2>&1; } 2>&1)
        python3 - "$work/${n%% *}_record.json" "$n" "$process" <<'EOF'
import json, sys
seconds = json.load(open(sys.argv[1]))["seconds"]
names = ("read", "device", "linear", "syn", "outputs", "total")
print("|", sys.argv[2], "|", " | ".join(f"{seconds[name]:.2f}" for name in names), "|", sys.argv[3], "|")
EOF
    done
    cmp "$work/1_1Warp.nii.gz" "$work/2_1Warp.nii.gz" && echo "two runs: identical warps"
    register 1000 1001 "$work/plain_" --format nii --quiet > /dev/null 2>&1
    for n in 1Warp 1InverseWarp; do
        gunzip -c "$work/1_$n.nii.gz" | cmp - "$work/plain_$n.nii" && echo "$n compressed and plain: identical numbers"
    done
    for preset in default best; do
        for pair in "${PAIRS[@]}"; do
            read -r moving fixed <<< "$pair"
            echo "$moving → $fixed, $preset"
            register "$fixed" "$moving" "$work/p_" --preset "$preset" --fixed-labels "$oasis/${fixed}_labels.nii.gz" \
                --moving-labels "$oasis/${moving}_labels.nii.gz" --label-interpolation nearest \
                --label-list "$oasis/common_labels.txt" 2> /dev/null | grep -E "Overlap|Jacobian|Seconds|memory"
        done
    done
    fine_grid "$work" 2
    fine_grid "$work" 4
    rm -rf "$work"
}

# The pair, interpolated to grids of a half or a quarter of the spacing. Files of a quarter need 16 GB of TMPDIR.
fine_grid() { # WORK PARTS
    local person n TIMEFORMAT="process %R s"
    for person in 1000 1001; do
        python3 - "$oasis/${person}_t1.nii.gz" "$1/grid_$person.nii" "$2" <<'EOF'
import gzip, struct, sys
head, parts = bytearray(gzip.open(sys.argv[1]).read(352)), int(sys.argv[3])
for axis in range(3):
    struct.pack_into("<h", head, 42 + 2 * axis, parts * (struct.unpack_from("<h", head, 42 + 2 * axis)[0] - 1) + 1)
    struct.pack_into("<f", head, 80 + 4 * axis, struct.unpack_from("<f", head, 80 + 4 * axis)[0] / parts)
    for row in range(3):
        at = 280 + 16 * row + 4 * axis
        struct.pack_into("<f", head, at, struct.unpack_from("<f", head, at)[0] / parts)
struct.pack_into("<hh", head, 70, 2, 8)
shape = struct.unpack_from("<3h", head, 42)
with open(sys.argv[2], "wb") as grid:
    grid.write(head)
    grid.truncate(352 + shape[0] * shape[1] * shape[2])
EOF
        "$folder/antsreg-gpu" apply -q -i "$oasis/${person}_t1.nii.gz" -r "$1/grid_$person.nii" -n bspline \
            -o "$1/fine_$person.nii"
        rm "$1/grid_$person.nii"
    done
    echo "1001 → 1000, voxels of 1/$2 mm"
    mkdir -p "$1/fine"
    for n in 1 2 3 4 5; do
        # Replacing the files of the run before would count in this run's time.
        rm -f "$1/fine/"*
        time "$folder/antsreg-gpu" register -f "$1/fine_1000.nii" -m "$1/fine_1001.nii" -o "$1/fine/" --device cuda \
            2> /dev/null > "$1/fine.log"
        grep -E "Jacobian|inverse|Seconds|memory" "$1/fine.log"
    done
}

# The parity check of small volumes under the checkers of memory accesses, which take minutes.
sanitize() {
    folder=$1
    local out=$2 tool world
    for tool in memcheck racecheck; do
        for world in tiny flat "a slice" odd; do
            compute-sanitizer --tool "$tool" "$folder/parity" --world "$world" > "$out/${tool}_${world// /_}.log" 2>&1 &
        done
    done
    compute-sanitizer "$folder/lab_parity" --small > "$out/memcheck_lab.log" 2>&1 &
    wait
    tail -n 1 "$out"/{mem,race}check_*.log
}

# Batches and templates of the six, on one GPU and on several.
cohort() {
    folder=$1 oasis=$1/oasis
    local out=$2 work images gpus
    work=$(mktemp -d)
    gpus=$("$folder/antsreg-gpu" info | grep -c '^ *cuda:[0-9]')
    for image in "$oasis"/*_t1.nii.gz; do
        cp "$image" "$work/$(basename "$image" _t1.nii.gz).nii.gz"
    done
    images=("$work"/*.nii.gz)
    bash "$folder/throughput.sh" "$folder/antsreg-gpu" "${images[0]}" "$work/batch" 24 "${images[@]}" > "$out/throughput.log" 2>&1
    sed -n '/^| GPUs/,$p' "$out/throughput.log"
    rm -rf "$work/batch"
    bash "$folder/atlas_bars.sh" "$folder/antsreg-gpu" "$work/atlases" "$gpus" "${images[@]}" | tee "$out/atlas_bars.log"
    rm -rf "$work"
}

case ${1:-} in
    pack | run | parity | sanitize | cohort) "$@" ;;
    *) sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
