"""A registration's result without the library's memory: what is left of a result after pickling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from . import _native
from ._errors import OptionError

if TYPE_CHECKING:
    from pathlib import Path

#: The transforms of a sequence: an affine (4×4), or the vectors of a warp with their voxel-to-world matrix.
Steps = list[Any]


class Kept:
    """The arrays, transforms and record of a registration's result."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)

    @classmethod
    def of(cls, native: Any) -> Kept:
        """Copies everything that is kept of a result."""
        names = ("affine", "start", "warp", "inverse_warp", "warped", "inverse_warped", "warnings", "verdict")
        parts = {name: getattr(native, name) for name in names}
        for name in ("warp", "inverse_warp", "warped", "inverse_warped"):
            parts[name] = None if parts[name] is None else np.array(parts[name])
        for side in ("fixed", "moving"):
            space = getattr(native, f"{side}_space")
            parts[f"_{side}"] = (list(space.shape), space.affine)
        for direction in ("forward", "backward"):
            parts[f"_{direction}"] = steps_of(getattr(native, direction))
        determinants = native.jacobian()
        parts["_jacobian"] = None if determinants is None else (np.array(determinants.array), determinants.affine)
        parts["_record"] = native.record()
        return cls(**parts)

    @property
    def fixed_space(self) -> _native.Space:
        """The grid of the fixed image."""
        shape, affine = self.__dict__["_fixed"]
        return _native.Space(shape, affine, "the fixed image")

    @property
    def moving_space(self) -> _native.Space:
        """The grid of the moving image."""
        shape, affine = self.__dict__["_moving"]
        return _native.Space(shape, affine, "the moving image")

    @property
    def forward(self) -> _native.Chain:
        """The transform from fixed to moving points."""
        return chain_of_steps(self.__dict__["_forward"])

    @property
    def backward(self) -> _native.Chain:
        """The transform from moving to fixed points."""
        return chain_of_steps(self.__dict__["_backward"])

    def jacobian(self) -> Optional[_native.Image]:
        """Jacobian determinants of the warp."""
        found = self.__dict__["_jacobian"]
        if found is None:
            return None
        array, affine = found
        return _native.Image.copy(array, affine, "the determinants")

    def record(self) -> str:
        """The record as JSON."""
        return str(self.__dict__["_record"])

    def on_device(self, name: str) -> None:
        """No arrays are in the memory of a device."""

    def save(self, *_: Any) -> list[Path]:
        """Files can be written by the original result only."""
        raise OptionError("save: an unpickled result cannot write files; call save before pickling")

    def report(self, *_: Any) -> None:
        """Pages can be written by the original result only."""
        raise OptionError("report: an unpickled result cannot write pages; call report before pickling")


class KeptSeries:
    """The motion of a series, and its corrected volumes."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)

    @classmethod
    def of(cls, native: Any, count: int) -> KeptSeries:
        """Copies everything that is kept of a result with ``count`` volumes."""
        parts = {name: getattr(native, name) for name in ("affines", "table", "failed", "unlike")}
        images = [native.mean(), *(native.corrected(index) for index in range(count))]
        parts["_images"] = [np.array(image.array) for image in images]
        parts["_affine"] = images[0].affine
        return cls(**parts)

    def mean(self) -> _native.Image:
        """The mean of the corrected volumes."""
        return self._image(0)

    def corrected(self, index: int) -> _native.Image:
        """The corrected volume with this number, counted from 0."""
        return self._image(1 + index)

    def _image(self, number: int) -> _native.Image:
        return _native.Image.copy(self.__dict__["_images"][number], self.__dict__["_affine"], "a corrected volume")

    def save(self, *_: Any) -> list[Path]:
        """Files can be written by the original result only."""
        raise OptionError("save: an unpickled result cannot write files; call save before pickling")


def steps_of(chain: _native.Chain) -> Steps:
    """The transforms of a sequence as arrays."""
    steps: Steps = []
    for step, kind in enumerate(chain.kinds):
        space = chain.space(step)
        if kind == "warp" and space is not None:
            steps.append((np.array(chain.vectors(step)), space.affine))
        else:
            steps.append(chain.affine(step))
    return steps


def chain_of_steps(steps: Steps) -> _native.Chain:
    """The sequence of these transforms."""
    chains = [
        _native.Chain.of_warp(step[0], step[1], "a warp")
        if isinstance(step, tuple)
        else _native.Chain.of_affine(step, False, "an affine")
        for step in steps
    ]
    return _native.Chain.joined(chains)
