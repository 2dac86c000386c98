"""The program and the examples that `cargo test --workspace` builds, for scripts that run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from environment import REPOSITORY

FOLDER = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "debug"
PROGRAM = FOLDER / "antsreg-gpu-tested"


def build() -> None:
    """Build the program and the examples, if they are not up to date."""
    command = ["cargo", "test", "--quiet", "--locked", "--workspace", "--no-run"]
    if code := subprocess.run(command, cwd=REPOSITORY, check=False).returncode:
        sys.exit(f"error: {' '.join(command)}: exit code {code}")


def example(name: str) -> Path:
    """Path of an example of one of the crates."""
    return FOLDER / "examples" / name
