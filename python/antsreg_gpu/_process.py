"""Runs the command ``antsreg-gpu`` in a separate process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from ._errors import Error, OptionError


def run_command(words: Sequence[str]) -> None:
    """Runs ``antsreg-gpu`` with these words. A failure raises the command's message."""
    done = subprocess.run([sys.executable, "-m", "antsreg_gpu", *words], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        kind = OptionError if done.returncode == 2 else Error
        raise kind(done.stderr.strip().removeprefix("error: ") or f"exit code {done.returncode}")
