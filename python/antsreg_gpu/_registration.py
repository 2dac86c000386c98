"""Registration of images, and the object that holds a registration's result."""

from __future__ import annotations

import html
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._errors import OptionError, ResultWarning
from ._images import ImageLike, kind_of, made
from ._kept import Kept
from ._options import Lesions, Masks, Options, OptionValue, Start, plan, side, start
from ._picture import picture
from ._progress import Follower, Progress, log
from ._transforms import Transform, apply, apply_points
from ._verdict import Verdict


class OnDevice:
    """Warps and images in the memory of the device that computed them.

    PyTorch, CuPy, JAX and numpy read the arrays by ``from_dlpack``. Each array is a copy that belongs to the caller.
    All writes to the array have finished, so any CUDA stream may read the array immediately.

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
        """The warp as displacements in RAS mm, X×Y×Z×3 on the fixed grid. None without a deformable stage.

        The warp acts on a point before the affine.
        """
        return self._native.on_device("warp")

    @property
    def inverse_warp(self) -> Optional[_native.DeviceArray]:
        """The inverse of the warp as displacements in RAS mm, X×Y×Z×3. None without a deformable stage."""
        return self._native.on_device("inverse_warp")

    @property
    def warped(self) -> Optional[_native.DeviceArray]:
        """The moving image resampled on the fixed grid: X×Y×Z, or X×Y for a slice."""
        return self._native.on_device("warped")

    @property
    def inverse_warped(self) -> Optional[_native.DeviceArray]:
        """The fixed image resampled on the moving grid: X×Y×Z, or X×Y for a slice."""
        return self._native.on_device("inverse_warped")


class Registration:
    """The result of a registration.

    A point of the fixed image is mapped by the warp, then by the affine, to its point in the moving image. The arrays
    are read-only and share the result's memory; copy an array before you change it.
    """

    def __init__(self, native: _native.Registration, kind: str = "") -> None:
        self._native = native
        #: The library whose images the result has; empty for nibabel.
        self._kind = kind

    def __reduce__(self) -> Any:
        """Pickles the result: its arrays, transforms and record. An unpickled result cannot write files or pages."""
        return _unpickled, (Kept.of(self._native).__dict__, self._kind)

    @property
    def affine(self) -> NDArray[np.float64]:
        """The affine from fixed to moving points, 4×4, RAS mm."""
        return np.array(self._native.affine)

    @property
    def warp(self) -> Optional[NDArray[np.float32]]:
        """The warp as displacements in RAS mm, X×Y×Z×3 on the fixed grid. None without a deformable stage.

        The warp acts on a point before the affine.
        """
        return self._native.warp

    @property
    def inverse_warp(self) -> Optional[NDArray[np.float32]]:
        """The inverse of the warp as displacements in RAS mm, X×Y×Z×3. None without a deformable stage."""
        return self._native.inverse_warp

    @property
    def warped(self) -> Any:
        """The moving image resampled on the fixed grid.

        It is an image of ANTsPy or SimpleITK if the fixed image was one, otherwise of nibabel.
        """
        return self._image(self._native.warped, self._native.fixed_space)

    @property
    def inverse_warped(self) -> Any:
        """The fixed image resampled on the moving grid, of the same type as `warped`."""
        return self._image(self._native.inverse_warped, self._native.moving_space)

    @property
    def jacobian(self) -> Any:
        """Jacobian determinants of the warp on the fixed grid. None without a deformable stage.

        The affine is excluded. Above 1 the structures are larger in the moving image.
        """
        image = self._native.jacobian()
        return None if image is None else made(image.array, image.affine, self._kind)

    @property
    def forward(self) -> Transform:
        """The transform from fixed to moving points; it resamples the moving image on the fixed grid."""
        return Transform._of(self._native.forward)

    @property
    def backward(self) -> Transform:
        """The transform from moving to fixed points; it resamples the fixed image on the moving grid."""
        return Transform._of(self._native.backward)

    @property
    def _chain(self) -> _native.Chain:
        return self._native.forward

    @property
    def on_device(self) -> OnDevice:
        """Warps and images in the memory of the device, if the registration had ``output="device"``."""
        return OnDevice(self._native)

    @property
    def verdict(self) -> Optional[Verdict]:
        """Whether the result is right; ``None`` if it was not judged."""
        return Verdict._of(self._native.verdict)

    @property
    def warnings(self) -> list[str]:
        """Warnings that the result may be wrong."""
        return self._native.warnings

    @property
    def record(self) -> dict[str, Any]:
        """The JSON record that the command writes for a registration: inputs, options, measures and times."""
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
    ) -> Any:
        """Resamples an image on the fixed grid. The image must be aligned with the moving image.

        Parameters
        ----------
        image : image
            The image to be resampled.
        reference : image, optional
            An image whose grid is used instead of the fixed grid (instead of the moving grid with ``inverse``).
        inverse : bool
            Whether to use the opposite direction: an image that is aligned with the fixed image is resampled on the
            moving grid.
        interpolation, outside
            As for `antsreg_gpu.apply`.
        """
        usual = self._native.moving_space if inverse else self._native.fixed_space
        onto: Any = usual if reference is None else reference
        through = self.backward if inverse else self.forward
        return apply(image, onto, through, interpolation=interpolation, outside=outside)

    def transform_points(self, points: ArrayLike, *, inverse: bool = False) -> NDArray[np.float64]:
        """Maps points (N×3, RAS mm) of the fixed image to the moving image; with ``inverse`` from moving to fixed."""
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
        """Writes the files that ``antsreg-gpu register`` writes. Only times and names in the JSON record differ.

        Parameters
        ----------
        prefix : str
            Beginning of all paths, with the folder: the affine becomes ``prefix0GenericAffine.mat``.
        format : str
            Format of images and warps: ``nii.gz`` or ``nii``.
        warped, inverse : bool
            ``warped`` writes the warped images. ``inverse`` writes the inverse warp, and the fixed image on the moving
            grid.
        composite : bool
            Whether the transforms of each direction are written as one ``.h5`` file of ITK, instead of separate affine
            and warp.

        Returns
        -------
        list of paths
            Paths of the written files. Either all files are replaced or none.
        """
        return self._native.save(os.fspath(prefix), format, warped, inverse, composite)

    def report(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes an HTML page for visual inspection of the result: one file that needs no network.

        The page shows slices of the fixed image and of the moving image before and after registration, with outlines, a
        checkerboard, Jacobian determinants and a warped grid. It also shows histograms, curves of the cost over the
        iterations, all measures, and warnings.

        Parameters
        ----------
        path : str
            Path of the page, such as ``out/subject.html``. An existing file is replaced.
        """
        self._native.report(os.fspath(path))

    def _image(self, array: Optional[NDArray[np.float32]], space: _native.Space) -> Any:
        if array is None:
            raise OptionError("this result has no warped images, because its registration did not compute them")
        return made(array, space.affine, self._kind)

    def __repr__(self) -> str:
        kind = "affine" if self.warp is None else "affine and warp"
        fixed, moving = self._native.fixed_space.shape, self._native.moving_space.shape
        return f"Registration({kind}, fixed {tuple(fixed)}, moving {tuple(moving)})"

    def _repr_html_(self) -> str:
        """An HTML table of the result with slices of the warped image, which notebooks display."""
        record = self.record
        similarity, seconds = record["similarity"], record["seconds"]
        rows = [
            ("Fixed", self._native.fixed_space.describe()),
            ("Moving", self._native.moving_space.describe()),
            ("Stages", "affine" if self.warp is None else "affine, warp"),
            ("Correlation", f"{_number(similarity['correlation'])}, {_number(similarity['correlation_at_start'])} at the start"),
            ("Seconds", f"{seconds['total']:.2f}"),
            *([("Verdict", self.verdict.judgement)] if self.verdict is not None else []),
            *(("Warning", text) for text in self.warnings),
        ]
        cells = "".join(f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in rows)
        warped = self._native.warped
        slices = "" if warped is None else picture(warped, self._native.fixed_space.affine)
        return f"<table>{cells}</table>{slices}"


def _number(value: Optional[float]) -> str:
    return "unknown" if value is None else f"{value:.4f}"


def _result(native: _native.Registration, kind: str) -> Registration:
    for text in native.warnings:
        warnings.warn(text, ResultWarning, stacklevel=3)
    return Registration(native, kind)


def _unpickled(kept: dict[str, Any], kind: str) -> Registration:
    native: Any = Kept(**kept)
    return Registration(native, kind)


def register(
    fixed: ImageLike,
    moving: ImageLike,
    transform: Optional[str] = None,
    *,
    preset: str = "default",
    stages: Optional[Sequence[Options]] = None,
    fixed_mask: Optional[Masks] = None,
    moving_mask: Optional[Masks] = None,
    fixed_lesion: Optional[Lesions] = None,
    moving_lesion: Optional[Lesions] = None,
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
    **options: OptionValue,
) -> Registration:
    """Registers a moving image to a fixed image.

    Parameters
    ----------
    fixed, moving : image
        Two volumes, or two slices: a path, an image of nibabel, ANTsPy or SimpleITK, or ``(array, affine)`` with an
        array X×Y×Z (or X×Y) and its voxel-to-world matrix (4×4, RAS mm). An array of PyTorch, CuPy or JAX in GPU memory
        is not copied to main memory.
    transform : str, optional
        ``translation``, ``rigid``, ``similarity``, ``scales``, ``affine``, ``syn`` (affine, then SyN) or ``syn-only``.
        The default depends on the preset: ``rigid`` for ``multimodal``, otherwise ``syn``.
    preset : str
        Name of a set of options: ``fast``, ``default``, ``best``, ``smooth`` or ``multimodal``.
    stages : list of dict, optional
        Complete list of stages, instead of a preset. Each stage is ``{"linear": {…}}`` or ``{"deformable": {…}}``, with
        all options as in the record that the command writes.
    fixed_mask, moving_mask : image or list, optional
        Mask on the grid of its image: voxels with a mask value above 0.5 are used. A list has a mask, or None, for each
        stage. The mask of a masked array (``numpy.ma``) is used as the mask of its image.
    fixed_lesion, moving_lesion : image or list, optional
        Mask of a lesion on the grid of its image, or a list of such masks. No stage compares voxels above 0.5, and the
        warp is carried in smoothly from the tissue around.
    channels : list of pairs of images
        Further pairs of a fixed and a moving image of the same subjects. SyN uses these images as well.
    initial : optional
        Initial transform: ``centre-of-mass`` (default), ``headers`` (default of ``syn-only``), or an affine from fixed
        to moving points. The affine is a file, a matrix (4×4, RAS mm) or a `Transform`.
    device : str
        ``auto``, ``cpu``, ``cuda`` or ``cuda:N``. ``auto`` chooses the GPU whose memory holds one of the images.
    linear, syn : dict, optional
        Options of the linear stage and of SyN, with the names of the record: for example ``{"cost": "nmi"}`` and
        ``{"radius": 4}``. With several channels, ``syn["channels"]`` lists their metrics and weights: ``[{"metric":
        "cc", "weight": 1.0}, …]``.
    levels : dict, optional
        Levels of SyN: lists ``shrink_factors``, ``smoothing_sigmas``, ``iterations`` and ``reinvert_every``, coarse to
        fine.
    dof : int, optional
        Degrees of freedom of the affine stage: 3, 6, 7, 9 or 12.
    search_degrees : three numbers, optional
        Largest rotations about x, y and z in the search for the affine's start, degrees in both directions.
    output : str
        ``host`` copies warps and images to main memory. ``device`` leaves them in the device's memory, for
        `Registration.on_device`; they are copied to main memory when they are first needed there.
    progress : bool or callable, optional
        True shows a progress bar (by tqdm if it is installed). A function is called with a `Report` after every
        iteration; an exception in the function stops the registration.
    **options
        Options of the command ``register`` by their names, with ``_`` for ``-``: for example ``cost="nmi"``,
        ``cc_radius=4``, ``shrink_factors=[4, 2, 1]`` and ``exact=True``. An option that is out of range, or has no
        effect, is refused.

    Returns
    -------
    Registration

    Raises
    ------
    Error
        One of its subclasses `InputError`, `OptionError`, `FileError` and `DeviceError`.

    Examples
    --------
    >>> result = register("fixed.nii.gz", "moving.nii.gz")  # doctest: +SKIP
    >>> result.save("out/subject_")  # doctest: +SKIP
    """
    wanted = plan(transform, preset, stages, linear, syn, levels, dof, search_degrees, len(channels), options)
    name, matrix = start(initial, wanted.usual_start, options)
    fixed_side = side(fixed, "the fixed image", [pair[0] for pair in channels], fixed_mask, fixed_lesion)
    moving_side = side(moving, "the moving image", [pair[1] for pair in channels], moving_mask, moving_lesion)
    with Follower(progress) as follower:
        native, note = _native.register(
            fixed_side, moving_side, wanted, device, name, matrix, follower.callback, _keeps(output)
        )
    log(note)
    return _result(native, kind_of(fixed))


def _keeps(output: str) -> bool:
    """Whether the argument ``output`` asks that results stay on the device."""
    if output not in ("host", "device"):
        raise OptionError(f"output: expected host or device, found `{output}`")
    return output == "device"


class Fixed:
    """A fixed image that is prepared once, on one device, for any number of registrations.

    The arguments are those of `register`. If several threads use the object, their registrations run one after another;
    `register_many` runs several registrations at the same time.

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
        lesion: Optional[Lesions] = None,
        channels: Sequence[ImageLike] = (),
        initial: Optional[Start] = None,
        device: str = "auto",
        linear: Optional[Options] = None,
        syn: Optional[Options] = None,
        levels: Optional[Options] = None,
        dof: Optional[int] = None,
        search_degrees: Optional[Sequence[float]] = None,
        **options: OptionValue,
    ) -> None:
        wanted = plan(transform, preset, stages, linear, syn, levels, dof, search_degrees, len(channels), options)
        name, matrix = start(initial, wanted.usual_start, options)
        prepared = side(image, "the fixed image", channels, mask, lesion)
        self._native = _native.Fixed(prepared, wanted, device, name, matrix)
        self._kind = kind_of(image)
        log(self._native.note)

    def register(
        self,
        moving: ImageLike,
        *,
        mask: Optional[Masks] = None,
        lesion: Optional[Lesions] = None,
        channels: Sequence[ImageLike] = (),
        output: str = "host",
        progress: Progress = None,
    ) -> Registration:
        """Registers a moving image to this fixed image. The arguments are those of `register`."""
        moving_side = side(moving, "the moving image", channels, mask, lesion)
        with Follower(progress) as follower:
            native = self._native.register(moving_side, follower.callback, _keeps(output))
        return _result(native, self._kind)


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
    **options: OptionValue,
) -> Iterator[Registration]:
    """Registers many moving images to one fixed image. Images are read while earlier registrations run.

    Parameters
    ----------
    fixed : image
        The fixed image.
    movings : images
        The moving images. If they are paths, each file is read shortly before its registration, so that few are in
        memory.
    workers : int, optional
        Number of simultaneous registrations on each device. The default is 5 on a GPU and 1 on the CPU, which uses all
        cores.
    device : str
        As for `register`, or several GPUs: ``cuda:0,1``, ``cuda:all``; ``auto`` uses all GPUs.
    transform, preset, stages, fixed_mask, initial, linear, syn, levels, dof, search_degrees, **options
        As for `register`.

    Yields
    ------
    Registration
        The results in the order of the moving images. An image that cannot be registered raises its error in place of
        its result.

    Examples
    --------
    >>> for path, result in zip(paths, register_many("template.nii.gz", paths)):  # doctest: +SKIP
    ...     result.save(path.with_suffix(""))
    """
    several = list(movings)
    wanted = plan(transform, preset, stages, linear, syn, levels, dof, search_degrees, 0, options)
    name, matrix = start(initial, wanted.usual_start, options)
    fixed_side = side(fixed, "the fixed image", (), fixed_mask)

    def load(number: int) -> _native.Side:
        return side(several[number], f"moving image {number + 1}", (), None)

    many = _native.Many(fixed_side, wanted, device, workers, len(several), load, name, matrix)
    return _results(many, kind_of(fixed))


def _results(many: _native.Many, kind: str) -> Iterator[Registration]:
    try:
        for native in many:
            for note in many.notes():
                log(note)
            yield _result(native, kind)
    finally:
        many.close()
