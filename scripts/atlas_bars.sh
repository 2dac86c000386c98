#!/usr/bin/env bash
# Measures `antsreg-gpu atlas` on NVIDIA GPUs: time, sharpness, bias, dependence on the start, kills, an unreadable subject, and
# how much faster several GPUs are.
#
#   scripts/atlas_bars.sh PROGRAM OUT GPUS SUBJECT…
#
# Each SUBJECT is a NAME.nii.gz. OUT is a folder on a fast disk with 15 GB to spare; what is in OUT/atlas goes. Templates stay in
# OUT/keep: `scripts/atlas_score.py OUT/keep` measures them apart from the program. Needs no Python here.
set -uo pipefail
program=$(realpath "$1") out=$2 gpus=$3
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

# Compiles the kernels for this GPU, if that was not done before.
"$program" register -f "${subjects[0]}" -m "${subjects[1]}" -o warm_ --no-warped --quiet > /dev/null 2>&1
rm -f warm_*

echo "== time, sharpness, bias"
build "one GPU" --device cuda:0
cp atlas/template.nii keep/template.nii
cp atlas/pass_0/template.nii keep/affine_average.nii
(cd atlas && sha256sum template.nii template.json report.html convergence.csv subjects/*.nii subjects/*.mat) > reference.txt
rm -rf again
"$program" atlas "${subjects[@]}" -o again --template keep/template.nii --passes 1 --stop-below 0 --format nii --device cuda:0 \
    2>&1 | sed -n 's/^pass 1: template moved.*mean warp \([0-9.]*\) voxels.*/registered to it anew: mean warp \1 voxels/p'
rm -rf again
if [ "$gpus" -gt 1 ]; then
    build "$gpus GPUs" --device "cuda:$(seq -s, 0 $((gpus - 1)))"
    (cd atlas && sha256sum --check --quiet ../reference.txt) && echo "the same bytes"
fi
build "B-spline" --device cuda:0 --interpolation bspline
cp atlas/template.nii keep/template_bspline.nii
build "sharpened" --device cuda:0 --sharpen
cp atlas/template.nii keep/template_sharpened.nii

echo "== killed at ten random moments"
rm -rf atlas
kills=0
while [ "$kills" -lt 10 ]; do
    "$program" atlas "${subjects[@]}" -o atlas --stop-below 0 --format nii --device cuda:0 > log 2>&1 &
    process=$!
    sleep "$((RANDOM % 2)).$((RANDOM % 90 + 10))"
    kill -KILL "$process" 2> /dev/null || break
    wait "$process" 2> /dev/null
    kills=$((kills + 1))
    # What is done is kept, so a run that comes far ends the loop sooner.
done
"$program" atlas "${subjects[@]}" -o atlas --stop-below 0 --format nii --device cuda:0 > log 2>&1
echo "exit $? after $kills kills"
(cd atlas && sha256sum --check --quiet ../reference.txt) && echo "the same bytes"

echo "== an unreadable subject"
echo "no image" > unreadable.nii.gz
rm -rf atlas
"$program" atlas "${subjects[@]:1}" unreadable.nii.gz -o atlas --passes 1 --format nii --device cuda:0 --quiet
echo "exit $?"

echo "== started from each subject"
for subject in "${subjects[@]}"; do
    name=$(basename "$subject" .nii.gz)
    build "from $name" --device cuda:0 --start-from "$name"
    cp atlas/template.nii "keep/from_$name.nii"
    "$program" register -f keep/template.nii -m "keep/from_$name.nii" -o "keep/rigid_$name" -t rigid --format nii --no-inverse \
        --quiet > /dev/null
    "$program" compare keep/template.nii "keep/rigid_${name}Warped.nii" | sed -n 's/Correlation */correlation with the default /p'
done
