#!/usr/bin/env python3
"""Count the folded voxels of warp files, by central and by one-sided differences.

    scripts/count_folds.py p_1Warp.nii.gz p_1InverseWarp.nii.gz

A warp is trilinear inside each cell, a box with eight voxels as its corners. A voxel is a corner of up to eight cells,
and each of these cells has its own Jacobian determinant at the voxel: the one by differences to the neighbours in this
cell (one-sided differences). A voxel is "folded at a corner" if at least one of these determinants is not positive.
Positions are in world coordinates and in double precision, from the affine of the file. The exit code is 1 if a voxel
folds.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import environment

if TYPE_CHECKING:
    import numpy as np


def positions(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The world point (LPS mm) to which a warp maps each voxel, and the 3×3 matrix from voxel to world steps."""
    import nibabel
    import numpy as np

    image = nibabel.load(path)
    displacement = np.asarray(image.dataobj)
    if displacement.ndim != 5 or displacement.shape[4] not in (2, 3):
        message = f"{path}: expected a warp of shape x, y, z, 1, 2 or 3; found {displacement.shape}"
        raise SystemExit(message)
    to_world = np.diag([-1.0, -1.0, 1.0]) @ image.affine[:3, :3]
    shape = displacement.shape[:3]
    moved = np.zeros((*shape, 3))
    moved[..., : displacement.shape[4]] = displacement[:, :, :, 0, :]
    for axis, length in enumerate(shape):
        index = np.arange(length).reshape([-1 if other == axis else 1 for other in range(3)])
        moved += index[..., None] * to_world[:, axis]
    return moved, to_world


def edges(moved: np.ndarray, to_world: np.ndarray) -> list[list[np.ndarray]]:
    """One-sided differences of positions along each axis, to the voxel below and to the voxel above.

    A voxel at the border has one neighbour along the axis. Both results then contain the difference to this neighbour.
    """
    import numpy as np

    found = []
    for axis in range(3):
        if moved.shape[axis] == 1:
            alone = np.broadcast_to(to_world[:, axis], moved.shape)
            found.append([alone, alone])
            continue
        step = np.diff(moved, axis=axis)
        first, last = (np.take(step, [at], axis=axis) for at in (0, -1))
        found.append([np.concatenate([first, step], axis=axis), np.concatenate([step, last], axis=axis)])
    return found


def determinant(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Determinants of the 3×3 matrices with the columns a, b and c."""
    import numpy as np

    return np.einsum("...i,...i", a, np.cross(b, c))


def count(path: Path, mask: np.ndarray | None) -> int:
    """Print how many voxels of a warp fold.

    Returns the number of voxels that fold by central or by one-sided differences.
    """
    import numpy as np

    moved, to_world = positions(path)
    if mask is not None and mask.shape != moved.shape[:3]:
        message = f"{path}: the mask has another shape, {mask.shape}"
        raise SystemExit(message)
    counts = np.ones(moved.shape[:3], dtype=bool) if mask is None else mask
    voxel = np.linalg.det(to_world)
    smallest = np.full(moved.shape[:3], np.inf)
    central = np.empty(moved.shape[:3])
    sides = edges(moved, to_world)
    # The warp is processed slice by slice, because a volume in double precision needs much memory.
    for z in range(moved.shape[2]):
        here = [[side[:, :, z] for side in axis] for axis in sides]
        for a, b, c in itertools.product(*here):
            # A determinant that is NaN becomes −∞, so that it is counted as a fold.
            found = np.nan_to_num(determinant(a, b, c) / voxel, nan=-np.inf)
            smallest[:, :, z] = np.minimum(smallest[:, :, z], found)
        central[:, :, z] = determinant(*((low + high) / 2 for low, high in here)) / voxel
    folded = [int(np.count_nonzero(~(values > 0) & counts)) for values in (central, smallest)]
    print(
        f"{path}: {int(counts.sum())} voxels; central: {folded[0]} folded, smallest {central[counts].min():.4f}; "
        f"at a corner: {folded[1]} folded, smallest {smallest[counts].min():.4f}"
    )
    return sum(folded)


def main() -> int:
    """Count the folded voxels in all given warp files. Returns 1 if a voxel folds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("warps", type=Path, nargs="+", metavar="WARP", help="displacement field as ITK stores it (NIfTI)")
    parser.add_argument("--mask", type=Path, help="image on the same grid; only voxels above 0 are counted")
    options = parser.parse_args()
    for path in [*options.warps, *([options.mask] if options.mask else [])]:
        if not path.is_file():
            parser.error(f"{path} is missing")
    environment.enter()
    import nibabel
    import numpy as np

    mask = None if options.mask is None else np.squeeze(np.asarray(nibabel.load(options.mask).dataobj)) > 0
    return 1 if sum(count(path, mask) for path in options.warps) else 0


if __name__ == "__main__":
    raise SystemExit(main())
