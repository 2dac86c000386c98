"""Exchange of composite transforms (.h5) between antsreg-gpu, ANTs, SimpleITK and nitransforms."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Callable
from pathlib import Path

import nibabel as nib
import nitransforms
import numpy as np
import SimpleITK as sitk

from clients import shapes
from clients.oracle import Oracle

#: Largest accepted difference of resampled images, as a share of the value range.
SHARE = 1e-3


def check(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Write composite transforms (.h5) with every program that can write them, and read them with every program."""
    shapes.make(folder)
    real = Oracle()
    subprocess.run(
        [typed.program, "apply", "-t", "warp.nii.gz", "-t", "a.txt", "-o", "ours.h5"], check=True, capture_output=True
    )
    written = real.run(["antsApplyTransforms", *to("theirs.h5"), "-t", "warp.nii.gz", "-t", "a.txt"], folder)
    if not written:
        return ["ANTs writes no composite"]
    expected = by_simple_itk(shapes.affine_after_warp(folder))
    cases = {
        "ours by SimpleITK": lambda: by_simple_itk(sitk.ReadTransform("ours.h5")),
        "ours by ANTs": lambda: by_command("ours.h5", "by_ants.nii.gz", lambda words: real.run(words, folder)),
        "ours by nitransforms": lambda: by_nitransforms("ours.h5"),
        "SimpleITK's by us": lambda: by_command("both.h5", "of_sitk.nii.gz", run_here),
        "ANTs' by us": lambda: by_command("theirs.h5", "of_ants.nii.gz", run_here),
        "ours by us": lambda: by_command("ours.h5", "of_us.nii.gz", run_here),
    }
    faults = []
    for name, read in cases.items():
        try:
            apart = np.abs(read() - expected)
        except Exception as error:
            faults.append(f"{name}: {error}")
            continue
        # Voxels at the border of the image are not compared, because nitransforms interpolates differently there.
        largest = np.quantile(apart[2:-2, 2:-2, 2:-2], 0.9) if "nitransforms" in name else apart.max()
        print(f"{name}: apart by {largest / np.ptp(expected):.1e} of the range", flush=True)
        if largest > SHARE * np.ptp(expected):
            faults.append(f"{name}: apart by {largest:g} of {np.ptp(expected):g}")
    return faults


def to(name: str) -> list[str]:
    """Arguments of antsApplyTransforms that write all transforms into one composite file."""
    return ["-d", "3", "-r", "ref.nii.gz", "-o", f"CompositeTransform[{name}]"]


def by_simple_itk(transform: sitk.Transform) -> np.ndarray:
    """The image resampled on the reference's grid by SimpleITK."""
    image, reference = sitk.ReadImage("a.nii.gz", sitk.sitkFloat64), sitk.ReadImage("ref.nii.gz")
    return sitk.GetArrayFromImage(sitk.Resample(image, reference, transform, sitk.sitkLinear, 0.0)).T


def by_nitransforms(name: str) -> np.ndarray:
    """The image resampled on the reference's grid by nitransforms."""
    chain = nitransforms.manip.load(name, fmt="itk", reference="ref.nii.gz", moving="a.nii.gz")
    moved = nitransforms.resampling.apply(chain, "a.nii.gz", reference="ref.nii.gz", order=1, mode="constant")
    return np.asarray(moved.dataobj)


def by_command(name: str, output: str, run: Callable[[list[str]], bool]) -> np.ndarray:
    """The image resampled on the reference's grid by antsApplyTransforms; `run` runs real ANTs or antsreg-gpu."""
    if not run(["antsApplyTransforms", "-d", "3", "-i", "a.nii.gz", "-r", "ref.nii.gz", "-t", name, "-o", output]):
        raise ValueError("antsApplyTransforms fails")
    return np.asarray(nib.load(output).dataobj).astype(float)


def run_here(words: list[str]) -> bool:
    """Run a command of antsreg-gpu. Returns whether the command succeeds."""
    return subprocess.run(words, capture_output=True, check=False).returncode == 0
