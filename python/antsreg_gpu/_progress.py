"""Progress of a registration: shown as a bar, or passed to a function of the caller."""

from __future__ import annotations

import html
import importlib
import logging
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from . import _native

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

#: Receives notes, such as why the CPU is used.
LOG = logging.getLogger("antsreg_gpu")


def log(note: Optional[str]) -> None:
    """Passes a note of the native library to the logger."""
    if note is not None:
        LOG.info("%s", note)


class Report(NamedTuple):
    """The state of a registration after one iteration, or after one step of a search."""

    #: Name of the stage: ``affine`` or ``syn``.
    stage: str
    #: The present step of the stage in words, such as ``8 mm, orientations`` or ``shrink 4``.
    step: str
    #: Number of the present level within the stage, counted from 1.
    level: int
    #: Number of levels of the stage.
    levels: int
    #: Number of finished iterations on this level.
    iteration: int
    #: Largest number of iterations on this level.
    iterations: int
    #: The value of the cost function; lower is better.
    energy: float


#: What to do with progress: True shows a bar; a function is called with every `Report`; None does nothing.
Progress: TypeAlias = Optional[Union[bool, Callable[[Report], object]]]


class Follower:
    """Follows the progress of one registration: shows a bar, or calls the function that the caller gave."""

    def __init__(self, progress: Progress) -> None:
        self._bar: Any = None
        self._function: Optional[Callable[[Report], object]] = None
        if progress is True:
            self._function = self._show
        elif callable(progress):
            self._function = progress

    @property
    def callback(self) -> Optional[_native.Callback]:
        """The function that the native library calls with progress; None if no progress is wanted."""
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
    """The bar for this place: a widget of text in a notebook, tqdm's bar or a line elsewhere."""
    shell: Any = sys.modules.get("IPython")
    if shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell":
        return _Notebook()
    try:
        return importlib.import_module("tqdm").tqdm(leave=False)
    except ImportError:
        return _Line()


class _Notebook:
    """A progress bar in a notebook, which is drawn anew in one place and needs no widgets."""

    #: Shortest time between two drawings, s.
    _PAUSE = 0.1

    def __init__(self) -> None:
        self._display: Any = importlib.import_module("IPython.display")
        self._handle = self._display.display(self._display.HTML(""), display_id=True)
        self._drawn = 0.0
        self.total = self.n = 0
        self._title = ""

    def set_description(self, title: str, refresh: bool = True) -> None:
        """Sets the text that stands behind the bar."""
        self._title = title

    def refresh(self) -> None:
        """Draws the bar, unless it was drawn a moment ago."""
        if time.monotonic() - self._drawn >= self._PAUSE:
            self._drawn = time.monotonic()
            bar = f'<progress value="{self.n}" max="{max(self.total, 1)}"></progress>'
            self._handle.update(self._display.HTML(f"{bar} {html.escape(self._title)}: {self.n}/{self.total}"))

    def close(self) -> None:
        """Clears the bar."""
        self._handle.update(self._display.HTML(""))


class _Line:
    """A progress line on standard error, used if tqdm is not installed."""

    def __init__(self) -> None:
        self.total = self.n = 0
        self._title = ""

    def set_description(self, title: str, refresh: bool = True) -> None:
        """Sets the text that the progress line shows before its numbers."""
        self._title = title

    def refresh(self) -> None:
        """Writes the progress line with the number of finished steps and of all steps."""
        sys.stderr.write(f"\r{self._title}: {self.n}/{self.total}\033[K")
        sys.stderr.flush()

    def close(self) -> None:
        """Clears the progress line on standard error."""
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()
