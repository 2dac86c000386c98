"""Functions with the signatures of ANTsPy, computed by this package.

>>> import antsreg_gpu.ants as ants  # doctest: +SKIP
>>> found = ants.registration(fixed, moving, type_of_transform="SyN")  # doctest: +SKIP

Results have ANTsPy's form: images are ANTsImages if the inputs were ANTsImages, and transforms are files. An argument
that this package does not support raises `Unsupported` with the argument's name.
"""

from __future__ import annotations

import importlib
import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np

from ._ants_images import Files, Unsupported, accepted, like, named, to_register
from ._ants_more import apply_transforms_to_points, motion_correction
from ._heads import corrected
from ._images import kind_of, made, parts, space_of
from ._measures import jacobian, overlap
from ._registration import register
from ._transforms import apply, write_transform

__all__ = [
    "Unsupported",
    "apply_transforms",
    "apply_transforms_to_points",
    "create_jacobian_determinant_image",
    "label_overlap_measures",
    "motion_correction",
    "n4_bias_field_correction",
    "registration",
]


#: For each ``type_of_transform`` the model, and the metric of the deformable stage.
_TYPES: dict[str, tuple[str, Optional[str]]] = {
    "Translation": ("translation", None),
    "Rigid": ("rigid", None),
    "QuickRigid": ("rigid", None),
    "DenseRigid": ("rigid", None),
    "BOLDRigid": ("rigid", None),
    "Similarity": ("similarity", None),
    "Affine": ("affine", None),
    "AffineFast": ("affine", None),
    "TRSAA": ("affine", None),
    "BOLDAffine": ("affine", None),
    "SyN": ("syn", "mattes"),
    "SyNRA": ("syn", "mattes"),
    "SyNAggro": ("syn", "mattes"),
    "SyNLessAggro": ("syn", "mattes"),
    "SyNCC": ("syn", "cc"),
    "SyNabp": ("syn", "mattes"),
    "SyNBold": ("syn", "cc"),
    "SyNBoldAff": ("syn", "cc"),
    "SyNOnly": ("syn-only", "mattes"),
    "antsRegistrationSyN[s]": ("syn", "cc"),
    "antsRegistrationSyN[a]": ("affine", None),
    "antsRegistrationSyN[r]": ("rigid", None),
    "antsRegistrationSyN[t]": ("translation", None),
    "antsRegistrationSyN[so]": ("syn-only", "cc"),
    "antsRegistrationSyN[sr]": ("syn", "cc"),
    "antsRegistrationSyNQuick[s]": ("syn", "mattes"),
    "antsRegistrationSyNQuick[a]": ("affine", None),
    "antsRegistrationSyNQuick[r]": ("rigid", None),
    "antsRegistrationSyNQuick[t]": ("translation", None),
    "antsRegistrationSyNQuick[so]": ("syn-only", "mattes"),
    "antsRegistrationSyNQuick[sr]": ("syn", "mattes"),
}

_SYN_METRICS = {"mattes": "mattes", "MI": "mattes", "CC": "cc"}
_AFF_METRICS = {"mattes": "mi", "MI": "mi", "GC": "ncc", "meansquares": "lsq"}

#: ANTsPy's default numbers of iterations of SyN. If a call has these numbers, the default of this package is used
#: instead.
_DEFAULT_ITERATIONS = (40, 20, 0)

_INTERPOLATIONS = {
    "linear": "linear",
    "nearestNeighbor": "nearest",
    "gaussian": "gaussian",
    "bSpline": "bspline",
    "cosineWindowedSinc": "cosine-sinc",
    "welchWindowedSinc": "welch-sinc",
    "hammingWindowedSinc": "hamming-sinc",
    "lanczosWindowedSinc": "sinc",
    "blackmanWindowedSinc": "blackman-sinc",
    "genericLabel": "generic-label",
    "multiLabel": "generic-label",
}


def registration(
    fixed: Any,
    moving: Any,
    type_of_transform: str = "SyN",
    initial_transform: Optional[Files] = None,
    outprefix: str = "",
    mask: Any = None,
    moving_mask: Any = None,
    mask_all_stages: bool = False,
    grad_step: float = 0.2,
    flow_sigma: float = 3,
    total_sigma: float = 0,
    aff_metric: str = "mattes",
    aff_sampling: int = 32,
    aff_random_sampling_rate: float = 0.2,
    syn_metric: str = "mattes",
    syn_sampling: int = 32,
    reg_iterations: Sequence[int] = _DEFAULT_ITERATIONS,
    aff_iterations: Any = None,
    aff_shrink_factors: Any = None,
    aff_smoothing_sigmas: Any = None,
    write_composite_transform: bool = False,
    random_seed: Optional[int] = None,
    verbose: bool = False,
    multivariate_extras: Any = None,
    restrict_transformation: Any = None,
    smoothing_in_mm: bool = False,
    singleprecision: bool = True,
    use_legacy_histogram_matching: bool = False,
    **kwargs: Any,
) -> dict[str, Any]:
    """Registers a pair of images, like ``ants.registration``.

    Parameters
    ----------
    fixed, moving : image
        ANTsImages, or any form that `antsreg_gpu.register` accepts.
    type_of_transform : str
        ``SyN``, ``SyNRA``, ``SyNCC``, ``SyNOnly``, ``Affine``, ``Similarity``, ``Rigid``, ``Translation``,
        ``antsRegistrationSyN[s]``, ``antsRegistrationSyNQuick[s]`` and other names of ANTsPy for these models.
    initial_transform : file, optional
        File with an affine, or ``Identity``.
    outprefix : str
        Beginning of the paths of the written transforms; by default in a new temporary folder.
    mask, moving_mask : image, optional
        Masks of the fixed and the moving image, used in the last stage only.
    mask_all_stages : bool
        Whether the masks are used in all stages.
    syn_metric, aff_metric : str
        Metric of SyN (``mattes`` or ``CC``) and of the affine stage (``mattes``, ``GC`` or ``meansquares``). With the
        default ``aff_metric`` the affine stage uses the correlation ratio, the default cost of this package.
    reg_iterations : sequence of int
        Largest number of iterations of SyN on each level, coarse to fine. With ANTsPy's default, the default
        of this package is used instead.
    grad_step, flow_sigma, total_sigma, syn_sampling
        Options of SyN with their meaning in ANTs. Where an option has ANTsPy's default, the default of this
        package is used instead.
    use_legacy_histogram_matching : bool
        Whether the histogram of the moving image is matched to that of the fixed image before SyN, as ITK does it.
    multivariate_extras : list of lists, optional
        Further pairs of images for SyN: (metric, fixed, moving, weight, parameter of the metric), the weight relative
        to the first pair.
    restrict_transformation : sequence of float
        Weights of the displacements along the world axes x, y and z, such as ``(1, 1, 0)``.
    write_composite_transform : bool
        Whether the transforms of each direction are written to one ``.h5`` file.
    aff_iterations, aff_shrink_factors, aff_smoothing_sigmas, aff_sampling
        Without effect, with a warning: this package has its own search for the affine.
    aff_random_sampling_rate, random_seed, singleprecision
        Without effect: all voxels are used, there are no random numbers, and the precision is fixed.
    verbose : bool
        Whether the progress is shown.
    smoothing_in_mm, **kwargs
        Refused: this package has no counterpart.

    Returns
    -------
    dict
        ``warpedmovout`` and ``warpedfixout`` are the warped images. ``fwdtransforms`` and ``invtransforms`` are the
        transforms from fixed to moving points and back, for `apply_transforms`.
    """
    # The results of this package are always reproducible.
    type_of_transform = type_of_transform.replace("Repro[", "[")
    if type_of_transform not in _TYPES:
        raise Unsupported(f"type_of_transform={type_of_transform!r}: expected one of {', '.join(_TYPES)}")
    refused = {
        "smoothing_in_mm": smoothing_in_mm,
        **{name: True for name in kwargs if name != "gradient_step"},
    }
    for name, given in refused.items():
        if given:
            raise Unsupported(f"{name}: antsreg_gpu has no counterpart of this argument")
    replaced = {
        "aff_iterations": aff_iterations is not None,
        "aff_shrink_factors": aff_shrink_factors is not None,
        "aff_smoothing_sigmas": aff_smoothing_sigmas is not None,
        "aff_sampling": aff_sampling != 32,
    }
    for name, given in replaced.items():
        if given:
            warnings.warn(f"{name}: replaced by the search for the affine that antsreg_gpu does", stacklevel=2)
    model, metric = _TYPES[type_of_transform]
    syn: dict[str, Any] = {}
    levels: Optional[dict[str, Any]] = None
    if restrict_transformation is not None:
        syn["restrict"] = _restriction(restrict_transformation, metric is not None)
    if metric is not None:
        if syn_metric not in _SYN_METRICS:
            raise Unsupported(f"syn_metric={syn_metric!r}: expected mattes or CC")
        # Cross-correlation is chosen by the name of the transform or by ``syn_metric``.
        syn["metric"] = "cc" if _SYN_METRICS[syn_metric] == "cc" else metric
        if syn["metric"] == "cc" and syn_sampling != 32:
            syn["radius"] = int(syn_sampling)
        elif syn["metric"] == "mattes" and syn_sampling != 32:
            syn["bins"] = int(syn_sampling)
        if grad_step != 0.2:
            syn["gradient_step"] = float(grad_step)
        if flow_sigma != 3:
            syn["update_variance"] = float(flow_sigma)
        if use_legacy_histogram_matching:
            syn["match_histograms"] = True
        if total_sigma:
            syn["total_variance"] = float(total_sigma)
        if tuple(reg_iterations) != _DEFAULT_ITERATIONS:
            levels = _levels(reg_iterations)
    channels: list[tuple[Any, Any]] = []
    if multivariate_extras is not None:
        channels = _channels(multivariate_extras, syn, metric is not None)
    linear: Optional[dict[str, Any]] = None
    if aff_metric != "mattes" and model != "syn-only":
        if aff_metric not in _AFF_METRICS:
            raise Unsupported(f"aff_metric={aff_metric!r}: expected mattes, GC or meansquares")
        linear = {"cost": _AFF_METRICS[aff_metric]}

    def last_stage(image: Any, name: str) -> Any:
        if image is None:
            return None
        only = mask_all_stages or model != "syn"
        return accepted(image, name) if only else [None, accepted(image, name)]

    found = register(
        to_register(fixed, "fixed"),
        to_register(moving, "moving"),
        model,
        fixed_mask=last_stage(mask, "mask"),
        moving_mask=last_stage(moving_mask, "moving_mask"),
        dof=6 if type_of_transform.endswith("[sr]") else None,
        channels=channels,
        initial=_start(initial_transform),
        syn=syn or None,
        levels=levels,
        linear=linear,
        progress=verbose,
    )
    prefix = outprefix or os.path.join(tempfile.mkdtemp(prefix="antsreg_"), "")
    found.save(prefix, warped=False)
    affine, warp, inverse_warp = (prefix + name for name in ("0GenericAffine.mat", "1Warp.nii.gz", "1InverseWarp.nii.gz"))
    forward: Files
    backward: Files
    forward, backward = ([affine], [affine]) if found.warp is None else ([warp, affine], [affine, inverse_warp])
    if write_composite_transform:
        forward, backward = prefix + "Composite.h5", prefix + "InverseComposite.h5"
        write_transform(forward, found.forward)
        write_transform(backward, found.backward)
    return {
        "warpedmovout": like(fixed, found.warped),
        "warpedfixout": like(fixed, found.inverse_warped),
        "fwdtransforms": forward,
        "invtransforms": backward,
    }


def apply_transforms(
    fixed: Any,
    moving: Any,
    transformlist: Files,
    interpolator: str = "linear",
    imagetype: int = 0,
    whichtoinvert: Optional[Sequence[bool]] = None,
    compose: Optional[str] = None,
    defaultvalue: float = 0,
    singleprecision: bool = False,
    verbose: bool = False,
    **kwargs: Any,
) -> Any:
    """Resamples a moving image on the grid of a fixed image, like ``ants.apply_transforms``.

    Parameters
    ----------
    fixed, moving : image
        The image whose grid the result gets, and the image to be resampled.
    transformlist : file or list of files
        Transforms as `registration` returns them. A point of the fixed image goes through the first transform first.
    imagetype : int
        0 for an image, 3 for a series, of which each volume is resampled.
    interpolator : str
        ``linear``, ``nearestNeighbor``, ``genericLabel``, ``multiLabel``, ``bSpline``, ``gaussian`` or a windowed sinc.
    whichtoinvert : list of bool, optional
        Which transforms of the list are inverted; only affines can be inverted. By default the affine of a list
        (affine, warp) is inverted, because ``invtransforms`` has this order.
    defaultvalue : float
        Value of voxels whose points are outside the moving image.
    singleprecision, verbose
        Without effect.
    compose, **kwargs
        Refused: this package has no counterpart.
    """
    if imagetype not in (0, 3):
        raise Unsupported(f"imagetype={imagetype}: antsreg_gpu supports 0 (an image) and 3 (a series)")
    if compose is not None:
        raise Unsupported("compose: antsreg_gpu has no counterpart of this argument")
    for name in kwargs:
        raise Unsupported(f"{name}: antsreg_gpu has no counterpart of this argument")
    if interpolator not in _INTERPOLATIONS:
        raise Unsupported(f"interpolator={interpolator!r}: expected one of {', '.join(_INTERPOLATIONS)}")
    how = _INTERPOLATIONS[interpolator]
    outside = 0.0 if how == "generic-label" else float(defaultvalue)
    chain: Any = named(transformlist, whichtoinvert)
    onto = accepted(fixed, "fixed")
    if imagetype != 3:
        return like(fixed, apply(accepted(moving, "moving"), onto, chain, interpolation=how, outside=outside))
    array, affine, name = parts(moving, "moving")
    if array.ndim != 4:
        raise Unsupported(f"imagetype=3: {name} has {array.ndim} axes, expected a series with 4")
    volumes = (apply((array[..., n], affine), onto, chain, interpolation=how, outside=outside) for n in range(array.shape[3]))
    moved = [(np.asarray(volume.dataobj), volume.affine) for volume in volumes]
    return made(np.stack([voxels for voxels, _ in moved], axis=-1), moved[0][1], kind_of(moving))


def create_jacobian_determinant_image(
    domain_image: Any, tx: Any, do_log: bool = False, geom: bool = False
) -> Any:
    """Jacobian determinants of a warp in a file, like ``ants.create_jacobian_determinant_image``.

    Parameters
    ----------
    domain_image : image
        The result is an ANTsImage if this image is one.
    tx : file
        The warp.
    do_log : bool
        Whether the natural logarithms of the determinants are returned.
    geom : bool
        True is refused: this package has no counterpart.
    """
    if geom:
        raise Unsupported("geom: antsreg_gpu has no counterpart of this argument")
    image = jacobian(tx).image
    if do_log:
        values = np.log(np.maximum(np.asarray(image.dataobj), np.finfo(np.float32).tiny))
        image = made(values.astype(np.float32), image.affine)
    return like(domain_image, image)


def label_overlap_measures(source_image: Any, target_image: Any) -> Any:
    """Overlap of the label map ``source_image`` with the true ``target_image``, like ``ants.label_overlap_measures``.

    Returns a data frame if pandas is installed, otherwise a list of dictionaries.
    """
    found = overlap(accepted(source_image, "source_image"), accepted(target_image, "target_image"))
    columns = {
        "TotalOrTargetOverlap": "target_overlap",
        "UnionOverlap": "jaccard",
        "MeanOverlap": "dice",
        "VolumeSimilarity": "volume_similarity",
        "FalseNegativeError": "false_negative",
        "FalsePositiveError": "false_positive",
    }
    named = [("All", found.total), *found.labels.items()]
    rows = [
        {"Label": label, **{column: getattr(measures, name) for column, name in columns.items()}}
        for label, measures in named
    ]
    try:
        return importlib.import_module("pandas").DataFrame(rows)
    except ImportError:
        return rows


#: ANTsPy's default convergence options of N4.
_CONVERGENCE: dict[str, Any] = {"iters": [50, 50, 50, 50], "tol": 1e-7}


def n4_bias_field_correction(
    image: Any,
    mask: Any = None,
    rescale_intensities: bool = False,
    shrink_factor: int = 4,
    convergence: Mapping[str, Any] = _CONVERGENCE,
    spline_param: Union[None, float, Sequence[float]] = None,
    return_bias_field: bool = False,
    verbose: bool = False,
    weight_mask: Any = None,
) -> Any:
    """Corrects the shading of an image by N4, like ``ants.n4_bias_field_correction``.

    Parameters
    ----------
    image : image
        The image to be corrected.
    mask : image, optional
        Mask of the voxels that are used and corrected. Without a mask all voxels are used, also those at or below zero.
    rescale_intensities : bool
        Whether the corrected intensities in the mask are scaled to their original range.
    shrink_factor : int
        Subsampling for the estimation of the field: 4 uses every fourth voxel along each axis.
    convergence : dict
        ``iters`` is the largest number of iterations on each level, and ``tol`` is the convergence threshold.
    spline_param : float or list, optional
        Spacing of the B-spline control points, mm, or the number of mesh elements along each axis; by default one
        element.
    return_bias_field : bool
        Whether the bias field is returned instead of the corrected image.
    weight_mask : image, optional
        Weight of each voxel.
    verbose : bool
        Without effect.
    """
    space = space_of(accepted(image, "image"), "image")
    axes = len(space.shape)
    elements = [1] * axes if spline_param is None else spline_param
    mesh: dict[str, Any]
    if isinstance(elements, Sequence) and len(elements) == axes:
        mesh = {"elements": [*(int(n) for n in elements), *([1] * (3 - axes))]}
    elif isinstance(elements, Sequence) and len(elements) != 1:
        raise ValueError(f"spline_param has {len(elements)} values, expected 1 or {axes}")
    else:
        distance = elements[0] if isinstance(elements, Sequence) else elements
        # ANTsPy passes the spline distance to N4 as a whole number.
        mesh = {"distance-mm": float(int(distance))}
    options = {
        "shrink": int(shrink_factor),
        "iterations": [int(most) for most in convergence["iters"]],
        "threshold": max(float(convergence["tol"]), 0.0),
        "mesh": mesh,
    }
    everywhere = np.ones(space.shape, dtype=np.float32), np.asarray(space.affine)
    voxels = everywhere if mask is None else accepted(mask, "mask")
    shares = None if weight_mask is None else accepted(weight_mask, "weight_mask")
    found = corrected(accepted(image, "image"), voxels, shares, options, rescale_intensities)
    return like(image, found.field if return_bias_field else found.image)


def _levels(iterations: Sequence[int]) -> dict[str, Any]:
    """Options of the levels, coarse to fine: as in ANTs, shrink factors …, 4, 2, 1 and smoothing sigmas …, 2, 1, 0.

    Levels with 0 iterations are left out.
    """
    count = len(iterations)
    every = [(2**n, float(n), int(most)) for n, most in zip(range(count - 1, -1, -1), iterations)]
    used = [level for level in every if level[2] > 0]
    return {
        "shrink_factors": [shrink for shrink, _, _ in used],
        "smoothing_sigmas": [sigma for _, sigma, _ in used],
        "iterations": [most for _, _, most in used],
    }


def _channels(extras: Any, syn: dict[str, Any], deformable: bool) -> list[tuple[Any, Any]]:
    """Further pairs of images; their metrics and weights are written into the options ``syn``."""
    if not deformable:
        raise Unsupported("multivariate_extras: a linear stage uses the first pair of images alone")
    metrics = [{"metric": syn.pop("metric"), "weight": 1.0}]
    pairs = []
    for metric, fixed, moving, weight, parameter in extras:
        if metric not in _SYN_METRICS:
            raise Unsupported(f"multivariate_extras: metric {metric!r}, expected mattes or CC")
        kind = _SYN_METRICS[metric]
        option = "radius" if kind == "cc" else "bins"
        # All pairs of one metric have the same radius or number of bins. 0 and 32 are ANTsPy's defaults.
        if parameter not in (0, 32) and syn.setdefault(option, int(parameter)) != int(parameter):
            raise Unsupported(f"multivariate_extras: {option}={parameter}, but {syn[option]} for another pair")
        metrics.append({"metric": kind, "weight": float(weight)})
        pairs.append((to_register(fixed, "fixed"), to_register(moving, "moving")))
    syn["channels"] = metrics
    return pairs


def _restriction(weights: Sequence[float], deformable: bool) -> list[float]:
    """Weights of displacements along the world axes x, y, z. For a 2-D image two weights are given; the third is 1."""
    given = [float(weight) for weight in weights]
    if not deformable or len(given) not in (2, 3):
        raise Unsupported(
            f"restrict_transformation={tuple(given)}: expected 2 or 3 weights of a deformation; linear stages are not restricted"
        )
    return [*given, *([1.0] * (3 - len(given)))]


def _start(given: Optional[Files]) -> Any:
    if given is None:
        return None
    names = [given] if isinstance(given, str) else list(given)
    if names in (["Identity"], ["identity"]):
        return "headers"
    if len(names) != 1:
        raise Unsupported("initial_transform: expected one transform; antsreg_gpu has no counterpart of a list")
    return names[0]
