"""Measures brain extraction by the Dice coefficient.

The brain mask of a head is compared with the true mask, and masks of changed copies of the head with that of the head.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import nibabel as nib
import numpy as np


def dice(a: np.ndarray, b: np.ndarray) -> float:
    """Dice coefficient of two masks."""
    return float(2 * np.sum(a & b) / (np.sum(a) + np.sum(b)))


def inside(path: Path) -> np.ndarray:
    """Read a mask."""
    return np.squeeze(np.asarray(nib.load(path).dataobj)) > 0.5


def extract(program: str, head: Path, mask: Path) -> float:
    """Extract the brain of a head and return the time of the whole process, s."""
    began = time.perf_counter()
    output = mask.with_name("brain.nii.gz")
    done = subprocess.run(
        [program, "-q", "brain", "-i", head, "-o", output, "--mask", mask], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise SystemExit(f"{head}: {done.stderr}")
    for line in done.stderr.splitlines():
        print(f"    {line}")
    return time.perf_counter() - began


def onto(voxels: np.ndarray, matrix: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Resample an image linearly, with 0 outside, by a matrix from output voxels to input voxels."""
    index = np.stack(np.meshgrid(*(np.arange(n) for n in shape), indexing="ij"), axis=-1)
    at = index @ matrix[:3, :3].T + matrix[:3, 3]
    low = np.floor(at).astype(int)
    beyond = at - low
    padded = np.pad(voxels, 1)
    result = np.zeros(tuple(shape))
    for corner in itertools.product((0, 1), repeat=3):
        place = np.clip(low + corner, -1, voxels.shape) + 1
        weight = np.prod(np.where(corner, beyond, 1 - beyond), axis=-1)
        result += weight * padded[tuple(np.moveaxis(place, -1, 0))]
    return result


def resampled(head: nib.Nifti1Image, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """A grid with this spacing (mm) for a head: the matrix from its voxels to voxels of the head, and its shape."""
    steps = spacing / np.array(head.header.get_zooms()[:3], dtype=float)
    shape = np.maximum(1, np.floor(np.array(head.shape[:3]) / steps)).astype(int)
    return np.diag([*steps, 1.0]), shape


def changes(head: nib.Nifti1Image) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Changed copies of a head: name, matrix from copy voxels to head voxels, shape, and intensity factor."""
    sizes = np.array(head.header.get_zooms()[:3], dtype=float)
    shape = np.array(head.shape[:3])
    middle = (shape - 1) / 2
    for axis in range(3):
        turn, others = np.eye(3), [n for n in range(3) if n != axis]
        turn[np.ix_(others, others)] = np.array([[np.sqrt(3), -1], [1, np.sqrt(3)]]) / 2
        matrix = np.eye(4)
        matrix[:3, :3] = np.diag(1 / sizes) @ turn @ np.diag(sizes)
        matrix[:3, 3] = middle - matrix[:3, :3] @ middle
        yield f"turned about {'xyz'[axis]}", matrix, shape, np.ones(1)
    # The voxel axis closest to the body's long axis, along which the head is cropped at its lower end.
    down = int(np.argmax(np.abs(head.affine[2, :3])))
    count = round(30 / sizes[down])
    cropped, first = shape.copy(), np.eye(4)
    cropped[down] -= count
    if head.affine[2, down] > 0:
        first[down, 3] = count
    yield "cropped", first, cropped, np.ones(1)
    for spacing in (2.0, 4.0):
        yield f"at {spacing:.0f} mm", *resampled(head, spacing), np.ones(1)
    x, y, z = np.meshgrid(*(np.linspace(-1, 1, n) for n in shape), indexing="ij")
    yield "shaded", np.eye(4), shape, 1 + 0.4 * np.sin(2 * x + 0.5) * np.cos(1.5 * y - 0.3) * np.cos(z)


def changed(program: str, head: nib.Nifti1Image, own: np.ndarray, folder: Path) -> None:
    """Extract the brain of each changed copy of a head and compare it with the brain of the head itself."""
    voxels = np.squeeze(head.get_fdata(dtype=np.float32))
    for name, matrix, shape, factor in changes(head):
        path, mask = folder / "changed.nii.gz", folder / "changed_mask.nii.gz"
        image = nib.Nifti1Image(
            (onto(voxels, matrix, shape) * factor).astype(np.float32), head.affine @ matrix
        )
        if name.startswith("turned"):
            # Only the voxels are resampled and the header stays, so that the head is rotated in the world.
            image = nib.Nifti1Image(np.asarray(image.dataobj), head.affine)
        nib.save(image, path)
        extract(program, path, mask)
        expected = onto(own.astype(np.float32), matrix, shape) > 0.5
        print(f"  {name:16} Dice to its own result {dice(inside(mask), expected):.4f}", flush=True)


def measure(arguments: argparse.Namespace) -> None:
    """Print how well the brain was extracted, one line for each head and for each changed copy of the head."""
    heads: list[tuple[str, Path, Path | None]] = []
    if arguments.colin:
        heads.append(("colin27", *arguments.colin))
    for path in sorted(arguments.data.glob("*.nii.gz")):
        name = path.name.removesuffix(".nii.gz")
        mask = path.with_name(f"{name}_brainmask.nii.gz")
        if name in ("mni2009c_2mm_T2", "mni2009c_2mm_PD"):
            heads.append((name, path, path.with_name("mni2009c_2mm_brainmask.nii.gz")))
        elif mask.exists():
            heads.append((name, path, mask))
        elif name.startswith("head_"):
            heads.append((name, path, None))
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.out or Path(temporary)
        folder.mkdir(exist_ok=True)
        for name, path, truth in heads:
            if arguments.only and arguments.only not in name:
                continue
            mask = folder / f"{name}_mask.nii.gz"
            seconds = extract(arguments.program, path, mask)
            against = f"Dice {dice(inside(mask), inside(truth)):.4f}" if truth else "no truth"
            print(f"{name:18} {against}, {seconds:.2f} s", flush=True)
            if arguments.changed:
                changed(arguments.program, nib.load(path), inside(mask), folder)
