"""Tests of options by the names of the command, of studies, and of images in the caller's type."""

from __future__ import annotations

import pickle
from pathlib import Path

import ants
import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk
from conftest import Pair, command

import antsreg_gpu

LEVELS = {"shrink_factors": (2,), "smoothing_sigmas": (1.0,), "iterations": (4,)}
WORDS = ("--shrink-factors", "2", "--smoothing-sigmas", "1", "--iterations", "4", "--device", "cpu", "--quiet")


def test_options_have_the_names_of_the_command(pair: Pair, tmp_path: Path) -> None:
    options = {**LEVELS, "cost": "nmi", "cc_radius": 3, "metric": "cc", "no_search": True}
    found = antsreg_gpu.register(pair.fixed, pair.moving, device="cpu", **options)
    command(
        *("register", "-f", pair.fixed, "-m", pair.moving, "-o", tmp_path / "a_", *WORDS),
        *("--cost", "nmi", "--cc-radius", "3", "--metric", "cc", "--no-search"),
    )
    found.save(tmp_path / "b_")
    for name in ("0GenericAffine.mat", "1Warp.nii.gz", "Warped.nii.gz"):
        assert (tmp_path / f"a_{name}").read_bytes() == (tmp_path / f"b_{name}").read_bytes(), name


def test_a_batch_writes_what_the_command_writes(pair: Pair, tmp_path: Path) -> None:
    seen: list[tuple[str, str, str, int, int]] = []
    study = antsreg_gpu.batch(
        pair.fixed, [pair.moving, pair.fixed], tmp_path / "a", device="cpu", **LEVELS, progress=lambda *told: seen.append(told)
    )
    command("batch", "-f", pair.fixed, "-o", tmp_path / "b", *WORDS, pair.moving, pair.fixed)
    for path in sorted((tmp_path / "b").glob("*.nii.gz")):
        assert path.read_bytes() == (tmp_path / "a" / path.name).read_bytes(), path.name
    assert [subject.status for subject in study] == ["done", "done"] and not study.failed
    assert list(study.table.columns)[:2] == ["status", "reason"] and "<table>" in study._repr_html_()
    assert [told[3:] for told in seen if told[0] == "done"] == [(1, 2), (2, 2)]
    with pytest.warns(antsreg_gpu.ResultWarning, match="nothing"):
        failed = antsreg_gpu.batch(pair.fixed, [tmp_path / "nothing.nii.gz", pair.moving], tmp_path / "c", device="cpu", **LEVELS)
    assert list(failed.failed) == ["nothing"]
    with pytest.raises(antsreg_gpu.OptionError, match="surprise: unknown option"):
        antsreg_gpu.batch(pair.fixed, [pair.moving], tmp_path / "d", surprise=1)
    with pytest.raises(antsreg_gpu.OptionError, match="dry_run"):
        antsreg_gpu.batch(pair.fixed, [pair.moving], tmp_path / "d", dry_run=True)
    assert not (tmp_path / "d").exists()

    def stop(*_: object) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        antsreg_gpu.batch(pair.fixed, [pair.moving, pair.fixed], tmp_path / "e", device="cpu", **LEVELS, progress=stop)


def test_a_scan_without_a_skull_is_normalised(pair: Pair, tmp_path: Path) -> None:
    study = antsreg_gpu.normalise(
        pair.moving, prefix=tmp_path / "one_", template=pair.fixed, transform="rigid", no_bias=True, no_report=True, device="cpu"
    )
    assert [subject.status for subject in study] == ["done"]
    assert study[0].record is not None and study[0].record["head"]["without_skull"]
    assert (tmp_path / "one_desc-brain_mask.nii.gz").exists()


def test_masked_arrays_are_masks(pair: Pair, masks: Pair) -> None:
    image, mask = nib.load(pair.fixed), nib.load(masks.fixed)
    voxels = image.get_fdata(dtype=np.float32)
    hidden = mask.get_fdata() == 0
    shown = np.ma.MaskedArray(np.where(hidden & (voxels > 0), np.nan, voxels), mask=hidden)
    options = {"transform": "rigid", "device": "cpu", "no_search": True}
    clean = (np.where(hidden & (voxels > 0), 0, voxels), image.affine)
    ours = antsreg_gpu.register((shown, image.affine), pair.moving, **options)
    theirs = antsreg_gpu.register(clean, pair.moving, fixed_mask=mask, **options)
    assert np.array_equal(ours.affine, theirs.affine)
    with pytest.raises(antsreg_gpu.InputError, match="a mask is given too"):
        antsreg_gpu.register((shown, image.affine), pair.moving, fixed_mask=mask, **options)
    with pytest.raises(antsreg_gpu.InputError, match="masked array"):
        antsreg_gpu.apply((shown, image.affine), image, np.eye(4))


def test_results_are_of_the_type_of_the_images(pair: Pair) -> None:
    options = {"transform": "rigid", "device": "cpu", "no_search": True}
    plain = antsreg_gpu.register(pair.fixed, pair.moving, **options).warped
    read = {"ants": ants.image_read, "SimpleITK": lambda path: sitk.ReadImage(path, sitk.sitkFloat32)}
    for library, reader in read.items():
        fixed, moving = (reader(str(path)) for path in pair)
        warped = antsreg_gpu.register(fixed, moving, **options).warped
        assert type(warped) is type(fixed), library
        if library == "ants":
            assert ants.image_physical_space_consistency(warped, fixed)
            voxels = warped.numpy()
        else:
            assert np.allclose(warped.GetOrigin(), fixed.GetOrigin(), atol=1e-4)
            assert np.allclose(warped.GetDirection(), fixed.GetDirection(), atol=1e-4)
            voxels = sitk.GetArrayFromImage(warped).T
        assert np.allclose(voxels, plain.get_fdata(), atol=1e-2 * voxels.max()), library


def test_results_survive_pickling(pair: Pair) -> None:
    found = antsreg_gpu.register(pair.fixed, pair.moving, device="cpu", **LEVELS)
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.affine, found.affine) and np.array_equal(again.warp, found.warp)
    assert np.array_equal(again.warped.get_fdata(), found.warped.get_fdata())
    assert again.record == found.record and again._repr_html_() == found._repr_html_()
    points = [[1.0, 2.0, 3.0], [20.0, -5.0, 8.0]]
    assert np.array_equal(again.transform_points(points), found.transform_points(points))
    assert np.array_equal(again.jacobian.get_fdata(), found.jacobian.get_fdata())
    with pytest.raises(antsreg_gpu.OptionError, match="before pickling"):
        again.save("a_")
    chain = pickle.loads(pickle.dumps(found.backward))
    assert np.array_equal(chain.transform_points(points), found.transform_points(points, inverse=True))


def test_comparisons_conversions_and_tables(pair: Pair, tmp_path: Path) -> None:
    image = nib.load(pair.fixed)
    voxels = image.get_fdata(dtype=np.float32)
    found = antsreg_gpu.compare(image, (voxels + 2, image.affine))
    assert found.largest_absolute == pytest.approx(2) and found.voxels == voxels.size
    labels = (np.arange(voxels.size).reshape(voxels.shape) % 3).astype(np.int32)
    overlap = antsreg_gpu.overlap((labels, image.affine), (labels, image.affine))
    assert overlap.table.loc[2, "dice"] == 1.0 and "dice" in overlap._repr_html_()
    matrix = np.diag([1.0, 1.0, 1.0, 1.0])
    matrix[0, 3] = 4.0
    antsreg_gpu.write_transform(tmp_path / "a.txt", matrix)
    antsreg_gpu.convert(tmp_path / "a.txt", tmp_path / "b.mat", fixed=pair.fixed, moving=pair.moving, to="fsl")
    back = antsreg_gpu.convert(tmp_path / "b.mat", tmp_path / "c.txt", fixed=pair.fixed, moving=pair.moving, from_="fsl")
    assert np.allclose(antsreg_gpu.read_transform(back).affine, matrix, atol=1e-4)
    assert antsreg_gpu.motion is antsreg_gpu.register_series
