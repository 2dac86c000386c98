"""What the scripts that measure linear registration share: arguments of the command line, and the images."""

from __future__ import annotations

import argparse
from pathlib import Path

import environment


def parser(description: str | None, count: int, counted: str) -> argparse.ArgumentParser:
    """Make a parser for the shared arguments; `count` is the default number of what `counted` says."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("data", type=Path, help="folder of the data sets")
    made.add_argument("--program", type=Path, default=environment.REPOSITORY / "target" / "release" / "antsreg-gpu")
    made.add_argument("--count", type=int, default=count, help=f"{counted} [default: {count}]")
    made.add_argument("--costs", nargs="+", default=["cr", "ncc", "lsq", "nmi", "mi"], help="costs [default: all]")
    made.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="further options of batch; last here")
    made.add_argument("--device", default="cpu", help="device of antsreg-gpu [default: cpu]")
    made.add_argument("--folder", type=Path, help="folder that keeps the images and results [default: temporary]")
    return made


def parse(made: argparse.ArgumentParser) -> argparse.Namespace:
    """Parse the command line, and check that the program exists."""
    typed = made.parse_args()
    if not typed.program.exists():
        made.error(f"{typed.program} is missing: cargo build --release")
    return typed


def brain(data: Path, person: str) -> Path:
    """Path of the skull-stripped T1 image of a subject of OASIS."""
    return data / "oasis" / f"{person}_t1.nii.gz"
