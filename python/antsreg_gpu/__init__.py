"""Affine and diffeomorphic registration of brain images on CPU and GPU, with numpy arrays as input and output.

>>> import antsreg_gpu
>>> result = antsreg_gpu.register("fixed.nii.gz", "moving.nii.gz")  # doctest: +SKIP
>>> result.warped  # doctest: +SKIP

World coordinates are RAS mm, as in NIfTI and nibabel. Transforms map points of the fixed image to points of the moving
image. They are used to resample the moving image on the grid of the fixed image.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._cohorts import labels as labels
    from ._cohorts import template as template
    from ._distortion import Undistorted as Undistorted
    from ._distortion import undistort as undistort
    from ._errors import AntsregWarning as AntsregWarning
    from ._errors import ContentWarning as ContentWarning
    from ._errors import DeviceError as DeviceError
    from ._errors import DeviceMemoryError as DeviceMemoryError
    from ._errors import Error as Error
    from ._errors import FileError as FileError
    from ._errors import ForkedError as ForkedError
    from ._errors import HeaderWarning as HeaderWarning
    from ._errors import InputError as InputError
    from ._errors import MissingFileError as MissingFileError
    from ._errors import OptionError as OptionError
    from ._errors import ResultWarning as ResultWarning
    from ._errors import SpaceWarning as SpaceWarning
    from ._errors import StoppedError as StoppedError
    from ._heads import BiasCorrection as BiasCorrection
    from ._heads import Brain as Brain
    from ._heads import bias_correct as bias_correct
    from ._heads import brain as brain
    from ._images import Image as Image
    from ._images import SpatialImage as SpatialImage
    from ._images import write_image as write_image
    from ._measures import Comparison as Comparison
    from ._measures import Jacobian as Jacobian
    from ._measures import Measures as Measures
    from ._measures import Overlap as Overlap
    from ._measures import compare as compare
    from ._measures import devices as devices
    from ._measures import jacobian as jacobian
    from ._measures import overlap as overlap
    from ._measures import release_devices as release_devices
    from ._measures import set_threads as set_threads
    from ._measures import threads as threads
    from ._measures import why_no_gpu as why_no_gpu
    from ._names import label_names as label_names
    from ._native import VERSION as __version__
    from ._process import run_command as run_command
    from ._progress import Report as Report
    from ._registration import Fixed as Fixed
    from ._registration import OnDevice as OnDevice
    from ._registration import Registration as Registration
    from ._registration import register as register
    from ._registration import register_many as register_many
    from ._series import Series as Series
    from ._series import motion as motion
    from ._series import register_series as register_series
    from ._studies import Study as Study
    from ._studies import Subject as Subject
    from ._studies import batch as batch
    from ._studies import normalise as normalise
    from ._transforms import Transform as Transform
    from ._transforms import apply as apply
    from ._transforms import apply_points as apply_points
    from ._transforms import convert as convert
    from ._transforms import read_transform as read_transform
    from ._transforms import write_transform as write_transform
    from ._verdict import Verdict as Verdict

#: For each module of the package, the public names that it defines. Modules are imported when a name is first used, so
#: that the command `antsreg-gpu` starts fast.
_PLACES = {
    "_cohorts": ("labels", "template"),
    "_distortion": ("Undistorted", "undistort"),
    "_errors": (
        "AntsregWarning",
        "ContentWarning",
        "DeviceError",
        "DeviceMemoryError",
        "Error",
        "FileError",
        "ForkedError",
        "HeaderWarning",
        "InputError",
        "MissingFileError",
        "OptionError",
        "ResultWarning",
        "SpaceWarning",
        "StoppedError",
    ),
    "_heads": ("BiasCorrection", "Brain", "bias_correct", "brain"),
    "_images": ("Image", "SpatialImage", "write_image"),
    "_measures": (
        "Comparison",
        "Jacobian",
        "Measures",
        "Overlap",
        "compare",
        "devices",
        "jacobian",
        "overlap",
        "release_devices",
        "set_threads",
        "threads",
        "why_no_gpu",
    ),
    "_names": ("label_names",),
    "_process": ("run_command",),
    "_progress": ("Report",),
    "_registration": ("Fixed", "OnDevice", "Registration", "register", "register_many"),
    "_series": ("Series", "motion", "register_series"),
    "_studies": ("Study", "Subject", "batch", "normalise"),
    "_transforms": ("Transform", "apply", "apply_points", "convert", "read_transform", "write_transform"),
    "_verdict": ("Verdict",),
}
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [*sorted(_MODULE_OF), "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("._native", __name__).VERSION
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
