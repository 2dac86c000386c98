"""Runs the command ``antsreg-gpu`` in a separate process, with options by the names of Python's arguments."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from . import _native
from ._errors import Error, InputError, OptionError
from ._images import is_path, path_of

if TYPE_CHECKING:
    import os

    from typing_extensions import TypeAlias

    #: Path of a file or folder.
    Path: TypeAlias = Union[str, "os.PathLike[str]"]


def words(verb: str, options: Mapping[str, Any]) -> list[str]:
    """Options of a verb as words of its command line: ``cc_radius=4`` becomes ``--cc-radius=4``. None is left out."""
    return _native.words(verb, [(name, plain(value)) for name, value in options.items() if value is not None])


def plain(value: Any) -> Any:
    """The value of an option in types that the native library reads: paths as texts, arrays as lists."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if is_path(value):
        return path_of(value)
    if isinstance(value, (list, tuple)):
        several = [plain(one) for one in value]
        mixed = any(isinstance(one, str) for one in several)
        return [str(one) for one in several] if mixed else several
    return value


def paths(given: Union[Path, Sequence[Path]], name: str) -> list[str]:
    """One path or several as a list of texts. Anything else, such as an image in memory, is refused."""
    several: list[Any] = [given] if is_path(given) else list(given)  # type: ignore[arg-type]
    unnamed = [one for one in several if not is_path(one)]
    if unnamed:
        raise InputError(f"{name}: expected paths, found {type(unnamed[0]).__name__}; save the images first")
    return [path_of(one) for one in several]


def run_command(verb: str, *files: Path, **options: Any) -> str:
    """Runs a verb of the command ``antsreg-gpu`` on files, in a separate process.

    Every verb of the command can be called like this, also those that only write files or texts.

    Parameters
    ----------
    verb : str
        The verb, such as ``"info"`` or ``"register"``.
    *files : path
        Arguments without a name, such as the files of ``info``.
    **options
        Options of the verb by their names, with ``_`` for ``-``: ``cc_radius=4``, ``no_search=True``,
        ``shrink_factors=[4, 2, 1]``. The option ``--from`` is ``from_``.

    Returns
    -------
    str
        What the command prints as its result.

    Raises
    ------
    OptionError
        If the command does not understand the options.
    Error
        If the command fails. The text is the command's message.

    Examples
    --------
    >>> print(run_command("info", "fixed.nii.gz"))  # doctest: +SKIP
    >>> run_command("register", fixed="f.nii.gz", moving="m.nii.gz", output="out/p_", brain="both")  # doctest: +SKIP
    """
    given = [verb, *words(verb, options), "--", *map(path_of, files)]
    done = subprocess.run(
        [sys.executable, "-m", "antsreg_gpu", *given], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if done.returncode:
        kind = OptionError if done.returncode == 2 else Error
        raise kind(_message(done.stderr) or f"{verb}: exit code {done.returncode}")
    return done.stdout


def _message(text: str) -> str:
    """The error in the messages of a command, without the notes and warnings before it."""
    _, mark, error = text.rpartition("error: ")
    return (error if mark else text).strip()
