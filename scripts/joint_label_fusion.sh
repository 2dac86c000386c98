#!/usr/bin/env bash
# Labels of an image from several atlases, and their score where the truth is known, asked for as antsJointLabelFusion.sh
# is.
set -euo pipefail

usage() {
    cat <<'TEXT'
joint_label_fusion.sh -t TARGET -o PREFIX -g ATLAS -l LABELS [-g ATLAS -l LABELS …]
                      [-d 3] [-m 0|1] [-k 0|1] [-p 0|1] [-e TRUTH] [-s LIST] [-h] [-- OPTION…]
joint_label_fusion.sh -c -o PREFIX -g ATLAS -l LABELS -g ATLAS -l LABELS … [-s LIST] [-- OPTION…]

  -t TARGET    the image to label
  -o PREFIX    start of all output names: PREFIXLabels.nii.gz and so on
  -g ATLAS     image of an atlas …
  -l LABELS    … and its label map, in the same order
  -d 3         dimensions; only 3
  -m 0|1       1: majority vote instead of joint label fusion [0]
  -k 0|1       1: keep the transforms of every atlas [0]
  -p 0|1       1: write the posterior of every label [0]
  -e TRUTH     label map of the target itself: the result is scored against it, in PREFIXscore.csv
  -s LIST      labels that count in scores: a file of numbers, or 1,2,5 [all but 0]
  -c           cross-validate: label every atlas by the others and compare the ways to do it
  OPTION…      anything else that `antsreg-gpu labels` takes, such as --device cuda:1 or --search-radius 2

ANTSREG_GPU names the program [antsreg-gpu].
TEXT
}

refuse() {
    printf 'joint_label_fusion.sh: %s\n\n' "$1" >&2
    usage >&2
    exit 2
}

# Whether a switch of this name is on: 1 or 0.
is_on() {
    case $2 in
        0) return 1 ;;
        1) return 0 ;;
        *) refuse "-$1 $2: expected 0 or 1" ;;
    esac
}

program=${ANTSREG_GPU:-antsreg-gpu}
target='' prefix='' truth='' list='' cross='' images=() labels=() options=()
while getopts ':t:o:g:l:d:m:k:p:e:s:ch' option; do
    case $option in
        t) target=$OPTARG ;;
        o) prefix=$OPTARG ;;
        g) images+=("$OPTARG") ;;
        l) labels+=("$OPTARG") ;;
        d) [ "$OPTARG" = 3 ] || refuse "-d $OPTARG: only 3 dimensions are there" ;;
        m) if is_on m "$OPTARG"; then options+=(--fusion majority); fi ;;
        k) if is_on k "$OPTARG"; then options+=(--keep-transforms); fi ;;
        p) if is_on p "$OPTARG"; then options+=(--posteriors); fi ;;
        e) truth=$OPTARG ;;
        s) list=$OPTARG ;;
        c) cross=1 ;;
        h) usage; exit 0 ;;
        :) refuse "-$OPTARG needs a value" ;;
        *) refuse "-$OPTARG is unknown" ;;
    esac
done
shift $((OPTIND - 1))
[ -n "$prefix" ] || refuse '-o PREFIX is needed'
[ ${#images[@]} -gt 0 ] || refuse '-g ATLAS -l LABELS is needed'
[ ${#images[@]} -eq ${#labels[@]} ] || refuse "${#images[@]} images (-g) but ${#labels[@]} label maps (-l) were given"
command -v "$program" > /dev/null || refuse "$program: no such program; cargo install --path crates/cli, or name it by ANTSREG_GPU"
for n in "${!images[@]}"; do
    options+=(--atlas "${images[n]}=${labels[n]}")
done
scored=()
[ -z "$list" ] || scored=(--label-list "$list")

if [ -n "$cross" ]; then
    [ -z "$target$truth" ] || refuse '-c takes neither -t nor -e: every atlas is a target'
    exec "$program" labels --leave-one-out -o "$prefix" "${scored[@]+"${scored[@]}"}" "${options[@]}" "$@"
fi
[ -n "$target" ] || refuse '-t TARGET is needed'
[ -z "$list" ] || [ -n "$truth" ] || refuse '-s needs -e or -c: there is nothing to score'
status=0
"$program" labels --fixed "$target" -o "$prefix" "${options[@]}" "$@" || status=$?
# 3: some atlases were left out, as --keep-going has it, and the others were fused.
[ "$status" -eq 0 ] || [ "$status" -eq 3 ] || exit "$status"
if [ -n "$truth" ]; then
    fused=
    for name in "${prefix}Labels.nii.gz" "${prefix}Labels.nii"; do
        # With --format nii an older one of the other kind may lie beside it.
        if [ -e "$name" ] && { [ -z "$fused" ] || [ "$name" -nt "$fused" ]; }; then fused=$name; fi
    done
    "$program" overlap "$fused" "$truth" "${scored[@]+"${scored[@]}"}" --csv "${prefix}score.csv"
fi
exit "$status"
