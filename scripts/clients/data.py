"""Test images for the clients, made from the example images of this repository, and measures of the results."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import nibabel as nib
import numpy as np
from scipy import ndimage

from environment import REPOSITORY

EXAMPLES = REPOSITORY / "examples"


@dataclass
class Images:
    """Paths of a fixed and a moving image with optional masks and labels."""

    fixed: str
    moving: str
    fixed_mask: str = ""
    moving_mask: str = ""
    fixed_labels: str = ""
    moving_labels: str = ""
    affine: str = ""


def thinned(name: str, to: Path, step: int = 2) -> str:
    """Return an example image, smoothed and then subsampled."""
    image = nib.load(EXAMPLES / name)
    voxels = ndimage.gaussian_filter(image.get_fdata(dtype=np.float32), 0.5 * step)[::step, ::step, ::step]
    affine = image.affine @ np.diag([step, step, step, 1])
    return save(voxels, affine, to)


def save(
    voxels: np.ndarray,
    affine: np.ndarray,
    to: Path,
    *,
    qform: np.ndarray | None = None,
    codes: tuple[int, int] = (1, 1),
    intent: str = "none",
) -> str:
    """Write an image. The qform is `affine` unless `qform` is given. `codes` are the codes of qform and sform."""
    to.parent.mkdir(parents=True, exist_ok=True)
    image = nib.Nifti1Image(voxels, affine)
    image.set_qform(affine if qform is None else qform, codes[0])
    image.set_sform(affine, codes[1])
    image.header.set_intent(intent)
    nib.save(image, to)
    return str(to)


def write_transform(to: Path, kind: str, parameters: list[float], fixed: list[float]) -> str:
    """Write a transform as a text file of ITK."""
    listed = [" ".join(map(repr, map(float, numbers))) for numbers in (parameters, fixed)]
    head = f"#Insight Transform File V1.0\n#Transform 0\nTransform: {kind}\n"
    to.write_text(f"{head}Parameters: {listed[0]}\nFixedParameters: {listed[1]}\n")
    return str(to)


def pair(folder: Path) -> Images:
    """Make two brains with voxels of 4 mm; the header of the second brain is rotated by 5° and shifted."""
    names = {"fixed": "icbm152_t1_2mm.nii.gz", "moving": "colin27_t1_2mm.nii.gz"}
    files = {side: thinned(name, folder / "data" / f"{side}.nii.gz") for side, name in names.items()}
    moving, turn = nib.load(files["moving"]), np.deg2rad(5)
    away = np.eye(4)
    away[:2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    away[:3, 3] = 6, -4, 5
    save(moving.get_fdata(dtype=np.float32), away @ moving.affine, Path(files["moving"]))
    return Images(**files)


def small(folder: Path) -> Images:
    """Make two brains with voxels of 8 mm, a mask, and an affine."""
    names = {"fixed": "icbm152_t1_2mm.nii.gz", "moving": "colin27_t1_2mm.nii.gz"}
    files = {side: thinned(name, folder / "small" / f"{side}.nii.gz", 4) for side, name in names.items()}
    moving = nib.load(files["moving"])
    save(np.ascontiguousarray(moving.get_fdata(dtype=np.float32)[1:, :-1]), moving.affine, Path(files["moving"]))
    matrix = [0.99, 0.05, 0.01, -0.04, 1.02, 0.03, 0.01, -0.02, 0.97]
    affine = write_transform(
        folder / "small" / "affine.txt", "AffineTransform_double_3_3", [*matrix, 3.5, -2.25, 4], [2, -18, 12]
    )
    fixed = nib.load(files["fixed"])
    mask = save(
        (fixed.get_fdata() > 0.2 * fixed.get_fdata().max()).astype(np.uint8),
        fixed.affine,
        folder / "small" / "mask.nii.gz",
    )
    return Images(**files, fixed_mask=mask, affine=affine)


def known(folder: Path) -> Images:
    """Make Colin's brain and a warped, rotated, noisy copy of it, with labels and masks of both, at 2 mm."""
    brain = nib.load(EXAMPLES / "colin27_t1_2mm.nii.gz")
    labels = nib.load(EXAMPLES / "colin27_aal_2mm.nii.gz")
    shape, generator = brain.shape, np.random.default_rng(1)
    waves = [ndimage.gaussian_filter(generator.standard_normal(shape), 8) for _ in range(3)]
    shifts = [2.5 * wave / wave.std() for wave in waves]
    turn, centre = np.deg2rad(6), (np.array(shape) - 1) / 2
    matrix = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1.04]])
    index = np.indices(shape).reshape(3, -1) - centre[:, None]
    at = (
        (matrix @ index + centre[:, None]).reshape(3, *shape)
        + np.array(shifts)
        + np.array([2, -1, 3])[:, None, None, None]
    )
    voxels = brain.get_fdata(dtype=np.float32)
    moved = ndimage.map_coordinates(voxels, at, order=1)
    moved = 900 * (moved / voxels.max()) ** 0.8 + generator.normal(0, 9, shape)
    files = {"fixed": str(EXAMPLES / "colin27_t1_2mm.nii.gz"), "fixed_labels": str(EXAMPLES / "colin27_aal_2mm.nii.gz")}
    place = folder / "known"
    files["moving"] = save(moved.astype(np.float32), brain.affine, place / "moving.nii.gz")
    moved_labels = ndimage.map_coordinates(labels.get_fdata(), at, order=0).astype(np.int16)
    files["moving_labels"] = save(moved_labels, brain.affine, place / "moving_labels.nii.gz")
    inside = voxels > 0.1 * voxels.max()
    files["fixed_mask"] = save(inside.astype(np.uint8), brain.affine, place / "fixed_mask.nii.gz")
    moved_mask = ndimage.map_coordinates(inside.astype(np.uint8), at, order=0)
    files["moving_mask"] = save(moved_mask, brain.affine, place / "moving_mask.nii.gz")
    return Images(**files)


def overlap(images: Images, transform: Path | str | None, program: Path) -> float:
    """Mean Dice of the fixed labels and the moving labels after a transform; NaN without a transform."""
    if transform is None:
        return float("nan")
    to = Path(transform).with_name("labels.nii.gz")
    words = [
        program,
        "apply",
        "-i",
        images.moving_labels,
        "-r",
        images.fixed,
        "-n",
        "generic-label",
        "-t",
        transform,
        "-o",
        to,
    ]
    subprocess.run(words, check=True, capture_output=True)
    truth, found = (np.asarray(nib.load(path).dataobj).astype(int) for path in (images.fixed_labels, to))
    scores = []
    for label in np.unique(truth[truth > 0]):
        a, b = truth == label, found == label
        scores.append(2 * (a & b).sum() / (a.sum() + b.sum()))
    return float(np.mean(scores))


def correlation(first: str, second: str) -> float:
    """Pearson's correlation of two images; the second is resampled on the grid of the first by their headers."""
    a, b = (nib.load(path) for path in (first, second))
    to_second = np.linalg.inv(b.affine) @ a.affine
    moved = ndimage.affine_transform(b.get_fdata(), to_second[:3, :3], to_second[:3, 3], a.shape, order=1)
    return float(np.corrcoef(a.get_fdata().ravel(), moved.ravel())[0, 1])
