"""Follows a registration: a bar, or a function of the caller."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from . import _native

if TYPE_CHECKING:
    from typing_extensions import TypeAlias


class Report(NamedTuple):
    """The state of a registration after one iteration, or after one step of a search."""

    #: ``affine`` or ``syn``.
    stage: str
    #: The step in words, such as ``8 mm, orientations`` or ``shrink 4``.
    step: str
    #: Level of the stage, counted from 1.
    level: int
    #: Levels of the stage.
    levels: int
    #: Iterations finished on this level.
    iteration: int
    #: Most iterations on this level.
    iterations: int
    #: The cost; lower is better.
    energy: float


#: True for a bar, or a function that is called with every `Report`.
Progress: TypeAlias = Optional[Union[bool, Callable[[Report], object]]]


class Follower:
    """Follows one registration as the caller wants it."""

    def __init__(self, progress: Progress) -> None:
        self._bar: Any = None
        self._function: Optional[Callable[[Report], object]] = None
        if progress is True:
            self._function = self._show
        elif callable(progress):
            self._function = progress

    @property
    def callback(self) -> Optional[_native.Callback]:
        """The function that the library calls; None without progress."""
        function = self._function
        if function is None:
            return None

        def call(
            stage: str, step: str, level: int, levels: int, iteration: int, iterations: int, energy: float
        ) -> None:
            function(Report(stage, step, level, levels, iteration, iterations, energy))

        return call

    def _show(self, report: Report) -> None:
        title = f"{report.stage} {report.level}/{report.levels}, {report.step}"
        if self._bar is None:
            self._bar = _bar()
        self._bar.set_description(title, refresh=False)
        self._bar.total = report.iterations
        self._bar.n = report.iteration
        self._bar.refresh()

    def __enter__(self) -> Follower:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        raised: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def _bar() -> Any:
    try:
        return importlib.import_module("tqdm.auto").tqdm(leave=False)
    except ImportError:
        return _Line()


class _Line:
    """One line on standard error, where there is no tqdm."""

    def __init__(self) -> None:
        self.total = self.n = 0
        self._title = ""

    def set_description(self, title: str, refresh: bool = True) -> None:
        """Sets what stands before the numbers."""
        self._title = title

    def refresh(self) -> None:
        """Shows the line with the present numbers."""
        sys.stderr.write(f"\r{self._title}: {self.n}/{self.total}\033[K")
        sys.stderr.flush()

    def close(self) -> None:
        """Removes the line."""
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()
