#!/usr/bin/env python3
"""Make the files of the built-in template from MNI ICBM 152 2009c: T1, T2 and PD of the head at 2 mm, and its brain.

Usage: make.py FOLDER. The folder contains mni2009c_2mm_T1.nii.gz, _T2, _PD, mni2009c_2mm_headmask.nii.gz and
mni2009c_1mm_brainmask.nii.gz. The script needs nibabel, numpy and scipy. It writes the files that src/brain/packed.rs
unpacks to the folder of this script.

Each voxel is stored as a byte, first axis fastest. A prediction from six neighbours with lower indices is subtracted from
it, and the differences are compressed (zlib).
"""

import sys
import zlib
from pathlib import Path

import nibabel as nib
import numpy as np
from scipy import ndimage

#: Number of voxels, 2 mm each, that are kept around the head. They contain only noise.
MARGIN = 2
#: For each voxel, the file stores which share of the voxel is brain, in steps of 1 / SHARES.
SHARES = 16


def onto(image: nib.Nifti1Image, grid: nib.Nifti1Image) -> np.ndarray:
    """Resample an image on another grid by linear interpolation."""
    matrix = np.linalg.inv(image.affine) @ grid.affine
    voxels = np.asarray(image.dataobj, dtype=np.float32)
    return ndimage.affine_transform(voxels, matrix[:3, :3], matrix[:3, 3], output_shape=grid.shape, order=1)


def pack(voxels: np.ndarray, name: str) -> None:
    """Write a volume of bytes as differences from a prediction by neighbouring voxels, compressed with zlib."""
    before = np.pad(voxels.astype(int), ((1, 0),) * 3)
    a, b, c = before[:-1, 1:, 1:], before[1:, :-1, 1:], before[1:, 1:, :-1]
    ab, ac, bc = before[:-1, :-1, 1:], before[:-1, 1:, :-1], before[1:, :-1, :-1]
    differences = (voxels - (2 * (a + b + c) - (ab + ac + bc)) // 3) % 256
    deflate = zlib.compressobj(9, zlib.DEFLATED, 15, 9, zlib.Z_FILTERED)
    packed = deflate.compress(differences.astype(np.uint8).tobytes("F")) + deflate.flush()
    (Path(__file__).parent / f"{name}.bin").write_bytes(packed)


folder = Path(sys.argv[1])
volumes = {name: nib.load(folder / f"mni2009c_2mm_{name}.nii.gz") for name in ("T1", "T2", "PD", "headmask")}
grid = volumes["T1"]
head = ndimage.binary_dilation(onto(volumes["headmask"], grid) > 0.3, iterations=MARGIN)
for name in ("T1", "T2", "PD"):
    voxels = np.where(head, np.asarray(volumes[name].dataobj, dtype=float), 0)
    pack(np.clip(np.round(voxels / np.quantile(voxels, 0.9995) * 255), 0, 255).astype(int), f"head_{name.lower()}")
mask = nib.load(folder / "mni2009c_1mm_brainmask.nii.gz")
share = (np.asarray(mask.dataobj) > 0).astype(np.float32)
for axis in range(3):
    share = ndimage.convolve1d(share, [0.25, 0.5, 0.25], axis=axis)
pack(np.round(onto(nib.Nifti1Image(share, mask.affine), grid) * SHARES).astype(int), "brain")
