#!/usr/bin/env python3
"""Make the built-in head out of MNI ICBM 152 2009c: T1, T2 and PD at 2 mm as bytes, and the share of each voxel that is brain.

make.py T1 T2 PD BRAIN_MASK_1MM, all NIfTI; writes into this folder.
"""

import gzip
import sys
from pathlib import Path

import nibabel as nib
import numpy as np
from scipy import ndimage

names = ["head_t1", "head_t2", "head_pd"]
heads = [nib.load(name) for name in sys.argv[1:4]]
mask = nib.load(sys.argv[4])
grid = heads[0]


def save(voxels, name):
    image = nib.Nifti1Image(voxels.astype(np.uint8), grid.affine)
    image.header.set_xyzt_units(2)
    (Path(__file__).parent / f"{name}.nii.gz").write_bytes(gzip.compress(image.to_bytes(), 9, mtime=0))


for head, name in zip(heads, names):
    voxels = np.asarray(head.dataobj, dtype=float)
    save(np.clip(np.round(voxels / np.quantile(voxels, 0.9995) * 255), 0, 255), name)
share = (np.asarray(mask.dataobj) > 0).astype(float)
for axis in range(3):
    share = ndimage.convolve1d(share, [0.25, 0.5, 0.25], axis=axis)
to_fine = np.linalg.inv(mask.affine) @ grid.affine
save(np.round(ndimage.affine_transform(share, to_fine[:3, :3], to_fine[:3, 3], output_shape=grid.shape, order=1) * 255), "brain")
