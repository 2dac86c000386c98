"""Options of a registration: converts arguments of Python functions to the form that the native library reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np
from numpy.typing import ArrayLike

from . import _native
from ._errors import InputError, OptionError
from ._images import ImageLike, is_path, path_of, read, with_mask
from ._process import plain
from ._transforms import TransformLike, chain_of

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

#: Options of a stage as a dictionary, such as ``{"cost": "nmi"}``.
Options: TypeAlias = Mapping[str, Any]
#: Value of an option of the command: a name, a number, numbers, or whether a flag is on.
OptionValue: TypeAlias = Union[str, float, bool, Sequence[float]]
#: An initial transform: ``centre-of-mass``, ``headers``, or an affine from fixed to moving points. The affine is a
#: file, a matrix (4×4, RAS mm) or a `Transform`.
Start: TypeAlias = "Union[str, ArrayLike, TransformLike]"
#: A mask for all stages, or a list with a mask (or None) for each stage.
Masks: TypeAlias = "Union[ImageLike, list[Optional[ImageLike]]]"
Lesions: TypeAlias = "Union[ImageLike, list[ImageLike]]"


def plan(
    transform: Optional[str],
    preset: str,
    stages: Optional[Sequence[Options]],
    linear: Optional[Options],
    syn: Optional[Options],
    levels: Optional[Options],
    dof: Optional[int],
    search_degrees: Optional[Sequence[float]],
    channels: int,
    options: Mapping[str, OptionValue],
) -> _native.Plan:
    """Converts arguments of `register` to the registration method of the native library.

    ``channels`` is the number of image channels in addition to the first pair of images. ``options`` are options of
    the command by their names, which the native library checks.
    """
    if stages is not None:
        given = {"transform": transform, "linear": linear, "syn": syn, "levels": levels, "dof": dof}
        for name, value in {**given, "search_degrees": search_degrees, **options}.items():
            if value is not None:
                raise OptionError(f"{name}: cannot be given together with stages")
        return _native.Plan.stages(_json(list(stages)))
    recipe: dict[str, Any] = {"preset": preset}
    for name, value in {
        "model": transform,
        "dof": dof,
        "linear": linear,
        "syn": syn,
        "schedule": levels,
        "search_degrees": search_degrees,
    }.items():
        if value is not None:
            recipe[name] = value
    named = [(name, plain(value)) for name, value in options.items() if value is not None and name != _START]
    return _native.Plan.recipe(_json(recipe), channels, named)


def _json(value: Any) -> str:
    def jsonable(item: Any) -> Any:
        if isinstance(item, (np.ndarray, np.generic)):
            return item.tolist()
        if isinstance(item, Mapping):
            return dict(item)
        raise TypeError(type(item).__name__)

    try:
        return json.dumps(value, default=jsonable, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise OptionError(f"options: expected finite numbers, texts, lists or dictionaries, found: {error}") from None


#: The command's name of the argument ``initial``.
_START = "initial_transform"


def start(
    given: Optional[Start], usual: str, options: Mapping[str, OptionValue]
) -> tuple[str, Optional[_native.Matrix]]:
    """Converts an initial transform to a name and, if it is an affine, its matrix.

    The initial transform is ``given``, or that among ``options`` by the name of the command.
    """
    by_name: Any = options.get(_START)
    if given is not None and by_name is not None:
        raise OptionError(f"{_START}: it is another name of initial; give one of them")
    given = by_name if given is None else given
    if given is None:
        return usual, None
    if isinstance(given, str) and given in ("centre-of-mass", "center-of-mass", "headers"):
        return given, None
    chain = chain_of(given, "the initial transform")
    matrix = chain.whole_affine()
    if matrix is None:
        raise InputError("initial: expected an affine, found a transform with a warp")
    return (path_of(given) if is_path(given) else "initial"), matrix


def side(
    image: ImageLike,
    name: str,
    channels: Sequence[ImageLike],
    mask: Optional[Masks],
    lesion: Union[None, ImageLike, list[ImageLike]] = None,
) -> _native.Side:
    """Loads all images of the fixed or of the moving subject: the image, further channels, masks and lesions.

    The mask of a masked array is the mask of the image.
    """
    image, mask = with_mask(image, mask, name)
    further = [read(channel, f"channel {n} of {name}") for n, channel in enumerate(channels, 2)]
    masks: Union[None, _native.Image, list[Optional[_native.Image]]]
    if mask is None:
        masks = None
    elif isinstance(mask, list):
        masks = [None if one is None else read(one, f"mask {n} of {name}") for n, one in enumerate(mask, 1)]
    else:
        masks = read(mask, f"the mask of {name}")
    given = lesion if isinstance(lesion, list) else [] if lesion is None else [lesion]
    lesions = [read(one, f"lesion {n} of {name}") for n, one in enumerate(given, 1)]
    return _native.Side(read(image, name), further, masks, lesions)
