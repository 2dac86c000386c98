"""Tests of the functions with ANTsPy's signatures: the examples of ANTsPy's documentation, and refused arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ants as antspy
import nibabel as nib
import numpy as np
import pandas
import pytest
from conftest import Pair

import antsreg_gpu.ants as engine


@pytest.fixture(scope="module")
def images(pair: Pair) -> tuple[Any, Any]:
    return tuple(antspy.image_read(str(path)) for path in pair)


def correlation(a: Any, b: Any) -> float:
    return float(np.corrcoef(a.numpy().ravel(), b.numpy().ravel())[0, 1])


def test_the_example_of_registration(images: tuple[Any, Any]) -> None:
    # The example of ants.registration in ANTsPy's documentation, with the example images of this repository.
    fi, mi = images
    mytx = engine.registration(fixed=fi, moving=mi, type_of_transform="SyN", reg_iterations=(10, 5, 0))
    assert set(mytx) == {"warpedmovout", "warpedfixout", "fwdtransforms", "invtransforms"}
    assert all(Path(name).is_file() for name in mytx["fwdtransforms"] + mytx["invtransforms"])
    warped = mytx["warpedmovout"]
    assert type(warped) is type(fi) and warped.shape == fi.shape
    assert np.allclose(warped.direction, fi.direction) and np.allclose(warped.origin, fi.origin)
    assert correlation(fi, warped) > correlation(fi, antspy.resample_image_to_target(mi, fi)) + 0.003
    # Images that this package resamples by the transforms must agree with those of ANTsPy, in both directions.
    for fixed, moving, way in ((fi, mi, "fwdtransforms"), (mi, fi, "invtransforms")):
        ours = engine.apply_transforms(fixed=fixed, moving=moving, transformlist=mytx[way])
        theirs = antspy.apply_transforms(fixed=fixed, moving=moving, transformlist=mytx[way])
        apart = np.abs(ours.numpy() - theirs.numpy())
        assert apart.mean() < 1e-2 and np.percentile(apart, 99.9) < 1.0
    determinants = engine.create_jacobian_determinant_image(fi, mytx["fwdtransforms"][0], True)
    assert determinants.shape == fi.shape and abs(float(determinants.numpy().mean())) < 0.5


@pytest.mark.parametrize("kind", ["Translation", "Rigid", "Similarity", "Affine", "antsRegistrationSyN[a]"])
def test_linear_types(kind: str, images: tuple[Any, Any]) -> None:
    fi, mi = images
    found = engine.registration(fi, mi, kind)
    assert found["fwdtransforms"] == found["invtransforms"] and len(found["fwdtransforms"]) == 1
    assert correlation(fi, found["warpedmovout"]) > 0.7
    read = antspy.read_transform(found["fwdtransforms"][0])
    assert read.dimension == 3


def test_labels(images: tuple[Any, Any]) -> None:
    fi, mi = images
    def tissues(image: Any) -> Any:
        values = np.digitize(image.numpy(), [40.0, 90.0]).astype(np.float32)
        return antspy.from_numpy(values, image.origin, image.spacing, image.direction)

    seg = [tissues(image) for image in images]
    found = engine.registration(fi, mi, "Affine")
    carried = engine.apply_transforms(fi, seg[1], found["fwdtransforms"], interpolator="genericLabel")
    assert set(np.unique(carried.numpy())) <= {0, 1, 2}
    ours = engine.label_overlap_measures(carried, seg[0])
    theirs = antspy.label_overlap_measures(carried, seg[0])
    for label in (1, 2):
        a = ours[ours.Label == label].iloc[0]
        b = theirs[theirs.Label.astype(str) == str(label)].iloc[0]
        assert a.MeanOverlap == pytest.approx(float(b.MeanOverlap), abs=1e-4)


def test_composite_transforms_and_the_mask_of_the_last_stage(images: tuple[Any, Any], tmp_path: Path) -> None:
    fi, mi = images
    iterations = {"type_of_transform": "SyN", "reg_iterations": (5, 0, 0)}
    found = engine.registration(fi, mi, outprefix=f"{tmp_path}/c", write_composite_transform=True, **iterations)
    assert found["fwdtransforms"] == f"{tmp_path}/cComposite.h5"
    theirs = antspy.apply_transforms(fi, mi, [found["fwdtransforms"]])
    assert np.abs(theirs.numpy() - found["warpedmovout"].numpy()).mean() < 1e-2
    # The mask covers half of the brain. By default it acts only in the last stage, so the affine is that without a
    # mask.
    half = fi.numpy().copy()
    half[: fi.shape[0] // 2] = 0
    mask = antspy.from_numpy((half > 0).astype(np.float32), fi.origin, fi.spacing, fi.direction)

    def affine(name: str, **options: Any) -> Any:
        done = engine.registration(fi, mi, outprefix=f"{tmp_path}/{name}", **iterations, **options)
        return antspy.read_transform(done["fwdtransforms"][1]).parameters

    alone, last, everywhere = affine("a"), affine("l", mask=mask), affine("e", mask=mask, mask_all_stages=True)
    assert np.array_equal(alone, last) and not np.allclose(alone, everywhere, atol=1e-6)


def test_what_is_replaced_warns(images: tuple[Any, Any]) -> None:
    with pytest.warns(UserWarning, match="aff_iterations: replaced"):
        engine.registration(*images, type_of_transform="Translation", aff_iterations=(10, 0))


def test_what_has_no_counterpart_raises_with_its_name(pair: Pair) -> None:
    pair_of = nib.load(pair.fixed), nib.load(pair.moving)
    cases: list[tuple[str, dict[str, Any]]] = [
        ("ElasticSyN", {"type_of_transform": "ElasticSyN"}),
        ("syn_metric", {"syn_metric": "demons"}),
        ("aff_metric", {"aff_metric": "demons"}),
        ("surprise", {"surprise": 1}),
    ]
    for name, options in cases:
        with pytest.raises(engine.Unsupported, match=name):
            engine.registration(*pair_of, **options)
    with pytest.raises(engine.Unsupported, match="compose"):
        engine.apply_transforms(*pair_of, transformlist=[], compose="x")
    with pytest.raises(engine.Unsupported, match="restrict_transformation"):
        engine.registration(*pair_of, type_of_transform="Rigid", restrict_transformation=(1, 1, 0, 1, 1, 0))


def test_a_restricted_deformation(images: tuple[Any, Any]) -> None:
    options = {"type_of_transform": "SyNCC", "reg_iterations": (0, 0, 8)}
    found = engine.registration(*images, restrict_transformation=(1, 0, 1), **options)
    warp = antspy.image_read(found["fwdtransforms"][0]).numpy()
    assert (warp[..., 1] == 0).all() and np.abs(warp[..., 0]).max() > 0.1


def test_points_go_where_antspy_moves_them(images: tuple[Any, Any], slices: Pair) -> None:
    fi, mi = images
    found = engine.registration(fi, mi, "antsRegistrationSyNQuickRepro[sr]", reg_iterations=(5, 0, 0))
    table = pandas.DataFrame({"x": [10.0, -20.0, 5.0], "y": [0.0, 30.0, -12.0], "z": [8.0, 5.0, 20.0], "name": list("abc")})
    for way in ("fwdtransforms", "invtransforms"):
        ours = engine.apply_transforms_to_points(3, table, found[way])
        theirs = antspy.apply_transforms_to_points(3, table, found[way])
        assert list(ours["name"]) == list("abc")
        assert np.allclose(ours[list("xyz")], theirs[list("xyz")], atol=1e-3), way
    planes = [antspy.image_read(str(path), dimension=3) for path in slices]
    planes = [antspy.from_numpy(plane.numpy()[:, :, 0], plane.origin[:2], plane.spacing[:2]) for plane in planes]
    flat = engine.registration(*planes, "Affine")
    ours = engine.apply_transforms_to_points(2, table[["x", "y"]], flat["fwdtransforms"])
    theirs = antspy.apply_transforms_to_points(2, table[["x", "y"]], flat["fwdtransforms"])
    assert np.allclose(ours, theirs, atol=1e-3)
    assert flat["warpedmovout"].dimension == 2


def test_several_channels(images: tuple[Any, Any]) -> None:
    fi, mi = images
    squared = [image**2 for image in images]
    options: dict[str, Any] = {"type_of_transform": "SyNOnly", "initial_transform": "Identity"}
    options |= {"reg_iterations": (0, 6, 0), "grad_step": 0.25}
    alone = engine.registration(fi, mi, **options)
    both = engine.registration(fi, mi, **options, multivariate_extras=[["CC", *squared, 0.5, 2]])
    assert not np.array_equal(alone["warpedmovout"].numpy(), both["warpedmovout"].numpy())
    with pytest.raises(engine.Unsupported, match="metric 'demons'"):
        engine.registration(fi, mi, **options, multivariate_extras=[["demons", *squared, 0.5, 2]])
    with pytest.raises(engine.Unsupported, match="linear stage"):
        engine.registration(fi, mi, "Affine", multivariate_extras=[["CC", *squared, 0.5, 2]])


def test_motion_of_a_series(images: tuple[Any, Any], tmp_path: Path) -> None:
    fi, _ = images
    voxels = fi.numpy()
    volumes = np.stack([voxels, np.roll(voxels, 1, axis=0), voxels], axis=-1)
    direction = np.eye(4)
    direction[:3, :3] = fi.direction
    series = antspy.from_numpy(volumes, [*fi.origin, 0.0], [*fi.spacing, 2.0], direction)
    found = engine.motion_correction(series, fixed=None, outprefix=str(tmp_path / "v"))
    assert type(found["motion_corrected"]) is type(series) and found["motion_corrected"].shape == series.shape
    # A shift by one voxel along x moves every corner by the size of a voxel.
    assert found["FD"] == pytest.approx([0.0, fi.spacing[0], fi.spacing[0]], abs=0.3)
    assert found["motion_parameters"][1] == [str(tmp_path / "v_00001_0GenericAffine.mat")]
    still, moved = (engine.apply_transforms(fi, series, found["motion_parameters"][n], imagetype=3) for n in (0, 1))
    assert still.shape == series.shape
    assert np.abs(moved.numpy()[..., 1] - still.numpy()[..., 0]).mean() < 0.5 * np.abs(voxels - volumes[..., 1]).mean()
    with pytest.raises(engine.Unsupported, match="SyN"):
        engine.motion_correction(series, type_of_transform="SyN")
