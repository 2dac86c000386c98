"""Tests of motion correction of series, compared with the command `antsreg-gpu`."""

from __future__ import annotations

import pickle
from pathlib import Path

import ants
import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk
from conftest import Pair, command
from scipy import ndimage

import antsreg_gpu

#: True motion of each of five volumes: rotation about z in degrees, and shift in mm. The middle volume does not move.
MOTIONS = ((1.0, (0.5, -0.2, 0.3)), (-4.0, (3.0, -2.0, 2.5)), (0.0, (0.0, 0.0, 0.0)), (0.3, (0.0, 0.4, -0.1)), (-1.0, (0, 0, 0)))


def matrix(degrees: float, shift: tuple[float, float, float]) -> np.ndarray:
    """The matrix that maps points of the unmoved head to the moved head (RAS mm)."""
    angle = np.radians(degrees)
    found = np.eye(4)
    found[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    found[:3, 3] = shift
    return found


@pytest.fixture(scope="module")
def moving(pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of a series of volumes; the head moves from volume to volume by the known `MOTIONS`."""
    image = nib.load(pair.fixed)
    still = ndimage.gaussian_filter(image.get_fdata(), 0.7)
    volumes = []
    for motion in MOTIONS:
        back = np.linalg.inv(image.affine) @ np.linalg.inv(matrix(*motion)) @ image.affine
        volumes.append(ndimage.affine_transform(still, back[:3, :3], back[:3, 3], order=3))
    path = tmp_path_factory.mktemp("series") / "s.nii.gz"
    series = nib.Nifti1Image(np.stack(volumes, axis=-1).astype(np.float32), image.affine)
    series.header.set_zooms((*image.header.get_zooms()[:3], 2.0))
    nib.save(series, path)
    return path


def test_the_commands_bytes(moving: Path, tmp_path: Path) -> None:
    # Bytes are compared only on the CPU. With a GPU, the command resamples volumes on the GPU, but `save` on the CPU.
    command("motion", "-i", moving, "-o", tmp_path / "c", "--device", "cpu")
    found = antsreg_gpu.register_series(moving, device="cpu")
    written = found.save(tmp_path / "p")
    assert sorted(path.name for path in written) == sorted(
        ["pmotion.txt", "pmotion.tsv", "pmean.nii.gz", "precord.json", "pcorrected.nii.gz"]
    )
    for name in ("motion.txt", "motion.tsv", "mean.nii.gz", "corrected.nii.gz"):
        assert (tmp_path / f"c{name}").read_bytes() == (tmp_path / f"p{name}").read_bytes(), name


def test_the_motion_is_found_in_files_and_arrays(moving: Path) -> None:
    told: list[tuple[int, int]] = []
    found = antsreg_gpu.register_series(moving, progress=lambda *both: told.append(both))
    assert len(found) == 5 and told == [(5, 5)]
    corner = np.array([40.0, -40.0, 40.0, 1.0])
    for affine, motion in zip(found.affines, MOTIONS):
        # The found and the true motion must map this corner point to points less than 0.3 mm apart, a twentieth of a
        # voxel.
        assert np.linalg.norm((affine - matrix(*motion)) @ corner) < 0.3
    assert np.isnan(found.fd[0]) and (found.fd[1:] > 0.1).all() and found.parameters.shape == (5, 6)
    image = nib.load(moving)
    others = (image, (image.get_fdata(), image.affine))
    for other in others:
        again = antsreg_gpu.register_series(other)
        assert np.array_equal(again.affines, found.affines) and np.array_equal(again.dvars[1:], found.dvars[1:])
    corrected = np.asarray(found.corrected.dataobj)
    assert corrected.shape == image.shape
    assert np.array_equal(corrected[..., 1], np.asarray(found.corrected_volume(1).dataobj))
    before = image.get_fdata()
    assert np.abs(corrected[..., 1] - before[..., 2]).mean() < 0.35 * np.abs(before[..., 1] - before[..., 2]).mean()
    # The mean of the corrected volumes is summed in double precision and rounded once.
    assert np.allclose(found.mean.get_fdata(), corrected.mean(axis=-1), rtol=1e-5, atol=1e-3)


def test_references_costs_and_damaged_volumes(moving: Path, pair: Pair, tmp_path: Path) -> None:
    image = nib.load(moving)
    first = antsreg_gpu.register_series(moving, 0)
    assert np.allclose(first.affines[0], np.eye(4), atol=1e-3)
    onto = antsreg_gpu.register_series(moving, nib.load(pair.fixed), cost="cr")
    assert np.allclose(onto.affines[2], np.eye(4), atol=0.3)
    voxels = image.get_fdata()
    voxels[..., 1] = np.nan
    voxels[3, 3, 3, 2] = np.inf
    with pytest.raises(antsreg_gpu.InputError, match="volume 1, counted from 0: every voxel"):
        antsreg_gpu.register_series((voxels, image.affine))
    some = antsreg_gpu.register_series((voxels, image.affine), keep_going=True)
    assert [index for index, _ in some.failed] == [1] and np.array_equal(some.affines[1], some.affines[0])
    pages = [path for path in some.save(tmp_path / "r", report=True) if path.suffix == ".html"]
    assert "volume 1, counted from 0" in pages[0].read_text()


def test_what_is_no_series_is_refused(moving: Path, pair: Pair) -> None:
    with pytest.raises(antsreg_gpu.InputError, match="no volume 99, counted from 0"):
        antsreg_gpu.register_series(moving, 99)
    with pytest.raises(antsreg_gpu.InputError, match="series"):
        antsreg_gpu.register_series(pair.fixed)
    with pytest.raises(antsreg_gpu.InputError, match="4 axes"):
        antsreg_gpu.register_series(nib.load(pair.fixed))
    with pytest.raises((antsreg_gpu.Error, ValueError)):
        antsreg_gpu.register_series(moving, cost="woods")

    def stop(_aligned: int, _of: int) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        antsreg_gpu.register_series(moving, progress=stop)


def test_results_as_tables_and_images_of_other_libraries(moving: Path, tmp_path: Path) -> None:
    found = antsreg_gpu.motion(moving, device="cpu")
    found.save(tmp_path / "p")
    header = (tmp_path / "pmotion.tsv").read_text().splitlines()[0].split("\t")
    assert list(found.table.columns) == header and found.table.index.name == "volume"
    assert np.array_equal(found.table["framewise_displacement"], found.fd, equal_nan=True)
    assert "Framewise displacement" in found._repr_html_()
    for series in (sitk.ReadImage(str(moving)), ants.image_read(str(moving))):
        other = antsreg_gpu.motion(series, device="cpu")
        assert np.allclose(other.affines, found.affines, atol=1e-3)
        corrected = other.corrected
        assert type(corrected) is type(series)
        voxels = corrected.numpy() if hasattr(corrected, "numpy") else sitk.GetArrayFromImage(corrected).T
        assert np.allclose(voxels, found.corrected.get_fdata(), atol=1e-2 * voxels.max())
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.affines, found.affines) and repr(again) == repr(found)
    assert np.array_equal(again.corrected.get_fdata(), found.corrected.get_fdata())
    assert np.array_equal(again.mean.get_fdata(), found.mean.get_fdata())
    with pytest.raises(antsreg_gpu.OptionError, match="before pickling"):
        again.save(tmp_path / "q")
