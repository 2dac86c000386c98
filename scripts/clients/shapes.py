"""Small test images of many types, and transforms, for commands that apply transforms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import SimpleITK as sitk

from clients.data import save, write_transform

AFFINE = [1.05, 0.1, 0, -0.08, 0.95, 0.02, 0.01, 0, 1.1, 2, -1.5, 0.7]


def make(folder: Path) -> None:
    """Write the test images and transforms.

    The images are scalar images of several types and grids, labels, a series, vectors, tensors and slices.
    """
    generator = np.random.default_rng(7)
    a = turned([2, 2, 2.5], [-20, -30, 5], (0.2, -0.1, 0.3))
    b = turned([3, 3, 3], [-18, -26, 4], (0, 0.2, 0), flip=True)
    other = turned([2, 2, 2.5], [-17, -33, 2], (0.1, 0, 0.3))
    fine = turned([1.5, 1.5, 2], [-19, -28, 6], (0.1, 0, 0))
    shape, coarse = (14, 16, 12), (10, 12, 9)
    save(blobs(generator, shape), a, folder / "a.nii.gz")
    save((10 * blobs(generator, shape)).astype(np.int16), a, folder / "short.nii")
    save(blobs(generator, shape), a, folder / "codes.nii.gz", qform=other, codes=(1, 2))
    save(np.floor(blobs(generator, shape) / 20).astype(np.uint8), a, folder / "labels.nii.gz")
    save(blobs(generator, (*shape, 4)), a, folder / "series.nii.gz")
    save(blobs(generator, (*shape, 1, 3), 4.0) - 2, a, folder / "vectors.nii.gz", intent="vector")
    root = generator.random((*shape, 3, 3)) * 0.2
    tensor = np.einsum("...ij,...kj->...ik", root, root) + 0.1 * np.eye(3)
    lower = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)]
    tensors = np.stack([tensor[..., i, j] for i, j in lower], -1)[..., None, :].astype(np.float32)
    save(tensors, a, folder / "tensors.nii.gz", intent="symmetric matrix")
    save(blobs(generator, coarse), b, folder / "ref.nii.gz")
    save(blobs(generator, (20, 22, 15)), fine, folder / "fine.nii.gz")
    save(blobs(generator, (*coarse, 1, 3), 6.0) - 3, b, folder / "warp.nii.gz", intent="vector")
    save(blobs(generator, (*shape, 1, 3), 6.0) - 3, a, folder / "warp2.nii.gz", intent="vector")
    write_transform(folder / "a.txt", "AffineTransform_double_3_3", AFFINE, [1, 2, 3])
    rigid = write_transform(
        folder / "rigid.tfm", "Euler3DTransform_double_3_3", [0.1, -0.05, 0.2, 1, -2, 3], [5, 6, 7, 0]
    )
    sitk.WriteTransform(sitk.ReadTransform(rigid), str(folder / "rigid.mat"))
    sitk.WriteTransform(affine_after_warp(folder), str(folder / "both.h5"))
    write_slice(blobs(generator, (18, 15)), [2, 2.2], folder / "slice.nii.gz")
    write_slice(blobs(generator, (12, 14)), [2.5, 2.1], folder / "slice_ref.nii.gz")
    write_transform(folder / "slice.txt", "AffineTransform_double_2_2", [1.05, 0.1, -0.08, 0.95, 2, -1.5], [10, 12])


def field(folder: Path) -> sitk.Transform:
    """Read the test warp with SimpleITK."""
    return sitk.DisplacementFieldTransform(sitk.ReadImage(str(folder / "warp.nii.gz"), sitk.sitkVectorFloat64))


def affine_after_warp(folder: Path) -> sitk.Transform:
    """The composition of the test warp and affine `a.txt`; a point goes through the warp first."""
    return sitk.CompositeTransform([sitk.ReadTransform(str(folder / "a.txt")), field(folder)])


def turned(spacing: list[float], origin: list[float], angles: tuple[float, ...], *, flip: bool = False) -> np.ndarray:
    """A voxel-to-world matrix that is rotated about each axis. `flip` reverses the first axis."""
    matrix = np.eye(3)
    for angle, (i, j) in zip(angles, [(1, 2), (0, 2), (0, 1)], strict=True):
        turn = np.eye(3)
        turn[i, i], turn[j, j], turn[i, j], turn[j, i] = np.cos(angle), np.cos(angle), -np.sin(angle), np.sin(angle)
        matrix = matrix @ turn
    if flip:
        matrix[:, 0] *= -1
    whole = np.eye(4)
    whole[:3, :3], whole[:3, 3] = matrix @ np.diag(spacing), origin
    return whole


def blobs(generator: np.random.Generator, shape: tuple[int, ...], scale: float = 100.0) -> np.ndarray:
    """A random image that is smooth over several voxels, with values from 0 to `scale`."""
    array = generator.random(shape)
    for axis in range(min(3, len(shape))):
        array = (np.roll(array, 1, axis) + 2 * array + np.roll(array, -1, axis)) / 4
    return (scale * (array - array.min()) / np.ptp(array)).astype(np.float32)


def write_slice(array: np.ndarray, spacing: list[float], to: Path) -> None:
    """Write a two-dimensional image."""
    image = sitk.GetImageFromArray(array.T)
    image.SetSpacing(spacing)
    image.SetOrigin([1.5, -2])
    sitk.WriteImage(image, str(to))
