"""Tests that the documentation of the package is complete."""

from __future__ import annotations

import inspect
import types
from typing import Any

import pytest

import antsreg_gpu
import antsreg_gpu.ants as engine


def public(module: types.ModuleType) -> list[tuple[str, Any]]:
    """The public functions and classes of a module, and the methods of its classes, with their names."""
    found: list[tuple[str, Any]] = []
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value):
            methods = [(f"{name}.{part}", method) for part, method in vars(value).items() if not part.startswith("_")]
            found += [(part, method) for part, method in methods if inspect.isfunction(method) or isinstance(method, property)]
        if inspect.isclass(value) or inspect.isfunction(value):
            found.append((name, value))
    return found


@pytest.mark.parametrize("module", [antsreg_gpu, engine], ids=lambda module: module.__name__)
def test_everything_public_is_described(module: types.ModuleType) -> None:
    undescribed = [name for name, value in public(module) if not inspect.getdoc(value)]
    # The protocol of images has the names of nibabel, whose documentation describes them.
    assert [name for name in undescribed if not name.startswith("SpatialImage.")] == []


@pytest.mark.parametrize("module", [antsreg_gpu, engine], ids=lambda module: module.__name__)
def test_every_argument_is_described(module: types.ModuleType) -> None:
    missing = []
    for name, value in public(module):
        if not inspect.isfunction(value):
            continue
        text = inspect.getdoc(value) or ""
        # A function that takes the arguments of another one names that function.
        if "arguments are those of" in text:
            continue
        names = [argument for argument in inspect.signature(value).parameters if argument != "self"]
        missing += [f"{name}: {argument}" for argument in names if argument not in text]
    assert missing == []
