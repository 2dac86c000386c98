#!/usr/bin/env bash
# Measures `antsreg-gpu template` on NVIDIA GPUs: time, sharpness, bias, how much faster several GPUs are (also of each subject
# four times, and with the preset `best`), kills, an unreadable subject, dependence on the start.
#
#   [ONLY="time scale kinds kills unreadable starts"] [SEED=N] [DEVICE=cpu] scripts/atlas_bars.sh PROGRAM OUT GPUS SUBJECT…
#
# Each SUBJECT is a NAME.nii.gz. OUT is a folder on a fast disk with 20 GB to spare; what is in OUT/atlas goes. ONLY makes some
# of the parts, DEVICE makes all of them on that device. Templates stay in OUT/keep: `scripts/atlas_score.py OUT/keep` measures
# them apart from the program. Needs no Python here.
set -uo pipefail
[ $# -ge 4 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2; }
program=$(realpath "$1") gpus=$3
mkdir -p "$2"
out=$(realpath "$2")
one=${DEVICE:-cuda:0} all=${DEVICE:-cuda:$(seq -s, 0 $((gpus - 1)))}
shift 3
subjects=()
for subject in "$@"; do subjects+=("$(realpath "$subject")"); done
mkdir -p "$out/keep"
cd "$out" || exit 1

build() { # NAME OPTION…: an atlas from nothing; its figures in one line
    local name=$1
    shift
    rm -rf atlas
    "$program" atlas "${subjects[@]}" -o atlas --stop-below 0 --format nii "$@" > log 2>&1
    local code=$?
    printf '%s: exit %s, %s s, %s, %s, %s\n' "$name" "$code" "$(figure atlas/record.json total)" \
        "$(figure atlas/template.json mean_final_warp_voxels) voxels of bias" \
        "$(figure atlas/template.json sharpness_per_mm) / mm" \
        "$(figure atlas/template.json sharper_than_affine_average) times the affine average"
}
figure() { sed -n "s/.*\"$2\": \([0-9.e-]*\),*/\1/p" "$1" | head -1; }
seconds() { tr -d '\n ' < atlas/record.json | sed 's/.*"seconds":\(.*\)}/  \1\n/'; }
wanted() { [[ " ${ONLY:-time scale kinds kills unreadable starts} " == *" $1 "* ]] && echo "== $1"; }
same() { (cd atlas && sha256sum --check --quiet ../reference.txt) && echo "the same bytes in $(wc -l < reference.txt) files"; }

# Compiles the kernels for this GPU, if that was not done before.
"$program" register -f "${subjects[0]}" -m "${subjects[1]}" -o warm_ --no-warped --quiet > /dev/null 2>&1
rm -f warm_*

build "$one" --device "$one"
grep '^pass .: template\|^mean of' log
cp atlas/template.nii keep/template.nii
cp atlas/pass_0/average.nii keep/affine_average.nii
cp atlas/record.json reference.json
(cd atlas && sha256sum template.nii template.json report.html convergence.csv subjects/*.nii subjects/*.mat) > reference.txt
"$program" atlas "${subjects[@]}" -o again --template keep/template.nii --passes 1 --stop-below 0 --format nii --device "$one" \
    2>&1 | sed -n 's/^pass 1: template moved.*mean warp \([0-9.]*\) voxels.*/registered to it anew: mean warp \1 voxels/p'
rm -rf again

if wanted time; then
    for _ in 1 2 3; do
        if [ "$gpus" -gt 1 ]; then
            build "$all" --device "$all"
            same
            seconds
        fi
        build "$one" --device "$one"
        same
        seconds
    done
fi

if wanted scale && [ "$gpus" -gt 1 ]; then
    six=("${subjects[@]}")
    mkdir -p many
    for n in 1 2 3 4; do
        for subject in "${six[@]}"; do ln -sf "$subject" "many/${n}_$(basename "$subject")"; done
    done
    for preset in default best; do
        for copies in 1 4; do
            [ "$copies" = 1 ] && subjects=("${six[@]}") || subjects=("$out"/many/*)
            for device in "$one" "$all"; do
                build "${#subjects[@]} subjects, $preset, $device" --device "$device" --preset "$preset"
                seconds
            done
        done
    done
    subjects=("${six[@]}")
fi

if wanted kinds; then
    build "read linearly" --device "$one" --interpolation linear
    cp atlas/template.nii keep/template_linear.nii
    build "read by B-splines" --device "$one" --interpolation bspline
    build "trimmed" --device "$one" --average trimmed
    cp atlas/template.nii keep/template_trimmed.nii
    build "sharpened" --device "$one" --sharpen
    cp atlas/template.nii keep/template_sharpened.nii
    build "best" --device "$one" --preset best
    cp atlas/template.nii keep/template_best.nii
fi

if wanted kills; then
    # Each moment is drawn from the time still to run, so that every kill meets a run under way. What is done is kept, but for
    # the registrations under way and what was not written yet. SEED makes the same moments again.
    RANDOM=${SEED:=$RANDOM}
    ready=$(figure reference.json ready) whole=$(figure reference.json total)
    rest() { awk -v ready="$ready" -v whole="$whole" 'BEGIN { print whole - ready }'; }
    left=$(rest)
    rm -rf atlas
    kills=0 ended=0
    while [ "$kills" -lt 10 ] && [ "$ended" -lt 5 ]; do
        further=$(awk -v random="$RANDOM" -v left="$left" -v more=$((10 - kills)) \
            'BEGIN { print random / 32768 * left / (more + 0.5) }')
        left=$(awk -v left="$left" -v further="$further" 'BEGIN { print left - further }')
        "$program" atlas "${subjects[@]}" -o atlas --stop-below 0 --format nii --device "$one" > log 2>&1 &
        process=$!
        sleep "$(awk -v ready="$ready" -v further="$further" 'BEGIN { print ready + further }')"
        kill -KILL "$process" 2> /dev/null
        wait "$process" 2> /dev/null
        # 137: it was the kill that ended it.
        if [ $? -eq 137 ]; then
            kills=$((kills + 1))
            echo "kill $kills, $further s after it was ready: $(grep -c 'done before' log) steps done before; $(tail -1 log)"
        else
            ended=$((ended + 1)) left=$(rest)
            echo "it had ended before the kill: begun from nothing"
            rm -rf atlas
        fi
    done
    "$program" atlas "${subjects[@]}" -o atlas --stop-below 0 --format nii --device "$one" > log 2>&1
    echo "exit $? after $kills kills, seed $SEED"
    same
fi

if wanted unreadable; then
    echo "no image" > unreadable.nii.gz
    rm -rf atlas
    "$program" atlas "${subjects[@]:1}" unreadable.nii.gz -o atlas --passes 1 --format nii --device "$one" --quiet
    echo "exit $?"
fi

if wanted starts; then
    for subject in "${subjects[@]}"; do
        name=$(basename "$subject" .nii.gz)
        build "from $name" --device "$all" --start-from "$name"
        cp atlas/template.nii "keep/from_$name.nii"
        "$program" register -f keep/template.nii -m "keep/from_$name.nii" -o "keep/rigid_$name" -t rigid --format nii --no-inverse \
            --quiet > /dev/null
    done
    aligned=(keep/template.nii keep/rigid_*Warped.nii)
    for ((i = 0; i < ${#aligned[@]}; i++)); do
        for ((j = 0; j < i; j++)); do
            printf '%s, %s: ' "$(basename "${aligned[j]}" .nii)" "$(basename "${aligned[i]}" .nii)"
            "$program" compare "${aligned[j]}" "${aligned[i]}" | sed -n 's/Correlation */correlation /p'
        done
    done
fi
