"""Compares the outputs of antsreg-gpu with those of real ANTs."""

from __future__ import annotations

from pathlib import Path

import nibabel as nib
import numpy as np
import SimpleITK as sitk

#: Largest accepted difference of the voxel values of two images, as a share of the value range.
SHARE = 1e-3
#: Largest accepted share of the voxels whose difference exceeds SHARE, for interpolators that choose one of the values
#: (nearest neighbour, labels). At the borders of regions, the choice depends on rounding.
BORDER = 1e-3


def folders(ours: Path, theirs: Path, done: list[bool], border: float = 0.0) -> str:
    """Describe how the outputs in two folders differ; empty if they agree.

    In each image the share `border` of the voxels may differ. `done` says whether each program succeeded.
    """
    if done[0] != done[1]:
        return f"this program {'runs' if done[0] else 'fails'}, ANTs {'runs' if done[1] else 'fails'}"
    names = [sorted(path.name for path in place.iterdir()) for place in (ours, theirs)]
    if names[0] != names[1]:
        return f"files {names[0]}, expected {names[1]}"
    for name in names[0]:
        is_image = name.endswith((".nii", ".nii.gz"))
        found = images(ours / name, theirs / name, border) if is_image else transforms(ours / name, theirs / name)
        if found:
            return f"{name}: {found}"
    return ""


def images(ours: Path, theirs: Path, border: float) -> str:
    """Describe how two images differ. The text is empty if they agree."""
    a, b = nib.load(ours), nib.load(theirs)
    if a.shape != b.shape or not np.allclose(a.affine, b.affine, atol=1e-3):
        return f"grid {a.shape} {a.affine.tolist()}, expected {b.shape} {b.affine.tolist()}"
    for name in ("datatype", "intent_code"):
        if a.header[name] != b.header[name]:
            return f"{name} {a.header[name]}, expected {b.header[name]}"
    x, y = a.get_fdata(), b.get_fdata()
    # Images of integer type contain truncated values, so a rounding error can become a difference of 1.
    whole = 1.0 if np.issubdtype(b.get_data_dtype(), np.integer) else 0.0
    far = np.abs(x - y) > max(SHARE * np.ptp(y), 1e-5) + whole
    if far.mean() > border:
        return f"{far.mean():.2%} of voxels differ, by up to {np.abs(x - y).max():g} of {np.ptp(y):g}"
    return ""


def transforms(ours: Path, theirs: Path) -> str:
    """Describe how far apart two transforms map points. The text is empty if they agree."""
    a, b = (sitk.ReadTransform(str(path)) for path in (ours, theirs))
    if a.GetDimension() != b.GetDimension():
        return f"{a.GetDimension()} dimensions, expected {b.GetDimension()}"
    points = np.random.default_rng(3).uniform([-15, -20, 5], [5, 5, 25], (50, 3))[:, : a.GetDimension()]
    apart = max(np.linalg.norm(np.subtract(a.TransformPoint(point), b.TransformPoint(point))) for point in points)
    return f"points are {apart:.4g} mm apart" if apart > 1e-3 else ""
