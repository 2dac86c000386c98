"""Registers images, and what a registration gives."""

from __future__ import annotations

import html
import json
import logging
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._errors import OptionError, ResultWarning
from ._images import ImageLike, SpatialImage, made
from ._options import Masks, Options, Start, plan, side, start
from ._progress import Follower, Progress
from ._transforms import Transform, apply, apply_points

LOG = logging.getLogger("antsreg_gpu")


class OnDevice:
    """Results in the memory of the device that computed them: arrays for ``from_dlpack`` of PyTorch, CuPy, JAX or numpy.

    An array is complete when it is given, for work on every stream. It is a copy that belongs to who takes it.

    Examples
    --------
    >>> import torch  # doctest: +SKIP
    >>> found = register(fixed, moving, output="device")  # doctest: +SKIP
    >>> warp = torch.from_dlpack(found.on_device.warp)  # doctest: +SKIP
    """

    def __init__(self, native: _native.Registration) -> None:
        self._native = native

    @property
    def warp(self) -> Optional[_native.DeviceArray]:
        """Displacements before the affine, X×Y×Z×3 on the fixed grid, RAS mm; None without a deformable stage."""
        return self._native.on_device("warp")

    @property
    def inverse_warp(self) -> Optional[_native.DeviceArray]:
        """The inverse of the warp, likewise."""
        return self._native.on_device("inverse_warp")

    @property
    def warped(self) -> Optional[_native.DeviceArray]:
        """The moving image on the fixed grid, X×Y×Z, or X×Y of a slice."""
        return self._native.on_device("warped")

    @property
    def inverse_warped(self) -> Optional[_native.DeviceArray]:
        """The fixed image on the moving grid, likewise."""
        return self._native.on_device("inverse_warped")


class Registration:
    """The result of a registration. A fixed point goes through the warp, then through the affine, to the moving point.

    Its arrays are views of the result's memory, and are read-only; copy what you want to change.
    """

    def __init__(self, native: _native.Registration) -> None:
        self._native = native

    @property
    def affine(self) -> NDArray[np.float64]:
        """The affine, fixed → moving, 4×4, RAS mm."""
        return np.array(self._native.affine)

    @property
    def warp(self) -> Optional[NDArray[np.float32]]:
        """Displacements before the affine, X×Y×Z×3 on the fixed grid, RAS mm; None without a deformable stage."""
        return self._native.warp

    @property
    def inverse_warp(self) -> Optional[NDArray[np.float32]]:
        """The inverse of the warp, likewise."""
        return self._native.inverse_warp

    @property
    def warped(self) -> SpatialImage:
        """The moving image on the fixed grid."""
        return self._image(self._native.warped, self._native.fixed_space)

    @property
    def inverse_warped(self) -> SpatialImage:
        """The fixed image on the moving grid."""
        return self._image(self._native.inverse_warped, self._native.moving_space)

    @property
    def jacobian(self) -> Optional[SpatialImage]:
        """Determinants of the warp on the fixed grid, affine excluded: above 1 the moving image is larger there. None without
        a deformable stage."""
        image = self._native.jacobian()
        return None if image is None else made(image.array, image.affine)

    @property
    def forward(self) -> Transform:
        """From fixed to moving points: brings the moving image onto the fixed grid."""
        return Transform._of(self._native.forward)

    @property
    def backward(self) -> Transform:
        """From moving to fixed points: brings the fixed image onto the moving grid."""
        return Transform._of(self._native.backward)

    @property
    def _chain(self) -> _native.Chain:
        return self._native.forward

    @property
    def on_device(self) -> OnDevice:
        """Warps and images in the memory of the device, for a registration with ``output="device"``."""
        return OnDevice(self._native)

    @property
    def warnings(self) -> list[str]:
        """Doubts about the result."""
        return self._native.warnings

    @property
    def record(self) -> dict[str, Any]:
        """What was done and how it came out, as the command records it."""
        found: dict[str, Any] = json.loads(self._native.record())
        return found

    def apply(
        self,
        image: ImageLike,
        reference: Optional[ImageLike] = None,
        *,
        inverse: bool = False,
        interpolation: str = "linear",
        outside: float = 0.0,
    ) -> SpatialImage:
        """Brings an image of the moving side onto the fixed grid.

        Parameters
        ----------
        image : image
            What is brought over.
        reference : image, optional
            Another grid than that of the fixed image (of the moving one with ``inverse``).
        inverse : bool
            Brings an image of the fixed side onto the moving grid instead.
        interpolation, outside
            As for `antsreg_gpu.apply`.
        """
        usual = self._native.moving_space if inverse else self._native.fixed_space
        onto: Any = usual if reference is None else reference
        through = self.backward if inverse else self.forward
        return apply(image, onto, through, interpolation=interpolation, outside=outside)

    def transform_points(self, points: ArrayLike, *, inverse: bool = False) -> NDArray[np.float64]:
        """Points of the fixed image (N×3, RAS mm) as points of the moving one, or the other way with ``inverse``."""
        return apply_points(points, self.backward if inverse else self.forward)

    def save(
        self,
        prefix: Union[str, os.PathLike[str]],
        *,
        format: str = "nii.gz",
        warped: bool = True,
        inverse: bool = True,
        composite: bool = False,
    ) -> list[Path]:
        """Writes the files of ``antsreg-gpu register``, byte for byte but for times and names in the record.

        Parameters
        ----------
        prefix : str
            Start of all names, folder included: ``prefix0GenericAffine.mat`` and so on.
        format : str
            ``nii.gz`` or ``nii``.
        warped, inverse : bool
            Whether the warped images, and the inverse warp and inversely warped image, are written.
        composite : bool
            Whether all transforms of a direction are written as one ``.h5`` file of ITK, instead of affine and warp.

        Returns
        -------
        list of paths
            The files that were written. They appear together.
        """
        return self._native.save(os.fspath(prefix), format, warped, inverse, composite)

    def report(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes a page to judge the result by: one HTML file that needs no network, for a browser.

        It shows slices of the fixed and the moving image, before and after, with outlines, a checkerboard, the Jacobian
        determinants and a warped grid of the warp; histograms, the course of the cost and the energy; all figures and
        warnings.

        Parameters
        ----------
        path : str
            The name of the page, such as ``out/subject.html``. It replaces a file of that name.
        """
        self._native.report(os.fspath(path))

    def _image(self, array: Optional[NDArray[np.float32]], space: _native.Space) -> SpatialImage:
        if array is None:
            raise OptionError("the warped images were left out of this registration")
        return made(array, space.affine)

    def __repr__(self) -> str:
        kind = "affine" if self.warp is None else "affine and warp"
        fixed, moving = self._native.fixed_space.shape, self._native.moving_space.shape
        return f"Registration({kind}, fixed {tuple(fixed)}, moving {tuple(moving)})"

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        record = self.record
        similarity, seconds = record["similarity"], record["seconds"]
        rows = [
            ("Fixed", self._native.fixed_space.describe()),
            ("Moving", self._native.moving_space.describe()),
            ("Stages", "affine" if self.warp is None else "affine, warp"),
            ("Correlation", f"{_number(similarity['correlation'])}, {_number(similarity['correlation_at_start'])} at the start"),
            ("Seconds", f"{seconds['total']:.2f}"),
            *(("Warning", text) for text in self.warnings),
        ]
        cells = "".join(f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in rows)
        return f"<table>{cells}</table>"


def _number(value: Optional[float]) -> str:
    return "unknown" if value is None else f"{value:.4f}"


def _result(native: _native.Registration) -> Registration:
    for text in native.warnings:
        warnings.warn(text, ResultWarning, stacklevel=3)
    return Registration(native)


def register(
    fixed: ImageLike,
    moving: ImageLike,
    transform: Optional[str] = None,
    *,
    preset: str = "default",
    stages: Optional[Sequence[Options]] = None,
    fixed_mask: Optional[Masks] = None,
    moving_mask: Optional[Masks] = None,
    channels: Sequence[tuple[ImageLike, ImageLike]] = (),
    initial: Optional[Start] = None,
    device: str = "auto",
    linear: Optional[Options] = None,
    syn: Optional[Options] = None,
    levels: Optional[Options] = None,
    dof: Optional[int] = None,
    search_degrees: Optional[Sequence[float]] = None,
    output: str = "host",
    progress: Progress = None,
) -> Registration:
    """Registers a moving image to a fixed one.

    Parameters
    ----------
    fixed, moving : image
        Two volumes, or two slices: a path, an image of nibabel, ANTsPy or SimpleITK, or ``(array, affine)`` with an array
        X×Y×Z (or X×Y) and its voxel-to-world matrix (4×4, RAS mm). An array of PyTorch, CuPy or JAX on a GPU is read there.
    transform : str, optional
        ``translation``, ``rigid``, ``similarity``, ``scales``, ``affine``, ``syn`` (affine, then SyN) or ``syn-only``. By
        default that of the preset: ``syn``, of ``multimodal`` ``rigid``.
    preset : str
        ``fast``, ``default``, ``best`` or ``multimodal``.
    stages : list of dict, optional
        Stages as the command's record has them, instead of a preset with changes: ``{"linear": {…}}``,
        ``{"deformable": {…}}``.
    fixed_mask, moving_mask : image or list, optional
        Voxels that count: above 0.5, on the grid of their image. A list has a mask, or None, for each stage.
    channels : list of pairs of images
        Further fixed and moving images of the same persons, which drive SyN as well.
    initial : optional
        ``centre-of-mass`` (default), ``headers`` (default of ``syn-only``), or an affine, fixed → moving: a file, a matrix
        (4×4, RAS mm) or a `Transform`.
    device : str
        ``auto``, ``cpu``, ``cuda`` or ``cuda:N``. ``auto`` takes the GPU that an image lies on.
    linear, syn : dict, optional
        Options of the stages by the names that the record has, such as ``{"cost": "nmi"}`` and ``{"radius": 4}``. Of several
        channels ``syn["channels"]`` has metric and weight of each: ``[{"metric": "cc", "weight": 1.0}, …]``.
    levels : dict, optional
        ``shrink_factors``, ``smoothing_sigmas``, ``iterations``, ``reinvert_every``: lists, coarse to fine.
    dof : int, optional
        Degrees of freedom of the affine stage: 3, 6, 7, 9 or 12.
    search_degrees : three numbers, optional
        Rotations searched, ± degrees about x, y and z.
    output : str
        ``host``: warps and images come to main memory. ``device``: they stay in the device's memory, for
        `Registration.on_device`; what asks for them in main memory fetches them once.
    progress : bool or callable, optional
        True shows a bar (tqdm if it is installed). A function is called with a `Report` after every iteration; an exception
        that it raises stops the registration.

    Returns
    -------
    Registration

    Raises
    ------
    Error
        `InputError`, `OptionError`, `FileError` or `DeviceError`.

    Examples
    --------
    >>> result = register("fixed.nii.gz", "moving.nii.gz")  # doctest: +SKIP
    >>> result.save("out/subject_")  # doctest: +SKIP
    """
    wanted = plan(transform, preset, stages, linear, syn, levels, dof, search_degrees, len(channels))
    name, matrix = start(initial, wanted.usual_start)
    fixed_side = side(fixed, "the fixed image", [pair[0] for pair in channels], fixed_mask)
    moving_side = side(moving, "the moving image", [pair[1] for pair in channels], moving_mask)
    with Follower(progress) as follower:
        native, note = _native.register(
            fixed_side, moving_side, wanted, device, name, matrix, follower.callback, _keeps(output)
        )
    _log(note)
    return _result(native)


def _keeps(output: str) -> bool:
    """Whether results stay on the device."""
    if output not in ("host", "device"):
        raise OptionError(f"output: expected host or device, found `{output}`")
    return output == "device"


def _log(note: Optional[str]) -> None:
    if note is not None:
        LOG.info("device: cpu, because %s", note)


class Fixed:
    """A fixed image that is prepared once, on one device, for any number of registrations.

    The arguments are those of `register`. Registrations of several threads come one after the other; `register_many` overlaps
    them.

    Examples
    --------
    >>> fixed = Fixed("template.nii.gz", preset="fast")  # doctest: +SKIP
    >>> results = [fixed.register(path) for path in paths]  # doctest: +SKIP
    """

    def __init__(
        self,
        image: ImageLike,
        transform: Optional[str] = None,
        *,
        preset: str = "default",
        stages: Optional[Sequence[Options]] = None,
        mask: Optional[Masks] = None,
        channels: Sequence[ImageLike] = (),
        initial: Optional[Start] = None,
        device: str = "auto",
        linear: Optional[Options] = None,
        syn: Optional[Options] = None,
        levels: Optional[Options] = None,
        dof: Optional[int] = None,
        search_degrees: Optional[Sequence[float]] = None,
    ) -> None:
        wanted = plan(transform, preset, stages, linear, syn, levels, dof, search_degrees, len(channels))
        name, matrix = start(initial, wanted.usual_start)
        prepared = side(image, "the fixed image", channels, mask)
        self._native = _native.Fixed(prepared, wanted, device, name, matrix)
        _log(self._native.instead_of_gpu)

    def register(
        self,
        moving: ImageLike,
        *,
        mask: Optional[Masks] = None,
        channels: Sequence[ImageLike] = (),
        output: str = "host",
        progress: Progress = None,
    ) -> Registration:
        """Registers a moving image, with its mask and its channels, to the fixed one. ``output`` is that of `register`."""
        moving_side = side(moving, "the moving image", channels, mask)
        with Follower(progress) as follower:
            native = self._native.register(moving_side, follower.callback, _keeps(output))
        return _result(native)


def register_many(
    fixed: ImageLike,
    movings: Iterable[ImageLike],
    transform: Optional[str] = None,
    *,
    preset: str = "default",
    stages: Optional[Sequence[Options]] = None,
    fixed_mask: Optional[Masks] = None,
    initial: Optional[Start] = None,
    device: str = "auto",
    workers: Optional[int] = None,
    linear: Optional[Options] = None,
    syn: Optional[Options] = None,
    levels: Optional[Options] = None,
    dof: Optional[int] = None,
    search_degrees: Optional[Sequence[float]] = None,
) -> Iterator[Registration]:
    """Registers many moving images to one fixed image. Some are read while others are computed.

    Parameters
    ----------
    fixed : image
        The fixed image.
    movings : images
        The moving images. Paths are read when their turn comes, so that few are in memory at once.
    workers : int, optional
        Registrations at the same time on each device: by default 4 on a GPU, 1 on the CPU, which uses all its cores.
    device : str
        As for `register`, or several GPUs: ``cuda:0,1``, ``cuda:all``; ``auto`` takes all there are.
    transform, preset, stages, fixed_mask, initial, linear, syn, levels, dof, search_degrees
        As for `register`.

    Yields
    ------
    Registration
        In the order of the moving images. An image that cannot be registered raises when its turn comes.

    Examples
    --------
    >>> for path, result in zip(paths, register_many("template.nii.gz", paths)):  # doctest: +SKIP
    ...     result.save(path.with_suffix(""))
    """
    several = list(movings)
    wanted = plan(transform, preset, stages, linear, syn, levels, dof, search_degrees, 0)
    name, matrix = start(initial, wanted.usual_start)
    fixed_side = side(fixed, "the fixed image", (), fixed_mask)

    def load(number: int) -> _native.Side:
        return side(several[number], f"moving image {number + 1}", (), None)

    many = _native.Many(fixed_side, wanted, device, workers, len(several), load, name, matrix)
    return _results(many)


def _results(many: _native.Many) -> Iterator[Registration]:
    try:
        for native in many:
            for note in many.notes():
                LOG.info("%s", note)
            yield _result(native)
    finally:
        many.close()
