"""Tests that bias correction equals that of the command `antsreg-gpu` and of ANTsPy's function."""

from __future__ import annotations

from pathlib import Path

import ants as antspy
import nibabel as nib
import numpy as np
import pytest
from conftest import Pair, command

import antsreg_gpu
import antsreg_gpu.ants as engine


@pytest.fixture(scope="module")
def shaded(pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixed brain with simulated shading: brighter towards one corner."""
    image = nib.load(pair.fixed)
    x, y, z = (axis / size for axis, size in zip(np.indices(image.shape), image.shape))
    voxels = image.get_fdata() * np.exp(0.5 * (x - 0.3 * y + 0.4 * z * z))
    path = tmp_path_factory.mktemp("shaded") / "shaded.nii.gz"
    nib.save(nib.Nifti1Image(voxels.astype(np.float32), image.affine), path)
    return path


def test_the_commands_bytes(shaded: Path, masks: Pair, tmp_path: Path) -> None:
    words = ["--mask", masks.fixed, "--iterations", "20x10", "--shrink-factor", "2", "--spline-distance", "150"]
    command("bias", "-i", shaded, "-o", tmp_path / "c.nii", "--field", tmp_path / "f.nii", *words)
    found = antsreg_gpu.bias_correct(
        shaded, masks.fixed, iterations=(20, 10), shrink_factor=2, splines=150.0
    )
    for image, name in ((found.image, "c.nii"), (found.field, "f.nii")):
        assert np.array_equal(np.asarray(image.dataobj), np.asarray(nib.load(tmp_path / name).dataobj))


def test_antspys_function(shaded: Path, masks: Pair) -> None:
    image, mask = antspy.image_read(str(shaded)), antspy.image_read(str(masks.fixed))
    options = {"shrink_factor": 2, "convergence": {"iters": [20, 20], "tol": 1e-7}}
    for given in ({"mask": mask}, {"mask": mask, "spline_param": 150, "rescale_intensities": True}, {}):
        ours = engine.n4_bias_field_correction(image, **options, **given)
        theirs = antspy.n4_bias_field_correction(image, **options, **given)
        assert type(ours) is type(image) and np.allclose(ours.direction, image.direction)
        apart = np.abs(ours.numpy() - theirs.numpy()) / theirs.numpy().max()
        assert np.percentile(apart, 99) < 0.01, given
    field = engine.n4_bias_field_correction(image, mask=mask, return_bias_field=True, **options)
    corrected = engine.n4_bias_field_correction(image, mask=mask, **options)
    inside = mask.numpy() > 0.5
    assert np.allclose(image.numpy()[inside] / field.numpy()[inside], corrected.numpy()[inside], rtol=1e-5)


def test_refusals(shaded: Path, masks: Pair) -> None:
    with pytest.raises(antsreg_gpu.InputError, match="shrink factor"):
        antsreg_gpu.bias_correct(shaded, shrink_factor=0)
    with pytest.raises(antsreg_gpu.InputError, match="mask"):
        antsreg_gpu.bias_correct(shaded, nib.load(masks.moving))
    with pytest.raises(ValueError, match="spline_param"):
        engine.n4_bias_field_correction(antspy.image_read(str(shaded)), spline_param=[1, 2])


def test_the_brain_of_the_command(pair: Pair, tmp_path: Path) -> None:
    words = ["--contrast", "t1", "--device", "cpu", "--mask", tmp_path / "m.nii", "--probability", tmp_path / "p.nii"]
    command("brain", "-i", pair.fixed, "-o", tmp_path / "b.nii", *words)
    image = nib.load(pair.fixed)
    found = antsreg_gpu.brain(image, contrast="t1", device="cpu")
    for part, name in ((found.image, "b.nii"), (found.mask, "m.nii"), (found.probability, "p.nii")):
        assert np.array_equal(np.asarray(part.dataobj), np.asarray(nib.load(tmp_path / name).dataobj)), name
    volume = np.count_nonzero(found.mask.get_fdata()) * abs(np.linalg.det(image.affine[:3, :3])) / 1000
    # The volume is measured on a grid that is finer than these voxels.
    assert found.volume_cm3 == pytest.approx(volume, rel=0.03) and found.contrast.startswith("T1")
    with pytest.raises(antsreg_gpu.OptionError, match="contrast: expected one of auto, t1"):
        antsreg_gpu.brain(image, contrast="t3")
