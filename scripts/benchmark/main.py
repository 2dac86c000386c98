"""Command line of the benchmark."""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import shlex
import sys
import tempfile
import traceback
from pathlib import Path

from benchmark import peers
from benchmark.context import Context
from benchmark.data import PAIRS, Data
from benchmark.process import Program, run
from benchmark.report import update
from benchmark.sections import SECTIONS
from environment import REPOSITORY


def arguments() -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(prog="benchmark.py", description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the volumes")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, comma-separated (all: %(default)s)")
    parser.add_argument("--peers", default="none", help=f"none, or some of {','.join(peers.GROUPS)}")
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
    parser.add_argument("--update", type=Path, metavar="FILE.md", help="replace the sections' tables in this file")
    options = parser.parse_args()
    options.only = chosen(parser, "section", options.only, list(SECTIONS))
    pairs = {f"{pair.moving}-{pair.fixed}": pair for pair in PAIRS}
    options.pairs = [pairs[name] for name in chosen(parser, "pair", options.pairs or ",".join(pairs), list(pairs))]
    options.presets = chosen(parser, "preset", options.presets, ["fast", "default", "best"])
    try:
        options.peers = peers.chosen(options.peers)
    except ValueError as error:
        parser.error(str(error))
    if not (options.data / "oasis").is_dir():
        parser.error(f"{options.data} has no folder oasis")
    if not options.program.exists():
        parser.error(f"{options.program} is missing: cargo build --release")
    return options


def chosen(parser: argparse.ArgumentParser, what: str, typed: str, valid: list[str]) -> list[str]:
    """The names in a comma-separated list."""
    names = typed.split(",")
    for name in names:
        if name not in valid:
            parser.error(f"unknown {what} {name!r}: one of {', '.join(valid)}")
    return names


def processor() -> str:
    """Name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


#: Options that change a section's figures; --device and --threads change all of them.
RELEVANT = {
    "affine": ["--pairs", "--peers"],
    "syn": ["--pairs", "--peers", "--presets"],
    "headers": ["--headers"],
    "multimodal": ["--pairs", "--transforms", "--jobs", "--registrations"],
}


def typed_command(section: str) -> str:
    """The command that makes one section again."""
    words = ["python3", "scripts/benchmark.py", "DATA", "--only", section]
    for name in [*RELEVANT.get(section, []), "--device", "--threads"]:
        for index, word in enumerate(sys.argv):
            if word == name:
                words += [name, "FOLDER"] if name == "--registrations" else sys.argv[index : index + 2]
            elif word.startswith(f"{name}="):
                words.append(word)
    return shlex.join(words)


def main() -> int:
    """Run the sections; 1 if a bar was missed or a section failed."""
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="antsreg-benchmark-") as temporary:
        work = Path(temporary)
        if options.work:
            # A folder of its own for each run: files of another run must not be taken for this one's.
            options.work.mkdir(parents=True, exist_ok=True)
            work = Path(tempfile.mkdtemp(prefix="run-", dir=options.work.resolve()))
        program = Program(options.program.resolve(), options.threads, work, options.device, options.jobs)
        data = Data(options.data)
        context = Context(
            program,
            data,
            options.pairs,
            options.peers,
            options.headers,
            options.presets,
            options.transforms,
            options.registrations,
        )
        version = run([program.path, "--version"]).output.strip()
        today = datetime.date.today().isoformat()
        bad = 0
        for section in options.only:
            print(section, file=sys.stderr, flush=True)
            try:
                report = SECTIONS[section](context)
            except Exception:  # One section's failure must not cost the hours of the others.
                traceback.print_exc()
                bad += 1
                continue
            bad += report.missed
            here = f"{options.threads} threads of {processor()}{program.device_name()}"
            where = f"{version}, {report.elsewhere or here}, {today}"
            markdown = report.markdown(where, typed_command(section))
            if options.update:
                update(options.update, section, markdown)
            print(f"## {section}\n\n{markdown}\n", flush=True)
    return 1 if bad else 0
