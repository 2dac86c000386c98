"""Registrations of many files: many subjects to one fixed image, and raw scans to a template."""

from __future__ import annotations

import html
import importlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from . import _native
from ._errors import OptionError, ResultWarning
from ._images import path_of
from ._process import paths, words
from ._progress import LOG

if TYPE_CHECKING:
    import os

    from typing_extensions import TypeAlias

    Path: TypeAlias = Union[str, "os.PathLike[str]"]
    #: Receives a kind of event, the name of the subject, a text, the number of subjects that have ended, and of all.
    StudyProgress: TypeAlias = Union[None, bool, Callable[[str, str, str, int, int], object]]


class Subject(NamedTuple):
    """The outcome of one subject."""

    #: Name of the subject.
    name: str
    #: ``done``, ``skipped`` (its files existed already) or ``failed``.
    status: str
    #: The reason of a failure.
    reason: Optional[str]
    #: The JSON record of the registration: inputs, options, measures and times. None after a failure.
    record: Optional[dict[str, Any]]


class Study(Sequence[Subject]):
    """The outcomes of all subjects of a study, whose files are written."""

    def __init__(self, subjects: Sequence[Subject]) -> None:
        self._subjects = list(subjects)

    def __len__(self) -> int:
        return len(self._subjects)

    def __getitem__(self, index: Any) -> Any:
        return self._subjects[index]

    def __iter__(self) -> Iterator[Subject]:
        return iter(self._subjects)

    @property
    def failed(self) -> dict[str, str]:
        """The names of the subjects that failed, with the reasons."""
        return {subject.name: subject.reason or "" for subject in self if subject.status == "failed"}

    @property
    def table(self) -> Any:
        """The outcomes as a DataFrame of pandas, which must be installed: a row for each subject."""
        pandas: Any = importlib.import_module("pandas")
        return pandas.DataFrame([_row(subject) for subject in self]).set_index("subject")

    def __repr__(self) -> str:
        count = {status: sum(subject.status == status for subject in self) for status in ("done", "skipped", "failed")}
        return f"Study({', '.join(f'{number} {status}' for status, number in count.items())})"

    def _repr_html_(self) -> str:
        """An HTML table of the outcomes, which notebooks display."""
        rows = [_row(subject) for subject in self]
        names = list(rows[0]) if rows else []
        head = "".join(f"<th>{name}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_shown(row[name]))}</td>" for name in names) + "</tr>" for row in rows
        )
        return f"<table><tr>{head}</tr>{body}</table>"


def _row(subject: Subject) -> dict[str, Any]:
    record = subject.record or {}
    overlap = record.get("overlap") or {}
    return {
        "subject": subject.name,
        "status": subject.status,
        "reason": subject.reason,
        "correlation": (record.get("similarity") or {}).get("correlation"),
        "mean_jaccard": overlap.get("mean_jaccard"),
        "seconds": (record.get("seconds") or {}).get("total"),
    }


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def batch(
    fixed: Union[Path, Sequence[Path]],
    subjects: Union[Path, Sequence[Path]],
    output: Path,
    *,
    progress: StudyProgress = None,
    **options: Any,
) -> Study:
    """Registers many subjects to one fixed image and writes their files, as the command ``antsreg-gpu batch`` does.

    To register images in memory, use `register_many`.

    Parameters
    ----------
    fixed : path or list of paths
        The fixed image; several paths are the channels of one image.
    subjects : path or list of paths
        Images, or tables and BIDS folders that list them.
    output : path
        Folder for all files, made if it does not exist.
    progress : bool or callable, optional
        True shows a line for each subject on standard error. A function is called with a kind (``note``, ``warning``,
        ``done``, ``failed`` or ``wrote``), the name of the subject, a text, the number of subjects that have ended, and
        the number of all subjects. Several threads call it; an exception in the function stops the study.
    **options
        Options of ``antsreg-gpu batch`` by their names, such as ``preset="fast"``, ``cc_radius=4``, ``resume=True`` and
        ``device="cuda:all"``.

    Returns
    -------
    Study
        The outcome of each subject. A subject that fails does not end the others.

    Examples
    --------
    >>> study = batch("template.nii.gz", ["a.nii.gz", "b.nii.gz"], "out")  # doctest: +SKIP
    >>> study.failed  # doctest: +SKIP
    {}
    """
    images = ",".join(paths(fixed, "fixed"))
    return _run("batch", {"fixed": images, "output": path_of(output)}, paths(subjects, "subjects"), options, progress)


def normalise(
    scans: Union[Path, Sequence[Path]],
    output: Optional[Path] = None,
    *,
    prefix: Optional[Path] = None,
    progress: StudyProgress = None,
    **options: Any,
) -> Study:
    """Brings raw scans of heads to a template and writes their files, as ``antsreg-gpu normalise`` does.

    The shading of each scan is removed, its brain is extracted, and the brain is registered to that of the template.

    Parameters
    ----------
    scans : path or list of paths
        Scans, usually T1-weighted: images, or tables and BIDS folders that list them.
    output : path
        Folder for a dataset of BIDS derivatives.
    prefix : path
        Beginning of all output paths of a single scan, instead of ``output``.
    progress
        As for `batch`.
    **options
        Options of ``antsreg-gpu normalise`` by their names, such as ``template="template.nii.gz"`` and
        ``no_bias=True``.

    Returns
    -------
    Study
        The outcome of each scan. A scan that fails does not end the others.

    Examples
    --------
    >>> study = normalise("study", "study/derivatives/antsreg")  # doctest: +SKIP
    """
    place = {"output": output, "prefix": prefix}
    return _run("normalise", place, paths(scans, "scans"), options, progress)


def _run(
    verb: str,
    place: dict[str, Any],
    sources: list[str],
    options: dict[str, Any],
    progress: StudyProgress,
) -> Study:
    if "dry_run" in options:
        raise OptionError("dry_run: only the command shows its plan")
    told = _line if progress is True else progress or None
    raised: list[str] = []

    def tell(kind: str, subject: str, text: str, ended: int, count: int) -> None:
        if kind in ("warning", "failed"):
            raised.append(f"{subject}: {text}")
        if kind == "note":
            LOG.info("%s", text)
        if told is not None:
            told(kind, subject, text, ended, count)

    rows = _native.run_study(verb, [*words(verb, {**place, **options}), "--", *sources], tell)
    for text in raised:
        warnings.warn(text, ResultWarning, stacklevel=3)
    return Study([Subject(name, status, why, _record(record)) for name, status, why, record in rows])


def _record(text: Optional[str]) -> Optional[dict[str, Any]]:
    if text is None:
        return None
    found: dict[str, Any] = json.loads(text)
    return found


def _line(kind: str, subject: str, text: str, ended: int, count: int) -> None:
    """Shows a subject that has ended on a line of standard error."""
    if kind in ("done", "failed"):
        sys.stderr.write(f"[{ended}/{count}] {subject}: {text}\n")
        sys.stderr.flush()
