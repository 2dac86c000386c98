"""The virtual environment of the clients: made once, under target/, from requirements.txt."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
REQUIREMENTS = HERE / "requirements.txt"
ENVIRONMENT = REPOSITORY / "target" / "clients-venv"
ALONE = "# no-deps: "


def enter() -> None:
    """Run this same command inside the environment, made first if need be. Returns only there."""
    if Path(sys.prefix).resolve() == ENVIRONMENT.resolve():
        return
    make()
    python = ENVIRONMENT / "bin" / "python"
    os.execv(python, [str(python), *sys.argv])


def make() -> None:
    """Create the environment, unless the one that stands was made from the same requirements."""
    stamp = ENVIRONMENT / "requirements.txt"
    wanted = REQUIREMENTS.read_text()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"making {ENVIRONMENT}", file=sys.stderr)
    alone = [line.removeprefix(ALONE) for line in wanted.splitlines() if line.startswith(ALONE)]
    try:
        venv.create(ENVIRONMENT, with_pip=True)
        pip = [ENVIRONMENT / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", REQUIREMENTS], check=True, stdout=sys.stderr)
        subprocess.run([*pip, "--no-deps", *alone], check=True, stdout=sys.stderr)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: the clients of {REQUIREMENTS} could not be installed into {ENVIRONMENT}: {error}")
    stamp.write_text(wanted)
