"""Conversion of images between other libraries and this package."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional, Protocol, Union, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._errors import HeaderWarning, InputError

if TYPE_CHECKING:
    from typing_extensions import TypeAlias


@runtime_checkable
class SpatialImage(Protocol):
    """Protocol of images with a voxel-to-world matrix (4×4, RAS mm), such as nibabel's images and `Image`."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def affine(self) -> Any: ...

    @property
    def dataobj(self) -> Any: ...

    def get_fdata(self) -> Any: ...


#: What a function accepts as an image: a path, an image of nibabel, ANTsPy or SimpleITK, or an array with its
#: voxel-to-world matrix (4×4, RAS mm).
ImageLike: TypeAlias = Union[str, "os.PathLike[str]", SpatialImage, "tuple[ArrayLike, ArrayLike]", Any]


class Image:
    """An image for users without nibabel: an array and its voxel-to-world matrix.

    Parameters
    ----------
    array : array, X×Y×Z or X×Y
        The voxels.
    affine : array, 4×4
        The map from voxel indices to the world, RAS mm.

    Examples
    --------
    >>> import numpy as np
    >>> image = Image(np.zeros((4, 5, 6), dtype=np.float32), np.eye(4))
    >>> image.shape
    (4, 5, 6)
    """

    def __init__(self, array: ArrayLike, affine: ArrayLike) -> None:
        self._array = np.asanyarray(array)
        self._affine = np.asarray(affine, dtype=np.float64)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of voxels along each axis of the image."""
        return self._array.shape

    @property
    def affine(self) -> NDArray[np.float64]:
        """The map from voxel indices to the world, 4×4, RAS mm."""
        return self._affine

    @property
    def dataobj(self) -> NDArray[Any]:
        """The voxels."""
        return self._array

    def get_fdata(self) -> NDArray[np.float64]:
        """A copy of the voxels in double precision, as nibabel's method of this name returns it."""
        return self._array.astype(np.float64)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.array(self._array, dtype=dtype, copy=bool(copy))

    def __repr__(self) -> str:
        return f"Image(shape={self.shape}, dtype={self._array.dtype})"


def kind_of(given: object) -> str:
    """The library whose image this is, if results are returned as its images: ``ants``, ``SimpleITK``, or nothing."""
    module = type(given).__module__.split(".")[0]
    return {"ants": "ants", "antspyx": "ants", "SimpleITK": "SimpleITK"}.get(module, "")


def made(array: NDArray[Any], affine: ArrayLike, kind: str = "") -> Any:
    """Returns a computed image as an image of the library ``kind``.

    Without ``kind`` it is an image of nibabel if nibabel is installed, otherwise an `Image`.
    """
    if kind:
        return _as_itk(array, np.asarray(affine, dtype=np.float64), kind)
    try:
        nibabel: Any = importlib.import_module("nibabel")
    except ImportError:
        return Image(array, affine)
    image: SpatialImage = nibabel.Nifti1Image(array, np.asarray(affine, dtype=np.float64))
    return image


def _as_itk(array: NDArray[Any], affine: NDArray[np.float64], kind: str) -> Any:
    """An image of ANTsPy or SimpleITK. The fourth axis of a series has the spacing 1."""
    axes = min(array.ndim, 3)
    world = LPS @ affine
    lengths = np.linalg.norm(world[:axes, :axes], axis=0)
    spacing, origin, direction = np.ones(array.ndim), np.zeros(array.ndim), np.eye(array.ndim)
    spacing[:axes], origin[:axes], direction[:axes, :axes] = lengths, world[:axes, 3], world[:axes, :axes] / lengths
    if kind == "ants":
        ants: Any = importlib.import_module("ants")
        return ants.from_numpy(
            np.ascontiguousarray(array), origin=origin.tolist(), spacing=spacing.tolist(), direction=direction
        )
    sitk: Any = importlib.import_module("SimpleITK")
    image = sitk.GetImageFromArray(np.ascontiguousarray(array.T), isVector=False)
    image.SetOrigin(origin.tolist())
    image.SetSpacing(spacing.tolist())
    image.SetDirection(direction.ravel().tolist())
    return image


def is_path(given: object) -> bool:
    """Whether the image is given as the path of a file."""
    return isinstance(given, (str, os.PathLike))


def path_of(given: Any) -> str:
    """The path of a file as text."""
    name = os.fspath(given)
    return name if isinstance(name, str) else os.fsdecode(name)


def read(given: ImageLike, name: str) -> _native.Image:
    """Loads an image into the library. ``name`` stands for the image in messages if the image has no file name."""
    if isinstance(given, _native.Image):
        return given
    if is_path(given):
        image = _native.Image.read(path_of(given))
        if image.warning is not None:
            warnings.warn(image.warning, HeaderWarning, stacklevel=4)
        return image
    if isinstance(given, tuple) and len(given) == 2:
        turned = _turned_on_gpu(given[0])
        if turned is not None:
            return _native.Image.of_dlpack(turned.__dlpack__(stream=_DEFAULT_STREAM), _matrix(given[1], name), name)
    array, affine, known = parts(given, name)
    return _native.Image.copy(np.asarray(array, dtype=np.float32), affine, known)


def read_labels(given: ImageLike, name: str) -> _native.Labels:
    """Loads a label map into the library. ``name`` stands for the map in messages if it has no file name."""
    if isinstance(given, _native.Labels):
        return given
    if is_path(given):
        return _native.Labels.read(path_of(given))
    array, affine, known = parts(given, name)
    whole = np.asarray(array)
    labels = whole.astype(np.int32)
    wrong = int(np.count_nonzero(labels != whole))
    if wrong:
        raise InputError(f"{known}: expected labels (32-bit integers), found other values in {wrong} voxels")
    return _native.Labels.copy(labels, affine, known)


def write_image(path: Union[str, os.PathLike[str]], image: ImageLike) -> None:
    """Writes an image to a file with the same bytes that the command ``antsreg-gpu`` writes.

    Parameters
    ----------
    path : path
        File of the image. The end of its name says the format, such as ``.nii.gz`` or ``.mgz``. An existing file is
        replaced; the new file appears whole or not at all.
    image : image
        An image of any kind that `register` takes. Voxels of an integer type are labels, and are written in the
        smallest integer type that holds all of them. Others are written in single precision.

    Examples
    --------
    >>> found = brain("head.nii.gz")  # doctest: +SKIP
    >>> write_image("mask.nii.gz", found.mask)  # doctest: +SKIP
    """
    if not is_path(image) and parts(image, "the image")[0].dtype.kind in ("b", "u", "i"):
        read_labels(image, "the image").write(path_of(path))
    else:
        read(image, "the image").write(path_of(path))


def space_of(given: ImageLike, name: str) -> _native.Space:
    """The grid of an image. Only the header of a file is read; voxels are not used."""
    if isinstance(given, _native.Space):
        return given
    if isinstance(given, (_native.Image,)):
        return given.space
    if is_path(given):
        return _native.Space.read(path_of(given))
    shape, affine, known = place(given, name)
    return _native.Space(list(shape), affine, known)


def place(given: Any, name: str) -> tuple[Sequence[int], _native.Matrix, str]:
    """Shape, voxel-to-world matrix and name of an image in memory."""
    if isinstance(given, SpatialImage):
        return _flat(given.shape), _matrix(given.affine, name), _file_of(given) or name
    array, affine, known = parts(given, name)
    return array.shape, affine, known


def parts(given: Any, name: str) -> tuple[NDArray[Any], _native.Matrix, str]:
    """Voxels, voxel-to-world matrix (4×4, RAS mm) and name of an image that is not given as a file."""
    if isinstance(given, tuple) and len(given) == 2:
        array = _numbers(_array(given[0]), name)
        return array, _matrix(given[1], name), name
    if isinstance(given, SpatialImage):
        known = _file_of(given) or name
        array = _numbers(np.asanyarray(given.dataobj), known)
        return array.reshape(_flat(array.shape)), _matrix(given.affine, known), known
    module = type(given).__module__.split(".")[0]
    if module in ("ants", "antspyx", "SimpleITK"):
        array, affine = (_of_sitk if module == "SimpleITK" else _of_ants)(given)
        return _numbers(array, name), affine, name
    raise InputError(
        f"{name}: expected a path, an image of nibabel, ANTsPy or SimpleITK, or (array, affine), "
        f"found {type(given).__module__}.{type(given).__qualname__}"
    )


#: DLPack's numbers for memory types: main memory (pageable and page-locked), and GPU memory of CUDA.
_MAIN_MEMORY = (1, 3)
_CUDA = 2
#: DLPack's number for CUDA's legacy default stream. The library's own CUDA streams wait for work on this stream.
_DEFAULT_STREAM = 1


def masked_apart(given: ImageLike) -> tuple[ImageLike, Optional[ImageLike]]:
    """Separates an image whose array is masked into the image without mask, and the mask of the voxels that count.

    Any other image is returned as it is, without a mask.
    """
    if isinstance(given, tuple) and len(given) == 2:
        array, affine = given
    elif isinstance(given, SpatialImage) and isinstance(given.dataobj, np.ma.MaskedArray):
        array, affine = given.dataobj, given.affine
    else:
        return given, None
    if not isinstance(array, np.ma.MaskedArray) or not np.ma.is_masked(array):
        return given, None
    return (np.asarray(array), affine), (~np.asarray(array.mask, dtype=bool), affine)


def with_mask(
    image: ImageLike, mask: Union[None, ImageLike, list[Any]], name: str
) -> tuple[ImageLike, Union[None, ImageLike, list[Any]]]:
    """Separates an image from the mask that belongs to it: the given mask, or the mask of its masked array.

    Both together are refused. ``name`` is the name of the image in messages.
    """
    image, counted = masked_apart(image)
    if counted is None:
        return image, mask
    if mask is not None:
        raise InputError(f"{name}: the array is masked, and a mask is given, too; give one of them")
    return image, counted


def _numbers(array: NDArray[Any], name: str) -> NDArray[Any]:
    """The array, if its values are real numbers and all of them count."""
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name}: expected an array of real numbers, found values of type {array.dtype}")
    if isinstance(array, np.ma.MaskedArray):
        if np.ma.is_masked(array):
            raise InputError(
                f"{name}: the array is masked, expected an array without a mask; only images that have a mask as another "
                "argument may be masked. Give array.filled(value)"
            )
        return np.asarray(array)
    return array


def _array(given: Any) -> NDArray[Any]:
    """A numpy array of any array that supports DLPack. Arrays in GPU memory are copied to main memory."""
    if isinstance(given, np.ndarray) or not hasattr(given, "__dlpack_device__"):
        return np.asanyarray(given)
    # PyTorch refuses DLPack for tensors that require gradients, so the tensor is detached.
    given = given.detach() if hasattr(given, "detach") else given
    if given.__dlpack_device__()[0] in _MAIN_MEMORY:
        return np.from_dlpack(given)
    # PyTorch (`cpu`) and CuPy (`get`) copy from GPU memory by a method; other libraries copy in `np.asarray`.
    for copy in ("cpu", "get"):
        if hasattr(given, copy):
            return np.asarray(getattr(given, copy)())
    return np.asarray(given)


def _turned_on_gpu(given: Any) -> Any:
    """Converts an array in GPU memory to what the library reads: reversed axes, contiguous, single precision.

    The array's own library does this on the GPU. Returns None if the array is not in GPU memory, if its values are not
    real numbers, or if its library has no suitable functions.
    """
    if not hasattr(given, "__dlpack_device__") or given.__dlpack_device__()[0] != _CUDA:
        return None
    backwards = tuple(reversed(range(given.ndim)))
    if "complex" in str(getattr(given, "dtype", "")):
        return None
    if hasattr(given, "permute"):
        return given.detach().float().permute(backwards).contiguous()
    if hasattr(given, "transpose") and hasattr(given, "astype"):
        turned = given.astype("float32").transpose(backwards)
        # JAX always exports contiguous arrays, so only arrays of other libraries are copied.
        return turned.copy() if hasattr(given, "flags") else turned
    return None


def _flat(shape: Sequence[int]) -> tuple[int, ...]:
    """Removes axes of one voxel after the third axis from a shape."""
    shape = tuple(shape)
    while len(shape) > 3 and shape[-1] == 1:
        shape = shape[:-1]
    return shape


def _matrix(given: Any, name: str) -> _native.Matrix:
    matrix = np.asarray(given, dtype=np.float64)
    if matrix.shape != (4, 4):
        raise InputError(f"{name}: expected a 4×4 voxel-to-world matrix, found shape {matrix.shape}")
    rows: list[list[float]] = matrix.tolist()
    return rows


def _file_of(image: Any) -> Optional[str]:
    """The name of the file from which nibabel read an image; None if the image is not from a file."""
    get = getattr(image, "get_filename", None)
    name = get() if get is not None else None
    return name if isinstance(name, str) else None


#: Matrix between ITK's world coordinates (LPS) and those of NIfTI (RAS); it is its own inverse.
LPS = np.diag([-1.0, -1.0, 1.0, 1.0])


def world_of_itk(spacing: Sequence[float], origin: Sequence[float], direction: ArrayLike) -> NDArray[np.float64]:
    """The voxel-to-world matrix (RAS mm) of an ITK image with two or three axes, or of a series with four."""
    turned = np.asarray(direction, dtype=np.float64).reshape(len(spacing), len(spacing))
    axes = min(len(spacing), 3)
    matrix = np.eye(4)
    matrix[:axes, :axes] = turned[:axes, :axes] * np.asarray(spacing[:axes])
    matrix[:axes, 3] = origin[:axes]
    return np.asarray(LPS @ matrix, dtype=np.float64)


def _of_ants(image: Any) -> tuple[NDArray[Any], _native.Matrix]:
    array = image.numpy()
    matrix: list[list[float]] = world_of_itk(image.spacing, image.origin, image.direction).tolist()
    return array, matrix


def _of_sitk(image: Any) -> tuple[NDArray[Any], _native.Matrix]:
    sitk: Any = importlib.import_module("SimpleITK")
    array = np.asarray(sitk.GetArrayViewFromImage(image)).T
    matrix: list[list[float]] = world_of_itk(
        image.GetSpacing(), image.GetOrigin(), image.GetDirection()
    ).tolist()
    return array, matrix
