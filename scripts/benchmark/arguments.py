"""Command line of the benchmark. This module needs only Python's own library."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmark.data import PAIRS
from benchmark.sections import SECTIONS
from environment import REPOSITORY

#: The names that --peers accepts (groups of other programs), and the registrations of each group.
PEERS = {
    "greedy": ["greedy-affine", "greedy"],
    "ants-quick": ["ants-affine", "ants-quick"],
    "ants": ["ants-affine", "ants-quick", "ants-syn"],
}


def arguments(description: str | None) -> argparse.Namespace:
    """Return the arguments of the command line."""
    how = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="benchmark.py", description=description, formatter_class=how)
    parser.add_argument("data", type=Path, help="folder of the volumes")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, comma-separated (all: %(default)s)")
    parser.add_argument("--peers", default="none", help=f"none, or some of {','.join(PEERS)}")
    parser.add_argument("--pairs", help="some of " + ",".join(f"{pair.moving}-{pair.fixed}" for pair in PAIRS))
    parser.add_argument("--presets", default="default", help="presets of the syn section (%(default)s)")
    parser.add_argument("--headers", type=int, default=20, help="number of random headers (%(default)s)")
    parser.add_argument("--transforms", type=int, default=30, help="random transforms of multimodal (%(default)s)")
    parser.add_argument("--jobs", type=int, default=0, help="registrations of multimodal at once (as batch has it)")
    parser.add_argument(
        "--registrations", type=Path, help="folder of multimodal's, made by scripts/benchmark/modalities.py elsewhere"
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="threads of every program (%(default)s)")
    parser.add_argument("--device", default="cpu", help="device to register on: cpu, cuda or cuda:N (%(default)s)")
    parser.add_argument("--program", type=Path, default=REPOSITORY / "target" / "release" / "antsreg-gpu")
    parser.add_argument("--work", type=Path, help="folder for files on the way, kept (default: one that is removed)")
    parser.add_argument("--figures", type=Path, metavar="FILE.json", help="replace the sections in this file")
    options = parser.parse_args()
    options.only = chosen(parser, "section", options.only, list(SECTIONS))
    pairs = {f"{pair.moving}-{pair.fixed}": pair for pair in PAIRS}
    options.pairs = [pairs[name] for name in chosen(parser, "pair", options.pairs or ",".join(pairs), list(pairs))]
    options.presets = chosen(parser, "preset", options.presets, ["fast", "default", "best", "smooth"])
    try:
        options.peers = registrations(options.peers)
    except ValueError as error:
        parser.error(str(error))
    if not (options.data / "oasis").is_dir():
        parser.error(f"{options.data} has no folder oasis")
    if not options.program.exists():
        parser.error(f"{options.program} is missing: cargo build --release")
    return options


def chosen(parser: argparse.ArgumentParser, what: str, typed: str, valid: list[str]) -> list[str]:
    """Split a comma-separated list into names."""
    names = typed.split(",")
    for name in names:
        if name not in valid:
            parser.error(f"unknown {what} {name!r}: one of {', '.join(valid)}")
    return names


def registrations(groups: str) -> list[str]:
    """The registrations by other programs that a comma-separated list of group names (--peers) requests."""
    if groups == "none":
        return []
    names: dict[str, None] = {}
    for group in groups.split(","):
        if group not in PEERS:
            raise ValueError(f"unknown peer {group!r}: none, or some of {', '.join(PEERS)}")
        names.update(dict.fromkeys(PEERS[group]))
    return list(names)
