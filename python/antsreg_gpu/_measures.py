"""Measures of results (overlap, differences, folds), and the devices and threads of this machine."""

from __future__ import annotations

import html
import importlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union

from . import _native
from ._images import ImageLike, SpatialImage, made, read, read_labels, with_mask
from ._names import label_names
from ._transforms import TransformLike, chain_of


class Measures(NamedTuple):
    """Overlap of the label map ``source`` with the true label map ``target``. A measure that is not defined is NaN."""

    #: Target overlap: number of voxels with the label in both maps, divided by the number in the target.
    target_overlap: float
    #: Jaccard index: volume of the intersection divided by the volume of the union.
    jaccard: float
    #: Dice coefficient: twice the volume of the intersection divided by the sum of both volumes.
    dice: float
    #: Volume similarity: 2 (S − T) / (S + T), where S and T are the volumes of the label in source and target.
    volume_similarity: float
    #: False negative rate: share of the voxels with the label in the target that do not have this label in the source.
    false_negative: float
    #: False positive rate: share of the voxels without the label in the target that have this label in the source.
    false_positive: float


class Overlap(NamedTuple):
    """Overlap of two label maps, for each label and in total."""

    #: The overlap measures (such as Dice) of each label.
    labels: dict[int, Measures]
    #: The overlap measures over all labels together: the voxel counts of all labels are added, then the measures are
    #: computed.
    total: Measures
    #: The mean of each overlap measure (such as Dice) over the labels.
    mean: Measures
    #: Names of labels, where they are known.
    names: Optional[Mapping[int, str]] = None

    @property
    def table(self) -> Any:
        """The measures as a DataFrame of pandas, which must be installed: a row for each label.

        The first column has the names of the labels, if any are known.
        """
        pandas: Any = importlib.import_module("pandas")
        rows = {label: measures._asdict() for label, measures in self.labels.items()}
        table = pandas.DataFrame.from_dict(rows, orient="index", columns=list(Measures._fields))
        if self.names:
            table.insert(0, "name", [self.names.get(label, "") for label in rows])
        return table.rename_axis("label")

    def _repr_html_(self) -> str:
        """An HTML table of the measures, which notebooks display."""
        named = [*((self._shown(label), measures) for label, measures in self.labels.items()), ("mean", self.mean)]
        head = "".join(f"<th>{name}</th>" for name in ("label", *Measures._fields))
        rows = (f"<th>{name}</th>" + "".join(f"<td>{value:.4f}</td>" for value in values) for name, values in named)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><tr>{head}</tr>{body}</table>"

    def _shown(self, label: int) -> str:
        name = (self.names or {}).get(label)
        return str(label) if name is None else f"{label} {html.escape(name)}"


class Comparison(NamedTuple):
    """Differences of two images on one grid."""

    #: Number of compared voxels.
    voxels: int
    #: Root mean square of the differences.
    root_mean_square: float
    #: Mean absolute difference.
    mean_absolute: float
    #: Largest absolute difference.
    largest_absolute: float
    #: Pearson's correlation.
    correlation: float


class Jacobian(NamedTuple):
    """Jacobian determinants of a warp. Where the warp folds, a determinant is 0 or negative.

    A determinant above 1 means that the structures are larger in the moving image.
    """

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
    #: Number of voxels at which the warp folds: the Jacobian determinant by central differences is not positive.
    folded: int
    #: Smallest Jacobian determinant by one-sided differences. A warp is trilinear inside each cell (a box with eight
    #: voxels as corners); these are its determinants at the corners of the cells.
    corner_minimum: float
    #: Number of voxels at which the warp folds by a stricter measure: a Jacobian determinant by one-sided differences
    #: is not positive.
    corner_folded: int
    #: Standard deviation of the natural logarithm of the determinants (SDlogJ): low for a smooth warp.
    sd_log: float
    #: Share of the voxels whose volume changes by more than a factor of two, 0 to 1.
    outside: float


def overlap(
    source: ImageLike,
    target: ImageLike,
    labels: Optional[Sequence[int]] = None,
    *,
    names: Union[None, str, os.PathLike[str], Mapping[int, str]] = None,
) -> Overlap:
    """Overlap of two label maps on one grid, by the formulas of ANTs' LabelOverlapMeasures.

    Parameters
    ----------
    source, target : label map
        The label map that is evaluated, and the true label map.
    labels : list of int, optional
        Labels that are compared; by default all except 0.
    names : path or mapping, optional
        Names of the labels, as for `label_names`.

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
    return Overlap(each, Measures(*total), Measures(*mean), None if names is None else label_names(names))


def compare(first: ImageLike, second: ImageLike, mask: Optional[ImageLike] = None) -> Comparison:
    """Compares two images on one grid, as the command ``antsreg-gpu compare`` does.

    Parameters
    ----------
    first, second : image
        The images.
    mask : image, optional
        Mask on the grid of the first image: only voxels above 0.5 are compared. The first image may be a
        masked array instead.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.arange(64, dtype=np.float32).reshape(4, 4, 4)
    >>> compare((a, np.eye(4)), (a + 1, np.eye(4))).mean_absolute
    1.0
    """
    first, mask = with_mask(first, mask, "the first image")
    where = None if mask is None else read(mask, "the mask")
    return Comparison(*_native.compare(read(first, "the first image"), read(second, "the second image"), where))


def jacobian(warp: TransformLike) -> Jacobian:
    """Jacobian determinants of a warp at its voxels, and their statistics.

    ``warp`` is a file, a pair (vectors X×Y×Z×3 in RAS mm, voxel-to-world matrix), or a `Transform` that holds one warp.

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
    """Lists the devices of this machine: the CPU, then every NVIDIA GPU that can be used.

    The value of ``device`` in each dictionary is the name for the argument ``device=`` of other functions.

    Examples
    --------
    >>> devices()[0]["device"]
    'cpu'
    """
    return _native.devices()


def why_no_gpu() -> Optional[str]:
    """The reason why no GPU can be used; None if a GPU can be used."""
    return _native.why_no_gpu()


def release_devices() -> None:
    """Closes GPUs on which no registration runs, and frees the memory that is kept for the next registration.

    The next registration opens its device again, which takes up to half a second. The memory of a `Fixed` is not freed.
    """
    _native.release_devices()


def threads() -> int:
    """Number of computing threads. The results of registrations do not depend on it."""
    return _native.threads()


def set_threads(count: int) -> None:
    """Sets the number of computing threads to ``count``, at least 1. Must be called before anything is computed."""
    _native.set_threads(count)
