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

#: On grids of so few voxels, steps as long as the preset's go past the optimum, and the level is undone.
LEVELS = {"shrink_factors": (2,), "smoothing_sigmas": (1.0,), "iterations": (4,), "gradient_step": 0.25}
WORDS = (
    *("--shrink-factors", "2", "--smoothing-sigmas", "1", "--iterations", "4", "--gradient-step", "0.25"),
    *("--device", "cpu", "--quiet"),
)


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
    for wrong, text in (({"surprise": 1}, "surprise: unknown option"), ({"cc_radius": 0}, "cc_radius: ")):
        with pytest.raises(antsreg_gpu.OptionError, match=text):
            antsreg_gpu.batch(pair.fixed, [pair.moving], tmp_path / "d", **wrong)
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
    masked = (np.ma.MaskedArray(voxels, mask=mask.get_fdata() == 0), image.affine)
    ours = antsreg_gpu.bias_correct(masked, iterations=(2,), device="cpu")
    theirs = antsreg_gpu.bias_correct(image, mask, iterations=(2,), device="cpu")
    assert np.array_equal(ours.image.get_fdata(), theirs.image.get_fdata())
    shifted = (voxels + 2, image.affine)
    assert antsreg_gpu.compare(masked, shifted) == antsreg_gpu.compare(image, shifted, mask)
    with pytest.raises(antsreg_gpu.InputError, match="and a mask is given"):
        antsreg_gpu.compare(masked, image, mask)


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
    # The record has the memory that the process has taken so far.
    records = [{**result.record, "peak_memory_bytes": 0} for result in (again, found)]
    assert records[0] == records[1] and again._repr_html_() == found._repr_html_()
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


def test_images_are_written_with_the_bytes_of_the_command(pair: Pair, masks: Pair, tmp_path: Path) -> None:
    image, other = (nib.load(path) for path in pair)
    bias = antsreg_gpu.bias_correct(image, iterations=(2,), device="cpu")
    antsreg_gpu.write_image(tmp_path / "bias.nii.gz", bias.image)
    command("bias", "-i", pair.fixed, "-o", tmp_path / "bias_c.nii.gz", "--iterations", "2", "--device", "cpu")
    brain = antsreg_gpu.brain(image, contrast="t1", device="cpu")
    antsreg_gpu.write_image(tmp_path / "brain.nii.gz", brain.mask)
    words = ["--contrast", "t1", "--device", "cpu", "--mask", tmp_path / "brain_c.nii.gz"]
    command("brain", "-i", pair.fixed, "-o", tmp_path / "b.nii.gz", *words)
    moved = antsreg_gpu.apply(other, image, np.eye(4))
    antsreg_gpu.write_image(tmp_path / "moved.nii.gz", moved)
    command("apply", "-i", pair.moving, "-r", pair.fixed, "-o", tmp_path / "moved_c.nii.gz")
    mask = nib.load(masks.moving)
    label = antsreg_gpu.apply(mask, image, np.eye(4), interpolation="generic-label")
    antsreg_gpu.write_image(tmp_path / "label.nii.gz", label)
    words = ["-n", "generic-label", "-o", tmp_path / "label_c.nii.gz"]
    command("apply", "-i", masks.moving, "-r", pair.fixed, *words)
    for name in ("bias", "brain", "moved", "label"):
        same = (tmp_path / f"{name}.nii.gz").read_bytes() == (tmp_path / f"{name}_c.nii.gz").read_bytes()
        assert same, name


def test_every_verb_can_be_run_on_files(pair: Pair, tmp_path: Path) -> None:
    assert str(pair.fixed) in antsreg_gpu.run_command("info", pair.fixed)
    antsreg_gpu.run_command(
        "register", fixed=pair.fixed, moving=pair.moving, output=tmp_path / "a_", device="cpu", **LEVELS
    )
    command("register", "-f", pair.fixed, "-m", pair.moving, "-o", tmp_path / "b_", *WORDS)
    assert (tmp_path / "a_1Warp.nii.gz").read_bytes() == (tmp_path / "b_1Warp.nii.gz").read_bytes()
    with pytest.raises(antsreg_gpu.OptionError, match="surprise"):
        antsreg_gpu.run_command("info", surprise=True)
    with pytest.raises(antsreg_gpu.Error, match="no such file") as raised:
        antsreg_gpu.run_command("info", tmp_path / "nothing.nii.gz")
    assert not str(raised.value).startswith("error")


def test_labels_have_names(tmp_path: Path) -> None:
    labels = np.zeros((4, 4, 4), dtype=np.int32)
    labels[1:, :2], labels[1:, 2:] = 17, 18
    tables = {
        "dseg.tsv": "index\tname\tcolor\n17\tLeft-Hippocampus\t#dcd814\n18\tLeft <Amygdala>\t#67ffff\n",
        "lut.txt": "#No. Label R G B A\n17 Left-Hippocampus 220 216 20 0\n18 Left<Amygdala> 103 255 255 0\n",
        "snap.label": '# ITK-SNAP\n 0 0 0 0 0 0 0 "Clear Label"\n 17 255 0 0 1 1 1 "Left-Hippocampus"\n',
    }
    for name, text in tables.items():
        (tmp_path / name).write_text(text)
        assert antsreg_gpu.label_names(tmp_path / name)[17] == "Left-Hippocampus"
    image = (labels, np.eye(4))
    found = antsreg_gpu.overlap(image, image, names=tmp_path / "dseg.tsv")
    assert found.table.loc[17, "name"] == "Left-Hippocampus" and "18 Left &lt;Amygdala&gt;" in found._repr_html_()
    assert "name" not in antsreg_gpu.overlap(image, image).table.columns
    (tmp_path / "none.txt").write_text("nothing here\n")
    with pytest.raises(antsreg_gpu.InputError, match=r"none.txt: expected names of labels"):
        antsreg_gpu.label_names(tmp_path / "none.txt")
    with pytest.raises(antsreg_gpu.MissingFileError, match="no such file"):
        antsreg_gpu.label_names(tmp_path / "missing.tsv")
