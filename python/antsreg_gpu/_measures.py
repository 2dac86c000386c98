"""How far label maps agree, and where a warp folds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from . import _native
from ._images import ImageLike, SpatialImage, made, read_labels
from ._transforms import TransformLike, chain_of


class Measures(NamedTuple):
    """Overlap of two label maps; a measure is NaN where it does not exist. ``source`` is judged, ``target`` is the truth."""

    #: The overlap divided by the target.
    target_overlap: float
    #: The overlap divided by the union (Jaccard).
    jaccard: float
    #: Twice the overlap divided by the sum of both volumes (Dice).
    dice: float
    #: 2 (source − target) / (source + target).
    volume_similarity: float
    #: Share of the target that the source misses.
    false_negative: float
    #: Share of what is not target that the source claims.
    false_positive: float


class Overlap(NamedTuple):
    """Overlap of two label maps."""

    #: The overlap of each label.
    labels: dict[int, Measures]
    #: The overlap of all labels together.
    total: Measures
    #: The mean over labels.
    mean: Measures


class Jacobian(NamedTuple):
    """Determinants of a warp: above 1 the moving image is larger there, at 0 and below the warp folds."""

    #: The determinants.
    image: SpatialImage
    #: Voxels.
    voxels: int
    #: Smallest determinant.
    minimum: float
    #: Largest determinant.
    maximum: float
    #: Mean determinant.
    mean: float
    #: Voxels whose determinant is not positive.
    folded: int
    #: Smallest determinant by one-sided differences: at a corner of a trilinear cell.
    corner_minimum: float
    #: Voxels where any of those is not positive: the strict count of folds.
    corner_folded: int


def overlap(source: ImageLike, target: ImageLike, labels: Optional[Sequence[int]] = None) -> Overlap:
    """Overlap of two label maps on one grid, by the formulas of ANTs' LabelOverlapMeasures.

    Parameters
    ----------
    source, target : label map
        What is judged, and the truth.
    labels : list of int, optional
        Labels that count; by default all but 0.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.zeros((4, 4, 4), dtype=np.int32); a[:2] = 1
    >>> b = np.zeros((4, 4, 4), dtype=np.int32); b[:3] = 1
    >>> round(overlap((a, np.eye(4)), (b, np.eye(4))).mean.dice, 3)
    0.8
    """
    only = None if labels is None else [int(label) for label in labels]
    rows, total, mean = _native.overlap(read_labels(source, "the source"), read_labels(target, "the target"), only)
    each = {label: Measures(*measures) for label, measures in rows if label is not None}
    return Overlap(each, Measures(*total), Measures(*mean))


def jacobian(warp: TransformLike) -> Jacobian:
    """Determinants of a warp: a file, (vectors X×Y×Z×3 in RAS mm, voxel-to-world matrix), or a `Transform` of one warp.

    Examples
    --------
    >>> import numpy as np
    >>> still = jacobian((np.zeros((4, 4, 4, 3), dtype=np.float32), np.eye(4)))
    >>> still.mean, still.folded
    (1.0, 0)
    """
    image, numbers = _native.jacobian(chain_of(warp, "the warp"))
    return Jacobian(made(image.array, image.affine), *numbers)


def devices() -> list[dict[str, Any]]:
    """The devices of this machine: the CPU, then every NVIDIA GPU that can be used, by the name that ``device=`` takes.

    Examples
    --------
    >>> devices()[0]["device"]
    'cpu'
    """
    return _native.devices()


def why_no_gpu() -> Optional[str]:
    """Why no GPU can be used, or None where one can."""
    return _native.why_no_gpu()


def release_devices() -> None:
    """Releases GPUs that nothing runs on, with the memory that is kept for the next registration. A `Fixed` keeps its own.

    The next registration opens its device again, which takes up to half a second.
    """
    _native.release_devices()


def threads() -> int:
    """Threads that compute. No result depends on their number."""
    return _native.threads()


def set_threads(count: int) -> None:
    """Sets the number of threads that compute, before anything is computed."""
    _native.set_threads(count)
