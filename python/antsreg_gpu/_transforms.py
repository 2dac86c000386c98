"""Transforms: reading, writing, and application to images, label maps and points."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._errors import InputError, OptionError, SpaceWarning
from ._images import ImageLike, is_path, kind_of, made, path_of, read, read_labels, space_of
from ._kept import Steps, chain_of_steps, steps_of
from ._process import run_command

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from ._registration import Registration

#: What a function accepts as a transform: a file (or ``[file,1]`` for the inverse of an affine), a matrix (4×4, RAS
#: mm), a warp as a pair (vectors X×Y×Z×3 in RAS mm, voxel-to-world matrix), a `Transform`, or a `Registration`. A
#: registration stands for its transform from fixed to moving points.
TransformLike: TypeAlias = "Union[str, os.PathLike[str], ArrayLike, tuple[ArrayLike, ArrayLike], Transform, Registration]"


class Transform:
    """A sequence of transforms from points of the output image to points of the input image.

    A point goes through the first transform first. To resample the input image on the grid of the output image, each
    output voxel is mapped by the sequence to a point of the input image.

    Examples
    --------
    >>> import numpy as np
    >>> shift = Transform(np.array([[1, 0, 0, 5.0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]))
    >>> shift.transform_points([[1.0, 2.0, 3.0]])
    array([[6., 2., 3.]])
    """

    def __init__(self, *steps: TransformLike) -> None:
        self._chain = _native.Chain.joined([chain_of(step, "a transform") for step in steps])

    def __reduce__(self) -> Any:
        return _unpickled, (steps_of(self._chain),)

    @classmethod
    def _of(cls, chain: _native.Chain) -> Transform:
        transform = cls.__new__(cls)
        transform._chain = chain
        return transform

    @property
    def affine(self) -> Optional[NDArray[np.float64]]:
        """The composition of all transforms, 4×4, RAS mm. None if the sequence contains a warp."""
        matrix = self._chain.whole_affine()
        return None if matrix is None else np.array(matrix)

    @property
    def warps(self) -> list[tuple[NDArray[np.float32], NDArray[np.float64]]]:
        """The warps of the sequence: vectors (X×Y×Z×3, RAS mm) with their voxel-to-world matrix (4×4, RAS mm).

        The arrays are read-only.
        """
        found = []
        for step, kind in enumerate(self._chain.kinds):
            space = self._chain.space(step)
            if kind == "warp" and space is not None:
                found.append((self._chain.vectors(step), np.array(space.affine)))
        return found

    @property
    def kinds(self) -> list[str]:
        """The type of each transform in the sequence: ``affine`` or ``warp``."""
        return self._chain.kinds

    def inverse(self) -> Transform:
        """The inverse of a sequence of affines. A warp has no exact inverse: use its registration's inverse warp."""
        matrix = self._chain.whole_affine()
        if matrix is None:
            raise InputError("a warp has no exact inverse; take the inverse warp that its registration gave")
        return Transform._of(_native.Chain.of_affine(matrix, True, "the inverse"))

    def transform_points(self, points: ArrayLike) -> NDArray[np.float64]:
        """Maps points (N×3, RAS mm) of the output image to the input image."""
        return _points(points, self._chain)

    def apply(
        self, image: ImageLike, reference: ImageLike, *, interpolation: str = "linear", outside: float = 0.0
    ) -> Any:
        """Resamples an image on the grid of a reference image. Other arguments are those of `antsreg_gpu.apply`."""
        return apply(image, reference, self, interpolation=interpolation, outside=outside)

    def explain(self) -> str:
        """A text that names, for each transform of the sequence, the spaces of its input and output points."""
        return self._chain.explain()

    def __repr__(self) -> str:
        return f"Transform({', '.join(self.kinds)})"


def _unpickled(steps: Steps) -> Transform:
    return Transform._of(chain_of_steps(steps))


def chain_of(given: Any, name: str) -> _native.Chain:
    """Converts a transform in any accepted form to the library's form."""
    if isinstance(given, _native.Chain):
        return given
    native = getattr(given, "_chain", None)
    if isinstance(native, _native.Chain):
        return native
    if is_path(given):
        path = path_of(given)
        if path.startswith("[") and path.endswith((",1]", ",0]")):
            return _native.Chain.read(path[1:-3].strip(), path[-2] == "1")
        return _native.Chain.read(path, False)
    if isinstance(given, tuple) and len(given) == 2:
        vectors = np.asarray(given[0], dtype=np.float32)
        if vectors.ndim != 4:
            raise InputError(f"{name}: expected a warp of shape X×Y×Z×3, found shape {vectors.shape}")
        return _native.Chain.of_warp(vectors, np.asarray(given[1], dtype=np.float64).tolist(), name)
    matrix = np.asarray(given, dtype=np.float64)
    if matrix.shape != (4, 4):
        raise InputError(f"{name}: expected a file, a 4×4 matrix or a warp, found shape {matrix.shape}")
    return _native.Chain.of_affine(matrix.tolist(), False, name)


def _joined(transforms: Union[TransformLike, Sequence[TransformLike]]) -> _native.Chain:
    several = transforms if isinstance(transforms, list) else [transforms]
    return _native.Chain.joined([chain_of(one, f"transform {n}") for n, one in enumerate(several, 1)])


def apply(
    image: ImageLike,
    reference: ImageLike,
    transforms: Union[TransformLike, list[TransformLike]],
    *,
    interpolation: str = "linear",
    outside: float = 0.0,
) -> Any:
    """Resamples an image on the grid of a reference image.

    Parameters
    ----------
    image : image
        The image to be resampled.
    reference : image
        The image whose grid the result gets. Its voxels are not used.
    transforms : transform or list of transforms
        Transforms from points of the reference to points of the image. A point goes through the first transform first,
        as with ``antsApplyTransforms``.
    interpolation : str
        ``linear``, ``nearest``, ``bspline``, ``sinc``, ``gaussian``; for label maps ``generic-label``.
    outside : float
        Value of voxels whose points are outside the image.

    Returns
    -------
    image
        The resampled image in single precision, or with 32-bit integers for ``generic-label``.

    Examples
    --------
    >>> import numpy as np
    >>> image = (np.random.default_rng(0).random((8, 8, 8)), np.eye(4))
    >>> apply(image, image, np.eye(4)).shape
    (8, 8, 8)
    """
    chain, space = _joined(transforms), space_of(reference, "the reference")
    if interpolation == "generic-label":
        if outside != 0.0:
            raise OptionError("outside: has no effect on label maps, where voxels outside the image get label 0")
        labels, told = _native.resample_labels(read_labels(image, "the image"), space, chain, interpolation)
        _warn(told)
        return made(labels.array, labels.affine, kind_of(image))
    carried, told = _native.resample(read(image, "the image"), space, chain, interpolation, outside)
    _warn(told)
    return made(carried.array, carried.affine, kind_of(image))


def apply_points(
    points: ArrayLike, transforms: Union[TransformLike, list[TransformLike]]
) -> NDArray[np.float64]:
    """Maps points by transforms.

    Parameters
    ----------
    points : array, N×3
        Points in RAS mm.
    transforms : transform or list of transforms
        A point goes through the first transform first. A `Registration` maps points of the fixed image to the moving
        image.

    Returns
    -------
    array, N×3
        The mapped points in RAS mm.

    Examples
    --------
    >>> import numpy as np
    >>> apply_points([[1.0, 2.0, 3.0]], np.diag([2.0, 2.0, 2.0, 1.0]))
    array([[2., 4., 6.]])
    """
    return _points(points, _joined(transforms))


def _points(points: ArrayLike, chain: _native.Chain) -> NDArray[np.float64]:
    typed = np.asarray(points, dtype=np.float64)
    if typed.ndim != 2:
        raise InputError(f"points: expected N×3 numbers, found shape {typed.shape}")
    moved, told = _native.apply_points(typed, chain)
    _warn(told)
    return moved


def _warn(texts: Sequence[str]) -> None:
    for text in texts:
        warnings.warn(text, SpaceWarning, stacklevel=3)


def read_transform(
    path: Union[str, os.PathLike[str]],
    *,
    fixed: Optional[ImageLike] = None,
    moving: Optional[ImageLike] = None,
) -> Transform:
    """Reads a transform from a file of ITK or FLIRT.

    Files of ITK hold affines (``.mat``, ``.txt``, ``.tfm``), warps (``.nii.gz``) or composites (``.h5``). If both
    images are given, the file is read as FLIRT's matrix.

    Parameters
    ----------
    path : path
        Path of the file.
    fixed, moving : image, optional
        FLIRT's reference and input images. Their grids are needed to interpret FLIRT's matrix.
    """
    if (fixed is None) != (moving is None):
        raise OptionError("FSL's matrices need both images, fixed and moving")
    if fixed is None or moving is None:
        return Transform._of(_native.Chain.read(path_of(path), False))
    spaces = space_of(fixed, "the fixed image"), space_of(moving, "the moving image")
    return Transform._of(_native.Chain.read_fsl(path_of(path), *spaces))


def write_transform(
    path: Union[str, os.PathLike[str]],
    transform: TransformLike,
    *,
    fixed: Optional[ImageLike] = None,
    moving: Optional[ImageLike] = None,
    centre: Sequence[float] = (0.0, 0.0, 0.0),
) -> None:
    """Writes transforms to a file for ITK and ANTs, or an affine as FLIRT's matrix.

    The ending of the path chooses the format of ITK: one affine (``.mat``, ``.txt``, ``.tfm``), one warp (``.nii.gz``,
    ``.nii``), or a whole sequence (``.h5``). If both images are given, an affine is written as FLIRT's matrix.

    Parameters
    ----------
    path : path
        Path of the file.
    transform : transform
        An affine, a warp or a sequence, as the format allows.
    fixed, moving : image, optional
        FLIRT's reference and input images.
    centre : three numbers
        Centre that is written to ITK's file of an affine, RAS mm. The mapping does not depend on the centre.
    """
    chain = chain_of(transform, "the transform")
    if (fixed is None) != (moving is None):
        raise OptionError("FSL's matrices need both images, fixed and moving")
    if fixed is None or moving is None:
        chain.write(path_of(path), list(centre))
    else:
        chain.write_fsl(path_of(path), space_of(fixed, "the fixed image"), space_of(moving, "the moving image"))


def convert(
    transform: Union[str, os.PathLike[str]], output: Union[str, os.PathLike[str]], **options: Any
) -> Path:
    """Converts the file of a transform to another format, as the command ``antsreg-gpu convert`` does.

    Parameters
    ----------
    transform : path
        File of the transform.
    output : path
        File to write. Its name says the format, unless an option does.
    **options
        Options of ``antsreg-gpu convert`` by their names, such as ``fixed="f.nii.gz"`` and ``to="fsl"``; ``from_`` is
        the option ``--from``. Images are given as paths.

    Returns
    -------
    path
        The written file.

    Examples
    --------
    >>> convert("flirt.mat", "affine.txt", fixed="f.nii.gz", moving="m.nii.gz")  # doctest: +SKIP
    """
    run_command("convert", transform, output, quiet=True, **options)
    return Path(path_of(output))
