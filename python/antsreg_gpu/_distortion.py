"""Distortion of echo-planar images along their phase encoding."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from ._process import paths, run_command


class Undistorted(NamedTuple):
    """Paths of the files that `undistort` has written."""

    images: list[Path]
    """The images without distortion, in the order of the inputs."""
    warps: list[Path]
    """For each image, the warp from points of the undistorted image to points of the distorted one."""
    jacobians: list[Path]
    """For each image, the factor by which the warped intensities are multiplied."""
    displacement: Path
    """Displacement along the phase encoding axis, mm."""
    field: Optional[Path]
    """The field in Hz. None if no readout time is known."""


def undistort(
    images: Union[str, os.PathLike[str], Sequence[Union[str, os.PathLike[str]]]],
    prefix: Union[str, os.PathLike[str]],
    *,
    phase_encoding: Union[str, Sequence[str], None] = None,
    readout_time: Union[float, Sequence[float], None] = None,
    field_map: Union[str, os.PathLike[str], None] = None,
    **options: Any,
) -> Undistorted:
    """Removes the distortion of echo-planar images: runs ``antsreg-gpu undistort`` in a separate process.

    The field is found from images with opposite phase encodings, or taken from a field map in Hz.

    Parameters
    ----------
    images : paths
        Images on one grid, any number of each direction of the phase encoding.
    prefix : str
        Beginning of the paths of all outputs, with the folder.
    phase_encoding : str or list of str, optional
        Direction of each image: ``i``, ``i-``, ``j``, ``j-``, ``k`` or ``k-``, the voxel axes of the file as in BIDS. By
        default it is read from the JSON file beside each image.
    readout_time : float or list of float, optional
        Total readout time as in BIDS, seconds: one for all images, or one for each. By default it is read from the JSON
        files. Without it there is no field in Hz.
    field_map : path, optional
        A field map in Hz, aligned with the images.
    **options
        Options of ``antsreg-gpu undistort`` by their names, such as ``motion=True``.

    Returns
    -------
    Undistorted
        Paths of the written files.

    Examples
    --------
    >>> found = undistort(["ap.nii.gz", "pa.nii.gz"], "out_", phase_encoding=["j-", "j"])  # doctest: +SKIP
    """
    sources = paths(images, "images")
    directions = [phase_encoding] if isinstance(phase_encoding, str) else phase_encoding
    times = [readout_time] if isinstance(readout_time, (int, float)) else readout_time
    start = os.fspath(prefix)
    run_command(
        "undistort",
        input=sources,
        phase_encoding=None if directions is None else list(directions),
        readout_time=None if times is None else list(times),
        field_map=field_map,
        output=start,
        quiet=True,
        **options,
    )
    numbers = range(1, len(sources) + 1)
    first = json.loads(Path(f"{start}record.json").read_text(encoding="utf-8"))["images"][0]
    return Undistorted(
        images=[Path(f"{start}Undistorted{n}.nii.gz") for n in numbers],
        warps=[Path(f"{start}{n}Warp.nii.gz") for n in numbers],
        jacobians=[Path(f"{start}{n}Jacobian.nii.gz") for n in numbers],
        displacement=Path(f"{start}Displacement.nii.gz"),
        field=None if first["readout_s"] is None else Path(f"{start}FieldHz.nii.gz"),
    )
