"""Runs the sections of the benchmark one after the other."""

from __future__ import annotations

import argparse
import datetime
import platform
import shlex
import sys
import tempfile
import traceback
from pathlib import Path

from benchmark import sections
from benchmark.context import Context
from benchmark.data import Data
from benchmark.process import Program, run
from docs import figures


def processor() -> str:
    """Name of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


#: For each section, the command-line options that change its figures; --device and --threads change the figures of all
#: sections.
RELEVANT = {
    "affine": ["--pairs", "--peers"],
    "syn": ["--pairs", "--peers", "--presets"],
    "headers": ["--headers"],
    "multimodal": ["--pairs", "--transforms", "--jobs", "--registrations"],
}


def typed_command(section: str) -> str:
    """The command that repeats one section of the benchmark."""
    words = ["python3", "scripts/benchmark.py", "DATA", "--only", section]
    for name in [*RELEVANT.get(section, []), "--device", "--threads"]:
        for index, word in enumerate(sys.argv):
            if word == name:
                words += [name, "FOLDER"] if name == "--registrations" else sys.argv[index : index + 2]
            elif word.startswith(f"{name}="):
                words.append(word)
    return shlex.join(words)


def main(options: argparse.Namespace) -> int:
    """Run the requested sections of the benchmark. Returns 1 if an acceptance limit was missed or a section failed."""
    with tempfile.TemporaryDirectory(prefix="antsreg-benchmark-") as temporary:
        work = Path(temporary)
        if options.work:
            # Each run has its own folder, so that files of another run are not mistaken for results of this run.
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
                report = sections.section(section)(context)
            except Exception:  # One section's failure must not cost the hours of the others.
                traceback.print_exc()
                bad += 1
                continue
            bad += report.missed
            here = f"{options.threads} threads of {processor()}{program.device_name()}"
            run_by = {"version": version, "date": today, "machine": report.elsewhere or here, "command": typed_command(section)}
            if options.figures:
                figures.save(options.figures, section, report.section(run_by))
            print(f"## {section}\n\n{report.markdown()}\n", flush=True)
    return 1 if bad else 0
