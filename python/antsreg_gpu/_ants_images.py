"""Images and lists of transforms in ANTsPy's forms."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np

from ._errors import ContentWarning, Error
from ._images import kind_of, made, parts, read

#: One file of a transform, or several.
Files = Union[str, Sequence[str]]


class Unsupported(Error, NotImplementedError):
    """Raised for an argument of ANTsPy that this package does not support."""


def accepted(image: Any, name: str) -> Any:
    """An image in a form that this package accepts."""
    if isinstance(image, (str, os.PathLike)):
        return image
    array, affine, _ = parts(image, name)
    return array, affine


def to_register(image: Any, name: str) -> Any:
    """An image to be registered. ANTs also registers label maps and masks, so they are accepted with a warning."""
    found, warning = read(accepted(image, name), f"the {name} image").accepting_labels()
    if warning is not None:
        warnings.warn(warning, ContentWarning, stacklevel=3)
    return found


def like(wanted: Any, image: Any) -> Any:
    """Converts a result to an ANTsImage if the image ``wanted`` is an ANTsImage."""
    if kind_of(wanted) != "ants":
        return image
    return made(np.asarray(image.dataobj), image.affine, "ants")


def named(transformlist: Files, whichtoinvert: Optional[Sequence[bool]]) -> list[str]:
    """The transforms of a list as names, ``[FILE,1]`` for one that is inverted.

    As in ANTsPy, in a list (affine, warp) the affine is inverted if nothing else is said.
    """
    files = [transformlist] if isinstance(transformlist, str) else list(transformlist)
    affines = [name for name in files if not name.endswith((".nii", ".nii.gz"))]
    if whichtoinvert is None:
        backward = len(files) == 2 and files[0] in affines and files[1] not in affines
        whichtoinvert = [backward and n == 0 for n in range(len(files))]
    if len(whichtoinvert) != len(files):
        raise Unsupported(f"whichtoinvert has {len(whichtoinvert)} values, expected {len(files)}")
    return [f"[{name},1]" if inverted else name for name, inverted in zip(files, whichtoinvert)]
