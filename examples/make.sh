#!/bin/sh
# Makes the example pair from the 1 mm templates: make.sh FOLDER_WITH_TEMPLATES.
# The Gaussian keeps fine detail from aliasing on the coarser grid.
set -eu
templates=$1
here=$(dirname "$0")
for pair in mni152_t1_1mm=icbm152_t1_2mm colin27_t1_1mm=colin27_t1_2mm; do
    image=$templates/${pair%=*}.nii.gz
    antsreg-gpu apply -i "$image" -r "$image" --shrink 2 -n gaussian --integer -o "$here/${pair#*=}.nii.gz"
done
antsreg-gpu apply -i "$templates/colin27_aal.nii.gz" -r "$templates/colin27_t1_1mm.nii.gz" --shrink 2 -n generic-label \
    -o "$here/colin27_aal_2mm.nii.gz"
