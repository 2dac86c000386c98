"""Tests which symbols the native module offers to other libraries of the process."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from antsreg_gpu import _native


def test_no_name_of_the_driver_is_offered_to_others() -> None:
    if shutil.which("nm") is None:
        pytest.fail("nm is missing: install binutils")
    words = ["nm", "-D", "--defined-only", _native.__file__]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert {line.split()[-1] for line in told.splitlines()} == {"PyInit__native"}
