"""Tests of the result of a registration: arrays, images, transforms, measures."""

from __future__ import annotations

from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from conftest import Pair, command

import antsreg_gpu

FAST = {"iterations": [6], "shrink_factors": [2], "smoothing_sigmas": [1.0]}


@pytest.fixture(scope="module")
def result(pair: Pair) -> antsreg_gpu.Registration:
    return antsreg_gpu.register(pair.fixed, pair.moving, levels=FAST, device="cpu")


def test_arrays_and_images(result: antsreg_gpu.Registration, pair: Pair) -> None:
    fixed, moving = nib.load(pair.fixed), nib.load(pair.moving)
    assert result.affine.shape == (4, 4) and result.affine.dtype == np.float64
    assert result.warp is not None and result.warp.shape == (*fixed.shape, 3)
    assert result.warp.dtype == np.float32 and not result.warp.flags.writeable
    assert result.warped.shape == fixed.shape and np.allclose(result.warped.affine, fixed.affine)
    assert result.inverse_warped.shape == moving.shape
    assert isinstance(result.warped, nib.Nifti1Image)
    assert "Correlation" in result._repr_html_()
    similarity = result.record["similarity"]
    assert similarity["correlation"] > similarity["correlation_at_start"]


def test_arrays_outlive_their_registration(pair: Pair) -> None:
    found = antsreg_gpu.register(pair.fixed, pair.moving, "rigid", device="cpu")
    warped = np.asarray(found.warped.dataobj)
    before = warped.copy()
    del found
    np.random.default_rng(0).random(10_000_000)
    assert np.array_equal(warped, before)


def test_points_go_where_images_come_from(result: antsreg_gpu.Registration, pair: Pair) -> None:
    moving, warped = nib.load(pair.moving), result.warped
    index = np.argwhere(warped.get_fdata() > 0.5 * warped.get_fdata().max())[::50]
    points = nib.affines.apply_affine(warped.affine, index)
    there = nib.affines.apply_affine(np.linalg.inv(moving.affine), result.transform_points(points))
    # The warped image must equal trilinear values of the moving image at the transformed points, up to single
    # precision.
    base = np.floor(there).astype(int)
    share = there - base
    values = np.zeros(len(there))
    data = moving.get_fdata()
    for corner in np.ndindex(2, 2, 2):
        weight = np.prod(np.where(corner, share, 1 - share), axis=1)
        values += weight * data[tuple((base + corner).T)]
    assert np.allclose(values, warped.get_fdata()[tuple(index.T)], rtol=1e-4, atol=1e-3 * data.max())
    back = result.transform_points(result.transform_points(points), inverse=True)
    assert np.abs(back - points).max() < 6.0


def test_apply_is_the_commands(result: antsreg_gpu.Registration, pair: Pair, tmp_path: Path) -> None:
    result.save(tmp_path / "p_")
    transforms = [tmp_path / "p_1Warp.nii.gz", tmp_path / "p_0GenericAffine.mat"]
    for interpolation in ("linear", "nearest", "bspline", "sinc", "gaussian"):
        out = tmp_path / f"{interpolation}.nii.gz"
        words = [word for path in transforms for word in ("-t", path)]
        command("apply", "-i", pair.moving, "-r", pair.fixed, "-o", out, "-n", interpolation, *words)
        ours = antsreg_gpu.apply(pair.moving, pair.fixed, list(transforms), interpolation=interpolation)
        assert np.array_equal(ours.get_fdata(), nib.load(out).get_fdata()), interpolation
    given = result.apply(pair.moving)
    assert np.abs(given.get_fdata() - result.warped.get_fdata()).max() == 0


def test_labels_and_overlap(result: antsreg_gpu.Registration, pair: Pair) -> None:
    image = nib.load(pair.moving)
    labels = np.digitize(image.get_fdata(), [40.0, 90.0]).astype(np.int16)
    carried = result.apply((labels, image.affine), interpolation="generic-label")
    assert np.asarray(carried.dataobj).dtype == np.int32
    assert set(np.unique(carried.get_fdata())) <= {0, 1, 2}
    fixed = nib.load(pair.fixed)
    truth = np.digitize(fixed.get_fdata(), [40.0, 90.0])
    found = antsreg_gpu.overlap(carried, (truth, fixed.affine))
    both = np.logical_and(carried.get_fdata() == 1, truth == 1).sum()
    either = np.logical_or(carried.get_fdata() == 1, truth == 1).sum()
    assert found.labels[1].jaccard == pytest.approx(both / either)
    assert set(antsreg_gpu.overlap(carried, (truth, fixed.affine), labels=[2]).labels) == {2}


def test_jacobian(result: antsreg_gpu.Registration, pair: Pair) -> None:
    assert result.warp is not None and result.jacobian is not None
    found = antsreg_gpu.jacobian((result.warp, nib.load(pair.fixed).affine))
    assert np.array_equal(found.image.get_fdata(), result.jacobian.get_fdata())
    assert found.minimum == pytest.approx(result.record["jacobian"]["warp"]["minimum"], abs=0.02)
    stretched = np.zeros((5, 6, 7, 3), dtype=np.float32)
    stretched[..., 0] = 0.5 * np.arange(5)[:, None, None]
    assert antsreg_gpu.jacobian((stretched, np.eye(4))).mean == pytest.approx(1.5)
    determinants = found.image.get_fdata()
    assert found.sd_log == pytest.approx(np.log(determinants.clip(1e-3)).std(), abs=1e-6)
    assert found.outside == pytest.approx(((determinants < 0.5) | (determinants > 2)).mean(), abs=1e-9)


def test_transforms_are_read_as_they_were_written(result: antsreg_gpu.Registration, pair: Pair, tmp_path: Path) -> None:
    affine = result.affine
    for name in ("a.mat", "a.txt"):
        antsreg_gpu.write_transform(tmp_path / name, affine)
        read = antsreg_gpu.read_transform(tmp_path / name)
        assert read.affine is not None and np.allclose(read.affine, affine, atol=1e-9)
    spaces = {"fixed": pair.fixed, "moving": pair.moving}
    antsreg_gpu.write_transform(tmp_path / "fsl.mat", affine, **spaces)
    fsl = antsreg_gpu.read_transform(tmp_path / "fsl.mat", **spaces)
    assert fsl.affine is not None and np.allclose(fsl.affine, affine, atol=1e-5)
    assert result.warp is not None
    warp = (result.warp, nib.load(pair.fixed).affine)
    antsreg_gpu.write_transform(tmp_path / "w.nii.gz", warp)
    (vectors, grid), = antsreg_gpu.read_transform(tmp_path / "w.nii.gz").warps
    assert np.array_equal(vectors, result.warp) and np.allclose(grid, warp[1], atol=1e-4)
    inverse = antsreg_gpu.read_transform(tmp_path / "a.mat").inverse()
    assert inverse.affine is not None and np.allclose(inverse.affine @ affine, np.eye(4), atol=1e-9)


def test_stages_as_the_record_has_them(result: antsreg_gpu.Registration, pair: Pair) -> None:
    stages = result.record["parameters"]["options"]["stages"]
    again = antsreg_gpu.register(pair.fixed, pair.moving, stages=stages, device="cpu")
    assert np.array_equal(again.warp, result.warp)


def test_slices_stay_flat(slices: Pair) -> None:
    images = [nib.load(path) for path in slices]
    flat = [(np.asarray(image.dataobj)[:, :, 0], image.affine) for image in images]
    found = antsreg_gpu.register(*flat, "affine", device="cpu")
    assert found.warped.shape == flat[0][0].shape
    assert found.record["similarity"]["correlation"] > 0.5


def test_a_page_to_judge_the_result_by(result: antsreg_gpu.Registration, pair: Pair, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result.report(page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!") and text.rstrip().endswith("</html>")
    assert pair.fixed.name in text and "data:image" in text and "<svg" in text
    assert not [word for word in ("src=\"http", "href=\"http", "@import") if word in text], "it needs no network"
    result.report(page)
    with pytest.raises(antsreg_gpu.Error):
        result.report(tmp_path / "nowhere" / "page.html")


def test_all_transforms_of_a_direction_in_one_file(result: antsreg_gpu.Registration, pair: Pair, tmp_path: Path) -> None:
    written = result.save(tmp_path / "c_", composite=True, warped=False)
    assert {path.name for path in written} >= {"c_Composite.h5", "c_InverseComposite.h5"}
    composite = antsreg_gpu.read_transform(tmp_path / "c_Composite.h5")
    points = [[1.0, 2.0, 3.0], [-20.0, 10.0, 30.0]]
    assert np.allclose(antsreg_gpu.apply_points(points, composite), result.transform_points(points), atol=1e-3)
