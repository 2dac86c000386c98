"""Exceptions and warnings of the package. Their texts are those of the library."""


class Error(Exception):
    """The base class of all exceptions of this package."""


class InputError(Error, ValueError):
    """Images, masks, labels or transforms that cannot be used, or do not go together."""


class OptionError(Error, ValueError):
    """Options that are unknown, out of range, or do not go together."""


class FileError(Error, OSError):
    """A file that cannot be read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """A file, or a folder to write into, that is not there."""


class DeviceError(Error, RuntimeError):
    """A device that cannot be used, or that fails."""


class DeviceMemoryError(DeviceError, MemoryError):
    """A device with too little free memory."""


class StoppedError(Error, RuntimeError):
    """A registration that was stopped."""


class ForkedError(Error, RuntimeError):
    """A process that was forked after the package had been used. Threads and devices do not survive a fork."""


class AntsregWarning(UserWarning):
    """The base class of all warnings of this package."""


class ResultWarning(AntsregWarning):
    """A doubt about a result, such as one that is worse than the start."""


class HeaderWarning(AntsregWarning):
    """A header that other programs read differently."""


class SpaceWarning(AntsregWarning):
    """Spaces that hardly meet, or points outside a warp."""
