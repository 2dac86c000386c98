"""Fixtures for the tests of the Python package: small images made of the example brains, and the installed command."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import nibabel as nib
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]

# A program that a shell starts in the background ignores Ctrl-C, and the tests of Ctrl-C would wait for ever. So the
# default response to Ctrl-C is restored.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Pair(NamedTuple):
    """Paths of a fixed and a moving image with voxels of about 4 mm."""

    fixed: Path
    moving: Path


def coarse(source: Path, to: Path, slices: slice, step: int = 3) -> Path:
    """Writes a subsampled copy of an image: every `step`-th voxel along x and y, and the slices `slices` along z."""
    image = nib.load(source)
    voxels = np.asarray(image.dataobj, dtype=np.float32)[::step, ::step, slices]
    affine = image.affine.copy()
    affine[:3, 3] = (image.affine @ [0, 0, slices.start or 0, 1])[:3]
    affine[:3, :2] *= step
    affine[:3, 2] *= slices.step or 1
    nib.save(nib.Nifti1Image(voxels, affine), to)
    return to


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    folder = tmp_path_factory.mktemp("pair")
    names = ("icbm152_t1_2mm.nii.gz", "colin27_t1_2mm.nii.gz")
    files = [coarse(ROOT / "examples" / name, folder / name, slice(0, None, 3)) for name in names]
    return Pair(*files)


@pytest.fixture(scope="session")
def slices(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    folder = tmp_path_factory.mktemp("slices")
    names = ("icbm152_t1_2mm.nii.gz", "colin27_t1_2mm.nii.gz")
    return Pair(*(coarse(ROOT / "examples" / name, folder / name, slice(45, 46), 2) for name in names))


@pytest.fixture(scope="session")
def masks(pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    folder = tmp_path_factory.mktemp("masks")
    written = []
    for path in pair:
        image = nib.load(path)
        voxels = (image.get_fdata() > 0.2 * image.get_fdata().max()).astype(np.uint8)
        nib.save(nib.Nifti1Image(voxels, image.affine), folder / path.name)
        written.append(folder / path.name)
    return Pair(*written)


def command(*words: object) -> None:
    """Runs the command `antsreg-gpu` that the package installs."""
    program = Path(sys.executable).parent / "antsreg-gpu"
    subprocess.run([str(program), *map(str, words)], check=True, capture_output=True)
