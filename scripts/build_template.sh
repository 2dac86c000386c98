#!/usr/bin/env bash
# An unbiased template of many subjects, asked for as antsMultivariateTemplateConstruction2.sh is.
set -euo pipefail

usage() {
    cat <<'TEXT'
build_template.sh -o FOLDER [-d 3] [-i PASSES] [-g STEP] [-z TEMPLATE] [-s 0|1] [-h] IMAGE… [-- OPTION…]

  -o FOLDER    everything that is made, FOLDER/template.nii.gz above all; the same command goes on with a FOLDER that was
               begun and stopped
  -d 3         dimensions; only 3
  -i PASSES    most passes over all subjects [4]
  -g STEP      step of the shape update [0.25]
  -z TEMPLATE  image to start from [the average of all subjects after an affine registration]
  -s 0|1       1: sharpen every average [0]
  IMAGE…       the subjects, a table (.csv), or a BIDS folder
  OPTION…      anything else that `antsreg-gpu template` takes, such as --device cuda:all

ANTSREG_GPU names the program [antsreg-gpu].
TEXT
}

refuse() {
    printf 'build_template.sh: %s\n\n' "$1" >&2
    usage >&2
    exit 2
}

program=${ANTSREG_GPU:-antsreg-gpu}
output='' options=()
while getopts ':o:d:i:g:z:s:h' option; do
    case $option in
        o) output=$OPTARG ;;
        d) [ "$OPTARG" = 3 ] || refuse "-d $OPTARG: only 3 dimensions are there" ;;
        i) options+=(--passes "$OPTARG") ;;
        g) options+=(--shape-step "$OPTARG") ;;
        z) options+=(--template "$OPTARG") ;;
        s)
            case $OPTARG in
                0) ;;
                1) options+=(--sharpen) ;;
                *) refuse "-s $OPTARG: expected 0 or 1" ;;
            esac
            ;;
        h) usage; exit 0 ;;
        :) refuse "-$OPTARG needs a value" ;;
        *) refuse "-$OPTARG is unknown" ;;
    esac
done
shift $((OPTIND - 1))
[ -n "$output" ] || refuse '-o FOLDER is needed'

images=()
while [ $# -gt 0 ]; do
    [ "$1" = -- ] && { shift; break; }
    images+=("$1")
    shift
done
[ ${#images[@]} -gt 0 ] || refuse 'no image was given'
command -v "$program" > /dev/null || refuse "$program: no such program; cargo install --path crates/cli, or name it by ANTSREG_GPU"
options+=("$@")

exec "$program" atlas --output "$output" "${options[@]+"${options[@]}"}" "${images[@]}"
