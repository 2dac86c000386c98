"""The virtual environment of these scripts: made once, under target/, from requirements.txt."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
REPOSITORY = SCRIPTS.parent
REQUIREMENTS = SCRIPTS / "requirements.txt"
ENVIRONMENT = REPOSITORY / "target" / "scripts-venv"


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
    try:
        venv.create(ENVIRONMENT, with_pip=True)
        pip = [ENVIRONMENT / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", REQUIREMENTS], check=True, stdout=sys.stderr)
    except (OSError, subprocess.CalledProcessError) as error:
        packages = [line for line in wanted.splitlines() if line and not line.startswith("#")]
        sys.exit(
            f"error: {Path(sys.argv[0]).name} needs {', '.join(packages)}, which could not be installed into "
            f"{ENVIRONMENT}: {error}. Python's venv and pip must be there, and a package index within reach."
        )
    stamp.write_text(wanted)
