"""The parts of the benchmark, in the order in which they run and are printed.

A section is a function from a Context to a Report. Its name is what --only takes, and its name in docs/figures.json.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmark.context import Context
    from benchmark.report import Report

#: Every section, and the module here that has the function of that name. The command line knows them without the packages
#: that the modules need.
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
    """The function of a section."""
    return getattr(importlib.import_module(f"benchmark.sections.{SECTIONS[name]}"), name)
