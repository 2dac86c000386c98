"""Functions for several subjects: labels from several atlases, and group templates."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

from . import _native
from ._errors import InputError
from ._images import ImageLike, kind_of, made, path_of, read, read_labels
from ._options import Options, Start
from ._process import paths, run_command
from ._registration import register_many


def labels(
    image: ImageLike,
    atlases: Sequence[tuple[ImageLike, ImageLike]],
    transform: Optional[str] = None,
    *,
    fusion: Union[str, Mapping[str, Any]] = "joint",
    interpolation: str = "generic-label",
    preset: str = "default",
    initial: Optional[Start] = None,
    device: str = "auto",
    workers: Optional[int] = None,
    linear: Optional[Options] = None,
    syn: Optional[Options] = None,
    levels: Optional[Options] = None,
) -> Any:
    """Labels an image: registers several atlases to the image, resamples their label maps on its grid and fuses them.

    Parameters
    ----------
    image : image
        The image to be labelled.
    atlases : list of (image, label map)
        Images with their label maps; at least one pair.
    fusion : str or dict
        ``joint`` (joint label fusion) or ``majority``; with options ``{"kind": "joint", "patch_radius": 2, …}``.
    interpolation : str
        Interpolation of the label maps: ``generic-label`` or ``nearest``.
    transform, preset, initial, device, workers, linear, syn, levels
        As for `register_many`.

    Returns
    -------
    image
        The label map on the grid of the image (32-bit integers), equal to that of ``antsreg-gpu labels``.
    """
    if not atlases:
        raise InputError("atlases: the list is empty, expected at least one")
    target = read(image, "the image")
    options = {"kind": fusion} if isinstance(fusion, str) else dict(fusion)
    images, carried = [], []
    several = [(read(atlas, f"atlas {n}"), of) for n, (atlas, of) in enumerate(atlases, 1)]
    results = register_many(
        target,
        [atlas for atlas, _ in several],
        transform,
        preset=preset,
        initial=initial,
        device=device,
        workers=workers,
        linear=linear,
        syn=syn,
        levels=levels,
    )
    for n, ((_, of), result) in enumerate(zip(several, results), 1):
        chain, space = result._native.forward, target.space
        images.append(read(result.warped, f"the warped image of atlas {n}"))
        map_of = read_labels(of, f"the labels of atlas {n}")
        carried.append(_native.resample_labels(map_of, space, chain, interpolation)[0])
    fused = _native.fuse(target, images, carried, json.dumps(options))
    return made(fused.array, fused.affine, kind_of(image))


def template(
    subjects: Union[str, os.PathLike[str], Sequence[Union[str, os.PathLike[str]]]],
    folder: Union[str, os.PathLike[str]],
    *,
    device: str = "auto",
    **options: Any,
) -> Path:
    """Builds an unbiased template of many subjects: runs ``antsreg-gpu template`` in a separate process.

    Steps that an earlier run in this folder has finished are not repeated.

    Parameters
    ----------
    subjects : paths
        Images, or a table or BIDS folder that lists them.
    folder : path
        Folder for the template and all other outputs.
    device : str
        As for `register_many`.
    **options
        Options of ``antsreg-gpu template`` by their names, such as ``passes=2`` and ``sharpen=True``.

    Returns
    -------
    path
        The folder, which contains the template as ``template.nii.gz``.

    Examples
    --------
    >>> folder = template(["a.nii.gz", "b.nii.gz", "c.nii.gz"], "study/template")  # doctest: +SKIP
    """
    sources = paths(subjects, "subjects")
    run_command("template", *sources, output=folder, device=device, quiet=True, **options)
    return Path(path_of(folder))
