"""The sections of the benchmark, in the order in which they run and are printed.

A section is a function from a Context to a Report. Its name is used by --only and in docs/figures.json.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmark.context import Context
    from benchmark.report import Report

#: For each section of the benchmark, the module with its function, which has the name of the section. The modules are
#: imported only when needed, because they need packages that the command line does not need.
SECTIONS = {
    "affine": "pairs",
    "syn": "pairs",
    "headers": "headers",
    "poses": "poses",
    "orientation": "poses",
    "multimodal": "multimodal",
    "exchange": "exchange",
    "flirt": "flirt",
    "determinism": "determinism",
}


def section(name: str) -> Callable[[Context], Report]:
    """The function that runs the section of the benchmark with this name."""
    return getattr(importlib.import_module(f"benchmark.sections.{SECTIONS[name]}"), name)
