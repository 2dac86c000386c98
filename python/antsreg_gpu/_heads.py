"""Preparation of raw scans before registration: N4 bias field correction and brain extraction."""

from __future__ import annotations

import html
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional, Union

from . import _native
from ._errors import InputError, OptionError, ResultWarning
from ._images import ImageLike, kind_of, made, parts, read, with_mask
from ._options import _json
from ._picture import picture
from ._progress import Follower, Progress, log
from ._verdict import Verdict


class BiasCorrection(NamedTuple):
    """The result of a bias field correction."""

    #: The corrected image: the input divided by the bias field.
    image: Any
    #: The bias field: at each voxel the factor by which the coil's shading multiplied the image.
    field: Any


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
    image, mask = with_mask(image, mask, "the image")
    given = read(image, "the image")
    voxels = None if mask is None else read(mask, "the mask")
    shares = None if weights is None else read(weights, "the weights")
    found = _native.bias_correct(given, voxels, shares, _json(options), rescale, device)
    return BiasCorrection(*(made(part.array, part.affine, kind_of(image)) for part in found))


class Brain(NamedTuple):
    """The brain that was found in an image of a head."""

    #: The image of the head with 0 outside the brain.
    image: Any
    #: The mask of the brain: 1 in the brain, else 0.
    mask: Any
    #: The probability of each voxel to be brain, 0 to 1.
    probability: Any
    #: Volume of the brain, cm³; measured on a finer grid if the voxels of the image are large.
    volume_cm3: float
    #: Contrast of the template that is most similar to the image.
    contrast: str
    #: Correlation of the image with the registered template near the brain.
    correlation: float
    #: Overlap (Dice) of the brain before and after its border was moved.
    agreement: float
    #: Surface of the brain divided by the surface of a ball of the same volume.
    surface_ratio: float
    #: Warnings that the brain may be wrong.
    warnings: list[str]
    #: Whether the brain mask is right.
    verdict: Optional[Verdict]

    def _repr_html_(self) -> str:
        """The measures, and slices of the brain, which notebooks display."""
        array, affine, _ = parts(self.image, "the brain")
        rows = [("Volume", f"{self.volume_cm3:.0f} cm³"), ("Template", self.contrast)]
        rows += [("Verdict", self.verdict.judgement)] if self.verdict is not None else []
        rows += [("Warning", html.escape(text)) for text in self.warnings]
        cells = "".join(f"<tr><th>{name}</th><td>{text}</td></tr>" for name, text in rows)
        return f"<table>{cells}</table>{picture(array, affine)}"


def brain(
    image: ImageLike,
    *,
    contrast: str = "auto",
    template: Optional[tuple[ImageLike, ImageLike]] = None,
    device: str = "auto",
    progress: Progress = None,
) -> Brain:
    """Extracts the brain from an image of a head, as the command ``antsreg-gpu brain`` does.

    Parameters
    ----------
    image : image
        The image of a head.
    contrast : str
        Contrast of the built-in template: ``auto``, ``t1``, ``t2``, ``pd`` or ``flair``.
    template : pair of images, optional
        Another template: an image of a head, and the mask of its brain on the same grid.
    device, progress
        As for `register`.

    Returns
    -------
    Brain
        Images of the brain, in the type of the given image, and measures.

    Examples
    --------
    >>> found = brain("head.nii.gz")  # doctest: +SKIP
    >>> found.volume_cm3  # doctest: +SKIP
    """
    given = read(image, "the image")
    pair = None
    if template is not None:
        if contrast != "auto":
            raise OptionError("contrast: it belongs to the built-in template; leave contrast or template out")
        pair = (read(template[0], "the template"), read(template[1], "the mask of the template"))
    with Follower(progress) as follower:
        images, measures, note = _native.extract_brain(given, pair, contrast, device, follower.callback)
    log(note)
    alone, mask, probability = (made(part.array, part.affine, kind_of(image)) for part in images)
    volume, modality, correlation, agreement, surface, texts, verdict = measures
    found = Brain(
        alone, mask, probability, volume, modality, correlation, agreement, surface, texts, Verdict._of(verdict)
    )
    for text in found.warnings:
        warnings.warn(text, ResultWarning, stacklevel=2)
    return found
