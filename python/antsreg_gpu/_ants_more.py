"""ANTsPy's functions for points and for series, computed by this package."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from ._ants_images import Files, Unsupported, accepted, named
from ._series import register_series
from ._transforms import apply_points, write_transform

#: Degrees of freedom of the volumes' affines for each ``type_of_transform`` of a motion correction.
_DOF = {"Translation": 3, "Rigid": 6, "BOLDRigid": 6, "QuickRigid": 6, "DenseRigid": 6, "Similarity": 7}
_DOF |= {"Affine": 12, "AffineFast": 12, "BOLDAffine": 12}


def apply_transforms_to_points(
    dim: int, points: Any, transformlist: Files, whichtoinvert: Optional[Sequence[bool]] = None, verbose: bool = False
) -> Any:
    """Maps points by transforms, like ``ants.apply_transforms_to_points``.

    Points go the opposite way of images: ``fwdtransforms`` map points of the fixed image to the moving image.

    Parameters
    ----------
    dim : int
        2 or 3: the number of coordinates.
    points : DataFrame
        Columns ``x``, ``y`` and (in 3-D) ``z``: world coordinates of ITK, LPS mm. Other columns are kept.
    transformlist : file or list of files
        Transforms as `registration` returns them. A point goes through the first transform first.
    whichtoinvert : list of bool, optional
        Which transforms of the list are inverted, as for `apply_transforms`.
    verbose : bool
        Without effect.

    Returns
    -------
    DataFrame
        The table with the moved coordinates.
    """
    if dim not in (2, 3):
        raise Unsupported(f"dim={dim}: expected 2 or 3")
    columns = list("xyz")[:dim]
    coordinates = np.zeros((len(points), 3))
    coordinates[:, :dim] = points[columns].to_numpy(dtype=np.float64)
    ras = coordinates * [-1.0, -1.0, 1.0]
    moved = apply_points(ras, list(named(transformlist, whichtoinvert))) * [-1.0, -1.0, 1.0]
    found = points.copy()
    for number, column in enumerate(columns):
        found[column] = moved[:, number]
    return found


def motion_correction(
    image: Any,
    fixed: Any = None,
    type_of_transform: str = "BOLDRigid",
    mask: Any = None,
    fdOffset: float = 50,
    outprefix: str = "",
    verbose: bool = False,
    **kwargs: Any,
) -> dict[str, Any]:
    """Aligns the volumes of a series, like ``ants.motion_correction``.

    Parameters
    ----------
    image : image
        A series with four axes.
    fixed : image, optional
        The image to which the volumes are aligned; by default the mean of the series after a first alignment.
    type_of_transform : str
        ``Translation``, ``Rigid``, ``BOLDRigid``, ``Similarity``, ``Affine``, ``BOLDAffine`` or another name of these.
    fdOffset : float
        Side of the cube about the centre of the reference's grid whose corners the framewise displacement follows, mm.
    outprefix : str
        Beginning of the paths of the written transforms; by default in a new temporary folder.
    verbose : bool
        Whether the progress is shown.
    mask, **kwargs
        Refused: this package has no counterpart.

    Returns
    -------
    dict
        ``motion_corrected`` is the corrected series, ``motion_parameters`` a list with the transforms of each volume,
        and ``FD`` the framewise displacement, mm: the mean displacement of the corners since the previous volume.
    """
    if type_of_transform not in _DOF:
        raise Unsupported(f"type_of_transform={type_of_transform!r}: expected one of {', '.join(_DOF)}")
    if mask is not None:
        raise Unsupported("mask: antsreg_gpu has no counterpart of this argument")
    for name in kwargs:
        raise Unsupported(f"{name}: antsreg_gpu has no counterpart of this argument")
    reference: Any = "mean" if fixed is None else accepted(fixed, "fixed")
    # The series is given as it is, so that the result has its type.
    found = register_series(image, reference, dof=_DOF[type_of_transform], progress=verbose)
    prefix = outprefix or os.path.join(tempfile.mkdtemp(prefix="antsreg_"), "volume")
    transforms = []
    for number, affine in enumerate(found.affines):
        transforms.append([f"{prefix}_{number:05d}_0GenericAffine.mat"])
        write_transform(transforms[-1][0], affine)
    mean = found._native.mean()
    middle = np.asarray(mean.affine) @ [*((np.array(mean.array.shape) - 1) / 2), 1.0]
    corners = middle[:3] + fdOffset / 2 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    places = np.array([apply_points(corners, affine) for affine in found.affines])
    steps = np.abs(np.diff(places, axis=0)).mean(axis=1).sum(axis=1)
    return {
        "motion_corrected": found.corrected,
        "motion_parameters": transforms,
        "FD": np.concatenate([[0.0], steps]),
    }
