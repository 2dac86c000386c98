"""Tests the exchange of images and transforms with other Python libraries.

nilearn, nitransforms, SimpleITK and ANTsPy must read the results of this package. The package must read images of
SimpleITK and ANTsPy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from conftest import Pair

import antsreg_gpu

FAST = {"iterations": [6], "shrink_factors": [2], "smoothing_sigmas": [1.0]}


@pytest.fixture(scope="module")
def result(pair: Pair) -> antsreg_gpu.Registration:
    return antsreg_gpu.register(pair.fixed, pair.moving, levels=FAST, device="cpu")


def agree(ours: Any, theirs: np.ndarray, of: float) -> None:
    """Compares two resampled images, whose borders may differ by rounding."""
    apart = np.abs(np.asarray(ours, dtype=np.float64) - theirs)
    assert np.percentile(apart, 99) < 1e-3 * of and apart.mean() < 1e-3 * of


def test_nilearn_plots(result: antsreg_gpu.Registration, tmp_path: Path) -> None:
    from nilearn import plotting

    plotting.plot_anat(result.warped, output_file=str(tmp_path / "warped.png"))
    assert (tmp_path / "warped.png").stat().st_size > 1000


def test_nitransforms_reads_the_files(result: antsreg_gpu.Registration, pair: Pair, tmp_path: Path) -> None:
    from nitransforms.linear import Affine
    from nitransforms.resampling import apply

    rigid = antsreg_gpu.register(pair.fixed, pair.moving, "affine", device="cpu")
    rigid.save(tmp_path / "a_")
    read = Affine.from_filename(str(tmp_path / "a_0GenericAffine.mat"), fmt="itk")
    assert np.allclose(np.squeeze(read.matrix), rigid.affine, atol=1e-4)
    carried = apply(read, nib.load(pair.moving), reference=nib.load(pair.fixed), order=1)
    agree(rigid.warped.get_fdata(), carried.get_fdata(), of=255.0)


def test_simpleitk_takes_the_files_and_gives_images(
    result: antsreg_gpu.Registration, pair: Pair, tmp_path: Path
) -> None:
    import SimpleITK as sitk

    result.save(tmp_path / "p_")
    moving, fixed = (sitk.ReadImage(str(path), sitk.sitkFloat32) for path in (pair.moving, pair.fixed))
    field = sitk.ReadImage(str(tmp_path / "p_1Warp.nii.gz"), sitk.sitkVectorFloat64)
    whole = sitk.CompositeTransform([
        sitk.ReadTransform(str(tmp_path / "p_0GenericAffine.mat")),
        sitk.DisplacementFieldTransform(field),
    ])
    warped = sitk.GetArrayFromImage(sitk.Resample(moving, fixed, whole, sitk.sitkLinear, 0.0)).T
    agree(result.warped.get_fdata(), warped, of=255.0)
    again = antsreg_gpu.register(fixed, moving, levels=FAST, device="cpu")
    assert np.allclose(again.affine, result.affine, atol=1e-5)


def test_antspy_takes_the_files(result: antsreg_gpu.Registration, pair: Pair, tmp_path: Path) -> None:
    import ants

    written = result.save(tmp_path / "p_")
    transforms = [str(written[1]), str(written[0])]
    fixed, moving = (ants.image_read(str(path)) for path in pair)
    warped = ants.apply_transforms(fixed, moving, transforms)
    agree(result.warped.get_fdata(), warped.numpy(), of=255.0)
    again = antsreg_gpu.register(fixed, moving, levels=FAST, device="cpu")
    assert np.allclose(again.affine, result.affine, atol=1e-5)
