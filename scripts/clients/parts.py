"""The parts of scripts/clients.py by name. Each part is a function that returns the faults it found."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from clients import (
    apply,
    commands,
    composites,
    extraction,
    formats,
    functional,
    fusion,
    names,
    nipype_interfaces,
    normalisation,
    pipelines,
    points,
    script_files,
    settings,
)

Part = Callable[[argparse.Namespace, Path], list[str]]

ALL: dict[str, Part] = {
    "settings": settings.settings,
    "spatial": normalisation.spatial,
    "template": normalisation.template,
    "extraction": extraction.check,
    "restrict": settings.restrict,
    "nipype": nipype_interfaces.check,
    "functional": functional.check,
    "composites": composites.check,
    "formats": formats.check,
    "points": points.check,
    "names": names.check,
    "apply": apply.check,
    "fusion": fusion.check,
    "commands": commands.check,
    "scripts": script_files.check,
    "pipelines": pipelines.check,
}
