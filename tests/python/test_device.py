"""Tests of results that stay in a device's memory.

The device is the CPU here; scripts/python_gpu.py tests the same on a GPU.
"""

from __future__ import annotations

import numpy as np
import pytest
from conftest import Pair

import antsreg_gpu

FAST = {"iterations": [6], "shrink_factors": [2], "smoothing_sigmas": [1.0]}


@pytest.fixture(scope="module")
def both(pair: Pair) -> tuple[antsreg_gpu.Registration, antsreg_gpu.Registration]:
    kept = antsreg_gpu.register(pair.fixed, pair.moving, levels=FAST, device="cpu", output="device")
    return kept, antsreg_gpu.register(pair.fixed, pair.moving, levels=FAST, device="cpu")


def test_kept_results_are_those_of_main_memory(
    both: tuple[antsreg_gpu.Registration, antsreg_gpu.Registration],
) -> None:
    kept, usual = both
    assert np.array_equal(kept.affine, usual.affine) and kept.warnings == usual.warnings
    for name in ("warp", "inverse_warp"):
        lent = np.from_dlpack(getattr(kept.on_device, name))
        assert lent.dtype == np.float32 and np.array_equal(lent, getattr(usual, name))
        assert np.array_equal(getattr(kept, name), getattr(usual, name))
    similarity = kept.record["similarity"]
    assert similarity["correlation"] == pytest.approx(usual.record["similarity"]["correlation"], abs=1e-4)
    assert np.array_equal(kept.transform_points([[1.0, 2.0, 3.0]]), usual.transform_points([[1.0, 2.0, 3.0]]))


def test_kept_images_lie_on_their_grids(both: tuple[antsreg_gpu.Registration, antsreg_gpu.Registration]) -> None:
    kept, usual = both
    for name in ("warped", "inverse_warped"):
        lent, expected = np.from_dlpack(getattr(kept.on_device, name)), getattr(usual, name).get_fdata()
        # Images that stay on the device are computed in single precision, images in main memory in double precision.
        assert lent.shape == expected.shape and np.abs(lent - expected).max() < 2e-3 * expected.max()


def test_lent_arrays_outlive_what_lent_them(pair: Pair) -> None:
    fixed = antsreg_gpu.Fixed(pair.fixed, levels=FAST, device="cpu")
    kept = fixed.register(pair.moving, output="device")
    lender = kept.on_device.warp
    assert lender is not None and lender.__dlpack_device__() == (1, 0)
    lent, unused = np.from_dlpack(lender), lender.__dlpack__()
    before = lent.copy()
    del kept, fixed, lender, unused
    np.random.default_rng(0).random(10_000_000)
    assert np.array_equal(lent, before)


def test_slices_have_two_axes(slices: Pair) -> None:
    kept = antsreg_gpu.register(slices.fixed, slices.moving, "rigid", device="cpu", output="device")
    assert kept.on_device.warp is None
    assert np.from_dlpack(kept.on_device.warped).shape == kept.warped.shape


def test_refusals(pair: Pair) -> None:
    with pytest.raises(antsreg_gpu.OptionError, match="output: expected host or device"):
        antsreg_gpu.register(pair.fixed, pair.moving, "rigid", output="torch")
    found = antsreg_gpu.register(pair.fixed, pair.moving, "translation", device="cpu")
    with pytest.raises(antsreg_gpu.OptionError, match="output"):
        _ = found.on_device.warp
    kept = antsreg_gpu.register(pair.fixed, pair.moving, "translation", device="cpu", output="device")
    warped = kept.on_device.warped
    assert warped is not None
    with pytest.raises(BufferError):
        warped.__dlpack__(dl_device=(2, 0))
