"""What raw scans need before they are registered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional, Union

from . import _native
from ._images import ImageLike, SpatialImage, made, read
from ._options import _json


class BiasCorrection(NamedTuple):
    """An image without the shading of its coil."""

    #: The image divided by the field.
    image: SpatialImage
    #: The factor at each voxel by which the image was shaded.
    field: SpatialImage


def bias_correct(
    image: ImageLike,
    mask: Optional[ImageLike] = None,
    *,
    weights: Optional[ImageLike] = None,
    shrink_factor: int = 4,
    iterations: Sequence[int] = (50, 50, 50, 50),
    threshold: float = 1e-7,
    splines: Union[float, Sequence[int]] = 200.0,
    bins: int = 200,
    fwhm: float = 0.15,
    noise: float = 0.01,
    rescale: bool = False,
) -> BiasCorrection:
    """Removes the shading of an image by N4 (Tustison et al. 2010), as the command ``antsreg-gpu bias``.

    Parameters
    ----------
    image : image
        What is corrected.
    mask : image, optional
        Voxels that count and are corrected: above 0.5, on the grid of the image. Without it all above zero count, and all are
        corrected.
    weights : image, optional
        How much each voxel counts, from 0, on the grid of the image.
    shrink_factor : int
        The field is found on every so manieth voxel along each axis.
    iterations : sequence of int
        Most iterations of each level; each has a mesh twice as fine as the one before.
    threshold : float
        A level ends when the coefficient of variation of the field's change is below.
    splines : float or three ints
        The coarsest level's distance of splines, mm, or its number of mesh elements along each axis.
    bins, fwhm, noise
        Bins of the histogram of logarithms, width at half maximum of the Gaussian that is deconvolved from it, and noise of the
        Wiener filter that does so.
    rescale : bool
        Whether voxels in the mask are scaled to the range that they had.

    Returns
    -------
    BiasCorrection
        The corrected image and the field.

    Examples
    --------
    >>> import numpy as np
    >>> ramp = 100.0 + np.indices((32, 32, 32)).sum(axis=0).astype(np.float32)
    >>> found = bias_correct((ramp, np.eye(4)), iterations=(2,))
    >>> found.image.shape
    (32, 32, 32)
    """
    mesh = {"elements": [int(n) for n in splines]} if isinstance(splines, Sequence) else {"distance-mm": float(splines)}
    options = {"shrink": shrink_factor, "iterations": list(iterations), "threshold": threshold, "mesh": mesh}
    options = {**options, "bins": bins, "fwhm": fwhm, "noise": noise}
    return corrected(image, mask, weights, options, rescale)


def corrected(
    image: ImageLike,
    mask: Optional[ImageLike],
    weights: Optional[ImageLike],
    options: dict[str, Any],
    rescale: bool,
) -> BiasCorrection:
    """A correction by options as the library names them; those that are not given have their defaults."""
    given = read(image, "the image")
    voxels = None if mask is None else read(mask, "the mask")
    shares = None if weights is None else read(weights, "the weights")
    found = _native.bias_correct(given, voxels, shares, _json(options), rescale)
    return BiasCorrection(*(made(part.array, part.affine) for part in found))
