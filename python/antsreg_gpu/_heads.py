"""Preparation of raw scans before registration: N4 bias field correction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional, Union

from . import _native
from ._images import ImageLike, SpatialImage, made, read
from ._options import _json


class BiasCorrection(NamedTuple):
    """The result of a bias field correction."""

    #: The corrected image: the input divided by the bias field.
    image: SpatialImage
    #: The bias field: at each voxel the factor by which the coil's shading multiplied the image.
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
    device: str = "auto",
) -> BiasCorrection:
    """Corrects the shading of an image by N4 (Tustison et al. 2010), as the command ``antsreg-gpu bias`` does.

    Parameters
    ----------
    image : image
        The image to be corrected.
    mask : image, optional
        Mask on the grid of the image: only voxels with a mask value above 0.5 are used and corrected. Without a mask,
        voxels above zero are used to find the field, and all voxels are corrected.
    weights : image, optional
        Weight of each voxel, at least 0, on the grid of the image.
    shrink_factor : int
        Subsampling for the estimation of the field: 4 uses every fourth voxel along each axis.
    iterations : sequence of int
        Largest number of iterations on each level, coarse to fine. Each level halves the spacing of the spline mesh.
    threshold : float
        A level ends when the coefficient of variation of the change of the field falls below this value.
    splines : float or three ints
        Spacing of the B-spline control points on the coarsest level, mm; or three numbers of mesh elements, one for
        each axis.
    bins, fwhm, noise
        Number of bins of the histogram of log intensities, full width at half maximum of the Gaussian that is
        deconvolved from the histogram, and noise term of the Wiener filter for this deconvolution.
    rescale : bool
        Whether the corrected intensities in the mask are scaled to their original range.
    device : str
        Device that computes: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.

    Returns
    -------
    BiasCorrection
        The corrected image and the bias field.

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
    return corrected(image, mask, weights, options, rescale, device)


def corrected(
    image: ImageLike,
    mask: Optional[ImageLike],
    weights: Optional[ImageLike],
    options: dict[str, Any],
    rescale: bool,
    device: str = "auto",
) -> BiasCorrection:
    """Corrects an image with options in the library's own names and units. Missing options have their defaults."""
    given = read(image, "the image")
    voxels = None if mask is None else read(mask, "the mask")
    shares = None if weights is None else read(weights, "the weights")
    found = _native.bias_correct(given, voxels, shares, _json(options), rescale, device)
    return BiasCorrection(*(made(part.array, part.affine) for part in found))
