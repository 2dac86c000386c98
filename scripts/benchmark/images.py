"""Reads images and transforms as numpy arrays, independently of the program under test.

All coordinates are RAS mm, as in NIfTI headers. ITK's files use LPS, so x and y change sign on reading.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import nibabel as nib
import numpy as np
import scipy.io
from scipy.ndimage import map_coordinates

LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])


@dataclass
class Image:
    """Voxels of an image, and the matrix from voxel indices to world coordinates (RAS mm)."""

    voxels: np.ndarray
    voxel_to_world: np.ndarray

    def brain(self) -> np.ndarray:
        """Mask of the brain of a skull-stripped image: all voxels above 0."""
        return self.voxels > 0


@dataclass
class Warp:
    """A displacement field: a vector (x, y, z) in RAS mm at each voxel of a grid."""

    displacement: np.ndarray
    voxel_to_world: np.ndarray

    def at(self, world: np.ndarray) -> np.ndarray:
        """Displacements at world points of shape (n, 3), by trilinear interpolation."""
        indices = transform(np.linalg.inv(self.voxel_to_world), world).T
        parts = [map_coordinates(self.displacement[..., axis], indices, order=1, mode="nearest") for axis in range(3)]
        return np.stack(parts, axis=-1)


@dataclass
class Mapping:
    """A transform from fixed to moving points (RAS mm): the warp first, if there is one, then the affine."""

    affine: np.ndarray
    warp: Warp | None = None
    inverse_warp: Warp | None = None


def read_image(path: Path) -> Image:
    """Read an image. Axes of length one after the third axis are removed."""
    file = nib.load(path)
    voxels = np.asarray(file.dataobj)
    return Image(voxels.reshape(voxels.shape[:3]), file.affine)


def read_labels(path: Path) -> Image:
    """Read a label map as integers, whatever its data type in the file."""
    image = read_image(path)
    return Image(np.rint(image.voxels).astype(np.int32), image.voxel_to_world)


def write_image(path: Path, image: Image) -> None:
    """Write an image with both header matrices set; a sheared matrix is exact only in the sform."""
    file = nib.Nifti1Image(image.voxels, image.voxel_to_world)
    file.set_sform(image.voxel_to_world, code=1)
    file.set_qform(image.voxel_to_world, code=1)
    nib.save(file, path)


def read_itk_affine(path: Path) -> np.ndarray:
    """Read an ITK affine from a MATLAB file (y = A (x − c) + c + t) as a 4×4 matrix in RAS mm."""
    records = scipy.io.loadmat(path)
    parameters = next(value for name, value in records.items() if name.endswith("_3_3")).ravel().astype(float)
    return world_matrix(parameters, records["fixed"].ravel().astype(float))


def read_itk_text(path: Path) -> np.ndarray:
    """Read an ITK affine from a text file as a 4×4 matrix in RAS mm."""
    lines = dict(line.split(":") for line in path.read_text().splitlines() if ":" in line)
    parameters, centre = (np.array(lines[name].split(), float) for name in ("Parameters", "FixedParameters"))
    return world_matrix(parameters, centre)


def world_matrix(parameters: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Convert ITK's twelve parameters and centre (LPS) to a 4×4 matrix in RAS mm."""
    matrix = np.eye(4)
    matrix[:3, :3] = parameters[:9].reshape(3, 3)
    matrix[:3, 3] = parameters[9:] + centre - matrix[:3, :3] @ centre
    return LPS_TO_RAS @ matrix @ LPS_TO_RAS


def read_warp(path: Path) -> Warp:
    """Read an ITK displacement field (LPS) from a NIfTI file."""
    file = nib.load(path)
    displacement = np.asarray(file.dataobj, dtype=np.float32).reshape(*file.shape[:3], 3).copy()
    displacement[..., :2] *= -1
    return Warp(displacement, file.affine)


def read_mapping(prefix: str) -> Mapping:
    """Read the transforms that a registration wrote under ANTs' names; files that do not exist are left out."""
    warp, inverse = Path(f"{prefix}1Warp.nii.gz"), Path(f"{prefix}1InverseWarp.nii.gz")
    return Mapping(
        read_itk_affine(Path(f"{prefix}0GenericAffine.mat")),
        read_warp(warp) if warp.exists() else None,
        read_warp(inverse) if inverse.exists() else None,
    )


def transform(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Map points of shape (n, 3) by a 4×4 matrix."""
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def voxel_indices(mask: np.ndarray) -> np.ndarray:
    """Indices, shape (n, 3), of the voxels in the mask."""
    return np.argwhere(mask).astype(float)


def carry(moving: Image, fixed: Image, mapping: Mapping, order: int) -> np.ndarray:
    """Resample the moving image on the fixed grid. Order 0 is nearest-neighbour, order 1 is trilinear."""
    indices = np.indices(fixed.voxels.shape, dtype=float).reshape(3, -1).T
    points = transform(fixed.voxel_to_world, indices)
    if mapping.warp is not None:
        if mapping.warp.displacement.shape[:3] != fixed.voxels.shape:
            raise ValueError("the warp is not on the fixed grid")
        points += mapping.warp.displacement.reshape(-1, 3)
    to_voxels = np.linalg.inv(moving.voxel_to_world) @ mapping.affine
    voxels = moving.voxels.astype(np.float32) if order else moving.voxels
    values = map_coordinates(voxels, transform(to_voxels, points).T, order=order, mode="constant")
    return values.reshape(fixed.voxels.shape)
