"""Programs run as child processes, with their wall time and the most memory they held."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path


class Failure(Exception):
    """A program ended with an error."""


@dataclass
class Usage:
    """What one run of a program took."""

    seconds: float
    peak_gb: float
    output: str


def run(command: list[str | Path], environment: dict[str, str] | None = None) -> Usage:
    """Run to the end. Raises Failure, with the last lines it said, unless it succeeds."""
    words = [str(word) for word in command]
    start = time.perf_counter()
    child = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **(environment or {})}
    )
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        tail = "\n".join(output.splitlines()[-5:])
        raise Failure(f"{' '.join(words)} ended with {child.returncode}: {tail}")
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return Usage(seconds, usage.ru_maxrss * unit / 1e9, output)


@dataclass
class Registration:
    """A registration done: where its files are and what it took."""

    prefix: str
    usage: Usage


@dataclass
class Program:
    """The program under test."""

    path: Path
    threads: int
    work: Path
    done: dict[tuple, Registration] = field(default_factory=dict)

    def run(self, *arguments: str | Path, threads: int | None = None) -> Usage:
        """Run one command of the program, quietly."""
        return run([self.path, *arguments, "--threads", str(threads or self.threads), "--quiet"])

    def register(
        self, fixed: Path, moving: Path, *options: str, threads: int | None = None, again: str = ""
    ) -> Registration:
        """Register. What was asked for before is not done again, unless `again` names another repetition."""
        key = (fixed, moving, options, threads, again)
        if key not in self.done:
            prefix = str(self.work / f"{len(self.done):03}_{stem(moving)}_to_{stem(fixed)}_")
            print(f"  {stem(moving)} → {stem(fixed)} {' '.join(options)} {again}", file=sys.stderr, flush=True)
            command = ["register", "-f", fixed, "-m", moving, "-o", prefix, *options]
            self.done[key] = Registration(prefix, self.run(*command, threads=threads))
        return self.done[key]


def stem(path: Path) -> str:
    """File name without its endings."""
    return path.name.split(".")[0]
