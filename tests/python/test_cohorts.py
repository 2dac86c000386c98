"""Tests that labels from several atlases, and templates, equal those of the command `antsreg-gpu`."""

from __future__ import annotations

from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from conftest import Pair, command

import antsreg_gpu

FAST = {"iterations": [6], "shrink_factors": [2], "smoothing_sigmas": [1.0]}
LEVELS = ["--iterations", "6", "--shrink-factors", "2", "--smoothing-sigmas", "1"]


@pytest.mark.parametrize("fusion", ["joint", "majority"])
def test_labels(fusion: str, pair: Pair, tmp_path: Path) -> None:
    atlases, words = [], []
    for n, path in enumerate((pair.moving, pair.fixed)):
        image = nib.load(path)
        labels = np.digitize(image.get_fdata(), [40.0, 90.0]).astype(np.uint8)
        name, of = tmp_path / f"a{n}.nii.gz", tmp_path / f"l{n}.nii.gz"
        nib.save(image, name)
        nib.save(nib.Nifti1Image(labels, image.affine), of)
        atlases.append((nib.load(name), nib.load(of)))
        words += ["-a", f"{name}={of}"]
    ours = antsreg_gpu.labels(pair.fixed, atlases, fusion=fusion, levels=FAST, device="cpu")
    out = tmp_path / "command_"
    command("labels", "-f", pair.fixed, *words, "-o", out, "--fusion", fusion, "--device", "cpu", *LEVELS)
    theirs = nib.load(f"{out}Labels.nii.gz").get_fdata()
    assert np.array_equal(ours.get_fdata(), theirs)
    assert len(np.unique(theirs)) == 3


def test_templates(pair: Pair, tmp_path: Path) -> None:
    options = {"passes": 1, "shrink_factors": [2], "iterations": [4], "smoothing_sigmas": [1], "finest_mm": 4}
    folder = antsreg_gpu.template([pair.fixed, pair.moving], tmp_path / "t", device="cpu", **options)
    assert nib.load(folder / "template.nii.gz").get_fdata().std() > 10
    with pytest.raises(antsreg_gpu.OptionError, match="surprise"):
        antsreg_gpu.template([pair.fixed, pair.moving], tmp_path / "u", surprise=1)
    with pytest.raises(antsreg_gpu.InputError, match="save the images first"):
        antsreg_gpu.template([nib.load(pair.fixed)], tmp_path / "v")
