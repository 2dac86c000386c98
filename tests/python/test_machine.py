"""Tests of the functions about devices and threads of this machine, and of the progress bar."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import types
from typing import Any

import numpy as np
import pytest
from conftest import Pair
from matplotlib import pyplot

import antsreg_gpu
from antsreg_gpu import _progress
from antsreg_gpu._picture import picture


def alone(text: str, *words: object) -> Any:
    """Runs a Python program in a process of its own and returns what it prints, as JSON."""
    done = subprocess.run([sys.executable, "-c", text, *map(str, words)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_devices_are_those_that_can_be_used(pair: Pair) -> None:
    found = antsreg_gpu.devices()
    assert found[0] == {"device": "cpu"}
    gpus = [device["device"] for device in found[1:]]
    assert gpus == [f"cuda:{n}" for n in range(len(gpus))]
    reason = antsreg_gpu.why_no_gpu()
    assert (reason is None) == bool(gpus)
    if reason is None:
        assert all(device["memory_bytes"] > 0 and device["name"] for device in found[1:])
    else:
        with pytest.raises(antsreg_gpu.DeviceError) as raised:
            antsreg_gpu.register(pair.fixed, pair.moving, device="cuda")
        assert reason in str(raised.value)


def test_without_visible_gpus_there_is_a_reason() -> None:
    text = (
        "import json, os; os.environ['CUDA_VISIBLE_DEVICES'] = ''; import antsreg_gpu; "
        "print(json.dumps([antsreg_gpu.devices(), antsreg_gpu.why_no_gpu()]))"
    )
    devices, reason = alone(text)
    assert devices == [{"device": "cpu"}] and isinstance(reason, str) and reason


def test_the_number_of_threads_is_set_once_and_changes_no_result(pair: Pair) -> None:
    text = """
import json, sys, warnings
import antsreg_gpu
warnings.simplefilter("ignore")
refused = []
for count in (0, int(sys.argv[3]), 2):
    try:
        antsreg_gpu.set_threads(count)
    except antsreg_gpu.OptionError as error:
        refused.append(str(error))
found = antsreg_gpu.register(sys.argv[1], sys.argv[2], "affine", device="cpu", no_search=True)
print(json.dumps([antsreg_gpu.threads(), found.record["threads"], found.affine.tolist(), refused]))
"""
    one, three = (alone(text, *pair, count) for count in (1, 3))
    assert one[:2] == [1, 1] and three[:2] == [3, 3]
    assert np.array_equal(one[2], three[2])
    assert one[3][0] == "threads: expected at least 1, found 0" and "before anything is computed" in one[3][1]


def test_pictures_show_the_head_upright() -> None:
    volume = np.zeros((10, 12, 8), dtype=np.float32)
    volume[3:, 4:, 3:] = 1.0
    # Voxels go to the left and backward, so that the bright part is left, behind and above.
    text = picture(volume, np.diag([-2.0, -2.0, 4.0, 1.0]))
    data = base64.b64decode(text.split("base64,")[1].rstrip('">'))
    shown = pyplot.imread(io.BytesIO(data))
    assert data.startswith(b"\x89PNG") and shown.shape == (160, 120 + 100 + 133)
    sagittal, coronal, axial = np.split(shown, [120, 220], axis=1)
    assert sagittal[0, 0] == 1 and sagittal[0, -1] == 0 and sagittal[-1, 0] == 0
    assert coronal[0, 0] == 1 and coronal[0, -1] == 0 and coronal[-1, 0] == 0
    assert axial[-1, 0] == 1 and axial[-1, -1] == 0 and axial[0, 0] == 0
    assert text == picture(volume[::-1], np.diag([2.0, -2.0, 4.0, 1.0]))
    assert picture(volume[:, :, 6], np.eye(4)).startswith("<img")
    assert picture(np.zeros((3, 3, 3), dtype=np.float32), np.eye(4)).startswith("<img")


def test_a_notebook_has_one_bar_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []

    class ZMQInteractiveShell:
        """The class of the shell in a notebook."""

    class Handle:
        def update(self, text: str) -> None:
            drawn.append(text)

    display = types.SimpleNamespace(HTML=str, display=lambda shown, display_id: Handle())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=ZMQInteractiveShell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with _progress.Follower(True) as follower:
        assert follower.callback is not None
        follower.callback("syn", "shrink <4>", 1, 3, 7, 100, -0.5)
    assert drawn == ['<progress value="7" max="100"></progress> syn 1/3, shrink &lt;4&gt;: 7/100', ""]
