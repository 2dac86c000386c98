"""Runs programs as child processes, and measures their wall time and peak memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

CHILD = Path(__file__).with_name("child.py")


class Failure(Exception):
    """Raised if a program ended with an error."""


@dataclass
class Usage:
    """Time and peak memory of one run of a program."""

    seconds: float
    peak_gb: float
    output: str


def run(command: list[str | Path], environment: dict[str, str] | None = None) -> Usage:
    """Run a program to its end. Raises Failure with the last lines of its output if the program fails."""
    words = [str(word) for word in command]
    with tempfile.NamedTemporaryFile(suffix=".json") as result:
        child = subprocess.run(
            [sys.executable, "-S", CHILD, result.name, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **(environment or {})},
            check=True,
        )
        found = json.loads(Path(result.name).read_text())
    if found["status"]:
        tail = "\n".join(child.stdout.splitlines()[-5:])
        raise Failure(f"{' '.join(words)} ended with {found['status']}: {tail}")
    return Usage(found["seconds"], found["peak_gb"], child.stdout)


@dataclass
class Registration:
    """A finished registration: the prefix of its files, its time and its memory."""

    prefix: str
    usage: Usage


@dataclass
class Program:
    """The program under test, with its device, its threads and the results of its registrations."""

    path: Path
    threads: int
    work: Path
    device: str = "cpu"
    jobs: int = 0
    done: dict[tuple, Registration] = field(default_factory=dict)

    def run(self, *arguments: str | Path, threads: int | None = None) -> Usage:
        """Run one command of the program without progress messages."""
        return run([self.path, *arguments, "--threads", str(threads or self.threads), "--quiet"])

    def register(
        self, fixed: Path, moving: Path, *options: str, threads: int | None = None, again: str = ""
    ) -> Registration:
        """Register a pair.

        A second call with the same arguments does not register again: it returns the result of the first call. With
        another text in `again` the registration is repeated.
        """
        key = (fixed, moving, options, threads, again)
        if key not in self.done:
            prefix = str(self.work / f"{len(self.done):03}_{stem(moving)}_to_{stem(fixed)}_")
            print(f"  {stem(moving)} → {stem(fixed)} {' '.join(options)} {again}", file=sys.stderr, flush=True)
            command = ["register", "--device", self.device, "-f", fixed, "-m", moving, "-o", prefix, *options]
            usage = self.run(*command, threads=threads)
            # With a GPU the program ends before the child process that registers, so the system cannot tell its memory.
            usage.peak_gb = max(usage.peak_gb, (record(prefix)["peak_memory_bytes"] or 0) / 1e9)
            self.done[key] = Registration(prefix, usage)
        return self.done[key]

    def device_name(self) -> str:
        """A comma and the name of the GPU on which registrations ran; empty if they ran on the processor."""
        for done in self.done.values():
            device = record(done.prefix)["device"]
            if "name" in device:
                return f", {device['name']}"
        return ""


def record(prefix: str) -> dict:
    """Read the JSON record of a registration."""
    return json.loads(Path(f"{prefix}record.json").read_text())


def stem(path: Path) -> str:
    """Name of a file without folder and extensions."""
    return path.name.split(".")[0]
