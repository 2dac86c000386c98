"""Exceptions and warnings of the package. Their messages are those of the command ``antsreg-gpu``."""


class Error(Exception):
    """The base class of all exceptions of this package."""


class InputError(Error, ValueError):
    """Raised if images, masks, labels or transforms cannot be used, or cannot be used together."""


class OptionError(Error, ValueError):
    """Raised if options are unknown, out of range, or cannot be combined."""


class FileError(Error, OSError):
    """Raised if a file cannot be read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """Raised if an input file, or the folder for an output file, does not exist."""


class DeviceError(Error, RuntimeError):
    """Raised if a device cannot be used, or fails during a computation."""


class DeviceMemoryError(DeviceError, MemoryError):
    """Raised if a device has too little free memory."""


class StoppedError(Error, RuntimeError):
    """Raised if a registration was stopped before its end."""


class ForkedError(Error, RuntimeError):
    """Raised in a process that was forked after the package was used: threads and devices do not survive a fork."""


class AntsregWarning(UserWarning):
    """The base class of all warnings of this package."""


class ResultWarning(AntsregWarning):
    """Warns that a result may be wrong, for example if the cost is worse than at the start."""


class HeaderWarning(AntsregWarning):
    """Warns that other programs interpret the header of an image differently."""


class ContentWarning(AntsregWarning):
    """Warns that an image holds something else than the function expects, for example labels."""


class SpaceWarning(AntsregWarning):
    """Warns that two images hardly overlap in world space, or that points are outside a warp."""
