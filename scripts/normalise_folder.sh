#!/usr/bin/env bash
# Every image of a folder to one template, and the template's labels back to every image if wanted: what a loop over
# antsRegistrationSyN.sh and antsApplyTransforms does.
set -euo pipefail

usage() {
    cat <<'TEXT'
normalise_folder.sh -f TEMPLATE -i FOLDER -o FOLDER [-d 3] [-x MASK] [-l LABELS] [-r] [-h] [-- OPTION…]

  -f TEMPLATE  the fixed image
  -i FOLDER    images (.nii, .nii.gz), or a BIDS folder
  -o FOLDER    for what comes out: NAME_0GenericAffine.mat, NAME_1Warp.nii.gz, NAME_Warped.nii.gz, …, summary.csv
  -d 3         dimensions; only 3
  -x MASK      template voxels that count
  -l LABELS    label map of the template: also carried to every image, NAME_TemplateLabels.nii.gz
  -r           go on where it was stopped: what is done stays
  OPTION…      anything else that `antsreg-gpu batch` takes, such as --device cuda:all or -t affine

Images that fail are named, and the others done; the exit code is then 3. ANTSREG_GPU names the program [antsreg-gpu].
TEXT
}

refuse() {
    printf 'normalise_folder.sh: %s\n\n' "$1" >&2
    usage >&2
    exit 2
}

program=${ANTSREG_GPU:-antsreg-gpu}
fixed='' input='' output='' labels='' options=()
while getopts ':f:i:o:d:x:l:rh' option; do
    case $option in
        f) fixed=$OPTARG ;;
        i) input=$OPTARG ;;
        o) output=$OPTARG ;;
        d) [ "$OPTARG" = 3 ] || refuse "-d $OPTARG: only 3 dimensions are there" ;;
        x) options+=(--fixed-mask "$OPTARG") ;;
        l) labels=$OPTARG ;;
        r) options+=(--resume) ;;
        h) usage; exit 0 ;;
        :) refuse "-$OPTARG needs a value" ;;
        *) refuse "-$OPTARG is unknown" ;;
    esac
done
shift $((OPTIND - 1))
for needed in "-f TEMPLATE:$fixed" "-i FOLDER:$input" "-o FOLDER:$output"; do
    [ -n "${needed#*:}" ] || refuse "${needed%%:*} is needed"
done
[ -d "$input" ] || refuse "$input: no such folder"
command -v "$program" > /dev/null || refuse "$program: no such program; cargo install --path crates/cli, or name it by ANTSREG_GPU"
options+=("$@")

shopt -s nullglob
images=("$input"/*.nii "$input"/*.nii.gz)
if [ ${#images[@]} -eq 0 ]; then
    # A BIDS folder has them further below.
    images=("$input")
fi
status=0
"$program" batch --fixed "$fixed" --output "$output" "${options[@]+"${options[@]}"}" "${images[@]}" || status=$?
# 3: some failed, the others are done.
[ "$status" -eq 0 ] || [ "$status" -eq 3 ] || exit "$status"

# Strings of a record, as JSON writes them, without their quotes: lines that match $3 between those that match $1 and $2.
strings() {
    sed -n "/$1/,/$2/s/^ *$3\"\(.*\)\",\{0,1\}\$/\1/p" "$4" | sed 's/\\\(["\\]\)/\1/g'
}

if [ -n "$labels" ]; then
    for affine in "$output"/*_0GenericAffine.mat; do
        name=${affine%_0GenericAffine.mat}
        record=${name}_record.json
        # Not every affine that lies there need be of this program.
        [ -e "$record" ] || continue
        image=$(strings '"moving": {' '}' '"path": ' "$record")
        chain=(-t "[$affine,1]")
        # Of several that lie there, from earlier runs with other options, the one that belongs to this affine.
        warp=$(strings '"outputs": \[' '\]' '' "$record" | grep '_1InverseWarp\.nii\(\.gz\)\{0,1\}$') || warp=''
        [ -z "$warp" ] || chain+=(-t "$warp")
        "$program" apply --quiet -i "$labels" -r "$image" -n generic-label "${chain[@]}" -o "${name}_TemplateLabels.nii.gz"
    done
fi
exit "$status"
