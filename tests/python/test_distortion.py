"""Distortion of echo-planar images in Python."""

from __future__ import annotations

from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from scipy import ndimage

import antsreg_gpu


@pytest.fixture
def opposite(tmp_path: Path) -> list[Path]:
    """Two images of a ball with texture, displaced by 1.5 mm in opposite directions in one half."""
    x, y, z = np.meshgrid(*[np.arange(24.0)] * 3, indexing="ij")
    inside = 1 / (1 + np.exp(np.sqrt((x - 12) ** 2 + (y - 12) ** 2 + (z - 12) ** 2) - 9))
    truth = 100 * inside * (1 + 0.3 * np.sin(x) * np.cos(y))
    shift = 0.5 * np.exp(-((y - 6) ** 2 + (x - 12) ** 2) / 40)
    paths = []
    for name, sign in (("plus", -1), ("minus", 1)):
        image = ndimage.map_coordinates(truth, [x + sign * shift, y, z], order=3)
        image *= 1 + sign * np.gradient(shift, axis=0)
        paths.append(tmp_path / f"{name}.nii.gz")
        nib.save(nib.Nifti1Image(image.astype(np.float32), np.diag([3.0, 3, 3, 1])), paths[-1])
    return paths


def test_undistort_writes_files(opposite: list[Path], tmp_path: Path) -> None:
    found = antsreg_gpu.undistort(opposite, tmp_path / "u_", phase_encoding=["i", "i-"], readout_time=0.05)
    assert [path.name for path in found.images] == ["u_Undistorted1.nii.gz", "u_Undistorted2.nii.gz"]
    mm = nib.load(found.displacement).get_fdata()
    assert abs(mm[12, 6, 12] - 1.5) < 0.3
    assert found.field is not None
    np.testing.assert_allclose(nib.load(found.field).get_fdata() * 0.05 * 3, mm, atol=1e-4)
    assert all(path.exists() for path in found.warps + found.jacobians)


def test_undistort_refuses_equal_encodings(opposite: list[Path], tmp_path: Path) -> None:
    with pytest.raises(antsreg_gpu.Error, match="all images are encoded in the direction i"):
        antsreg_gpu.undistort(opposite, tmp_path / "u_", phase_encoding=["i", "i"])
