"""Tests that the package's method `save` writes the same bytes as the command `antsreg-gpu`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from conftest import Pair, command

import antsreg_gpu

FAST = {"iterations": [6], "shrink_factors": [2], "smoothing_sigmas": [1.0]}
#: On grids of so few voxels, steps as long as the preset's go past the optimum, and the level is undone.
STEP = {"gradient_step": 0.25}
LEVELS = ["--iterations", "6", "--shrink-factors", "2", "--smoothing-sigmas", "1"]


def compare(folder: Path, pair: Pair, result: antsreg_gpu.Registration, words: list[object]) -> None:
    """Registers the pair by the command `antsreg-gpu` as well, and compares all files with those of `save`."""
    ours, theirs = folder / "python_", folder / "command_"
    written = result.save(ours)
    command("register", "-f", pair.fixed, "-m", pair.moving, "-o", theirs, "--device", "cpu", *words)
    names = sorted(path.name.replace("command_", "") for path in folder.glob("command_*"))
    assert sorted(path.name.replace("python_", "") for path in written) == names
    for name in names:
        if name != "record.json":
            same = Path(f"{ours}{name}").read_bytes() == Path(f"{theirs}{name}").read_bytes()
            assert same, f"{name} differs"
    records = [json.loads(Path(f"{prefix}record.json").read_text()) for prefix in (ours, theirs)]
    for key in ("affine_ras", "similarity", "coverage", "warnings", "jacobian", "linear", "syn"):
        assert records[0][key] == records[1][key], key
    assert records[0]["parameters"]["options"] == records[1]["parameters"]["options"]


@pytest.mark.parametrize("preset", ["fast", "default", "best", "smooth", "multimodal"])
def test_presets(preset: str, pair: Pair, tmp_path: Path) -> None:
    result = antsreg_gpu.register(pair.fixed, pair.moving, preset=preset, device="cpu")
    compare(tmp_path, pair, result, ["--preset", preset])


@pytest.mark.parametrize("transform", ["translation", "rigid", "similarity", "scales", "affine", "syn-only"])
def test_transforms(transform: str, pair: Pair, tmp_path: Path) -> None:
    deformable = transform == "syn-only"
    levels = FAST if deformable else None
    result = antsreg_gpu.register(pair.fixed, pair.moving, transform, levels=levels, device="cpu")
    compare(tmp_path, pair, result, ["-t", transform, *(LEVELS if deformable else [])])


def test_masked_arrays_are_images_with_masks(pair: Pair, masks: Pair) -> None:
    fixed, moving, mask = (nib.load(path) for path in (*pair, masks.moving))
    hidden = np.asarray(mask.dataobj) == 0
    options = {"preset": "fast", "transform": "affine", "device": "cpu"}
    expected = antsreg_gpu.register(fixed, moving, moving_mask=mask, **options)
    unmasked = antsreg_gpu.register(fixed, moving, **options)
    array = np.ma.array(moving.get_fdata(dtype=np.float32), mask=hidden)
    for image in ((array, moving.affine), antsreg_gpu.Image(array, moving.affine)):
        found = antsreg_gpu.register(fixed, image, **options)
        assert np.array_equal(found.affine, expected.affine) and not np.array_equal(found.affine, unmasked.affine)


def test_masks(pair: Pair, masks: Pair, tmp_path: Path) -> None:
    result = antsreg_gpu.register(
        pair.fixed, pair.moving, fixed_mask=masks.fixed, moving_mask=masks.moving, levels=FAST, device="cpu"
    )
    words = ["--fixed-mask", masks.fixed, "--moving-mask", masks.moving, *LEVELS]
    compare(tmp_path, pair, result, words)


def test_channels_and_options_of_stages(pair: Pair, masks: Pair, tmp_path: Path) -> None:
    result = antsreg_gpu.register(
        pair.fixed,
        pair.moving,
        channels=[tuple(masks)],
        linear={"finest_mm": 2.0},
        syn={"radius": 3},
        cost="nmi",
        noise=0.03,
        levels=FAST,
        device="cpu",
    )
    options = ["--cost", "nmi", "--finest-mm", "2", "--cc-radius", "3", "--noise", "0.03"]
    compare(tmp_path, pair, result, ["--channel", f"{masks.fixed},{masks.moving}", *options, *LEVELS])


def test_slices(slices: Pair, tmp_path: Path) -> None:
    result = antsreg_gpu.register(slices.fixed, slices.moving, levels=FAST, device="cpu")
    compare(tmp_path, slices, result, LEVELS)


def test_a_given_start(pair: Pair, tmp_path: Path) -> None:
    start = np.eye(4)
    start[:3, 3] = [3.0, -2.0, 1.0]
    antsreg_gpu.write_transform(tmp_path / "start.txt", start)
    result = antsreg_gpu.register(pair.fixed, pair.moving, "rigid", initial=start, device="cpu")
    compare(tmp_path, pair, result, ["-t", "rigid", "--initial-transform", tmp_path / "start.txt"])


def test_whatever_an_image_is_given_as(pair: Pair) -> None:
    def load(path: Path) -> Any:
        return nib.load(path)

    def arrays(path: Path) -> Any:
        image = nib.load(path)
        return np.ascontiguousarray(image.get_fdata()), image.affine

    def strided(path: Path) -> Any:
        image = nib.load(path)
        wide = np.repeat(np.asarray(image.dataobj, dtype=np.float32), 2, axis=1)
        return wide[:, ::2], image.affine

    found = [
        antsreg_gpu.register(read(pair.fixed), read(pair.moving), levels=FAST, device="cpu")
        for read in (str, load, arrays, strided)
    ]
    for other in found[1:]:
        assert np.array_equal(found[0].affine, other.affine)
        assert found[0].warp is not None and np.array_equal(found[0].warp, other.warp)
        assert np.array_equal(found[0].warped.get_fdata(), other.warped.get_fdata())


def test_many_are_as_one_by_one(pair: Pair) -> None:
    movings = [pair.moving, nib.load(pair.fixed), pair.moving]
    fixed = antsreg_gpu.Fixed(pair.fixed, levels=FAST, syn=STEP, device="cpu")
    one_by_one = [fixed.register(moving) for moving in movings]
    many = list(antsreg_gpu.register_many(pair.fixed, movings, levels=FAST, syn=STEP, device="cpu", workers=2))
    alone = antsreg_gpu.register(pair.fixed, pair.moving, levels=FAST, syn=STEP, device="cpu")
    assert len(many) == 3
    for a, b in zip(one_by_one, many):
        assert np.array_equal(a.affine, b.affine)
        assert a.warp is not None and np.array_equal(a.warp, b.warp)
    assert alone.warp is not None and np.array_equal(alone.warp, many[0].warp)
    assert not np.array_equal(many[0].warp, many[1].warp)
