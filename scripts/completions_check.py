#!/usr/bin/env python3
"""Type words in interactive bash, zsh and fish with the program's completions, and check what the shells complete.

    cargo build --release
    scripts/completions_check.py --program target/release/antsreg-gpu

On Debian, zsh and fish are installed by apt-get (as root) if they are missing.
"""

from __future__ import annotations

import argparse
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from environment import REPOSITORY

#: Words of a command line, and what a shell must make of them.
CASES = {"antsreg-gpu regis": "register", "antsreg-gpu register --fixed-l": "--fixed-labels"}
#: Seconds that a shell may take to answer.
PATIENCE = 30.0


def main() -> int:
    """Check the completions of all shells. Returns 1 if a shell does not complete a word."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=REPOSITORY / "target" / "release" / "antsreg-gpu")
    program = parser.parse_args().program.resolve()
    if not program.exists():
        parser.error(f"{program} is missing: cargo build --release")
    missing = [shell for shell in ("bash", "zsh", "fish") if not shutil.which(shell)]
    if missing and shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-qq"], check=False, stdout=sys.stderr)
        subprocess.run(["apt-get", "install", "-qq", "-y", *missing], check=False, stdout=sys.stderr)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(program, Path(folder) / "antsreg-gpu")
        os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
        for shell, complete in {"bash": typed_in_bash, "zsh": typed_in_zsh, "fish": asked_of_fish}.items():
            script = Path(folder) / ("_antsreg-gpu" if shell == "zsh" else f"antsreg-gpu.{shell}")
            script.write_bytes(subprocess.check_output([program, "completions", shell]))
            for line, expected in CASES.items():
                answer = complete(script, line, expected)
                if expected not in answer:
                    print(f"{shell}: `{line}` does not become `{expected}`; the shell answered: {answer!r}")
                    wrong += 1
    print(f"completions of bash, zsh and fish: {wrong} faults")
    return min(wrong, 1)


def typed_in_bash(script: Path, line: str, expected: str) -> str:
    """What bash shows after the line and two tabs."""
    return typed(["bash", "--norc", "--noprofile", "-i"], f"source '{script}'", line, expected)


def typed_in_zsh(script: Path, line: str, expected: str) -> str:
    """What zsh shows after the line and two tabs."""
    return typed(["zsh", "-f", "-i"], f"fpath=('{script.parent}' $fpath); autoload -U compinit; compinit -D -u", line, expected)


def asked_of_fish(script: Path, line: str, _expected: str) -> str:
    """What fish lists for the line."""
    return subprocess.run(["fish", "-c", f"source '{script}'; complete -C '{line}'"], capture_output=True, text=True).stdout


def typed(shell: list[str], setup: str, line: str, expected: str) -> str:
    """Start a shell in a terminal, run its setup, and type the line and two tabs. Returns what the terminal shows then."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ |= {"TERM": "dumb", "PS1": "ready> ", "HOME": "/nonexistent"}
        os.execvp(shell[0], shell)
    try:
        os.write(terminal, f"{setup}; echo se''t up\n".encode())
        read_until(terminal, "set up")
        os.write(terminal, f"{line}\t\t".encode())
        return read_until(terminal, expected)
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def read_until(terminal: int, expected: str) -> str:
    """What the terminal shows until it has shown the expected text, or until it is silent for too long."""
    shown, end = "", time.monotonic() + PATIENCE
    while expected not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                shown += os.read(terminal, 65536).decode(errors="replace")
            except OSError:
                break
    return shown


if __name__ == "__main__":
    sys.exit(main())
