"""Virtual environments of the scripts. Each is made once, under .venv/, from a requirements file."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
REPOSITORY = SCRIPTS.parent
REQUIREMENTS = SCRIPTS / "requirements.txt"
#: Prefix of a line in a requirements file, for a package that is installed without its dependencies.
ALONE = "# no-deps: "


def enter(requirements: Path = REQUIREMENTS) -> None:
    """Run the present command again in the virtual environment of these requirements.

    The environment is made first if necessary. If the command already runs there, this function returns.
    """
    environment = folder(requirements)
    if Path(sys.prefix).resolve() == environment.resolve():
        return
    make(requirements)
    python = environment / "bin" / "python"
    os.execv(python, [str(python), *sys.argv])


def folder(requirements: Path) -> Path:
    """Path of the environment of these requirements. Its name is that of the folder of the requirements file."""
    return REPOSITORY / ".venv" / requirements.resolve().parent.name


def make(requirements: Path) -> Path:
    """Create the virtual environment, unless it exists with the same requirements. Returns its folder."""
    environment = folder(requirements)
    stamp, wanted = environment / "requirements.txt", requirements.read_text()
    if stamp.exists() and stamp.read_text() == wanted:
        return environment
    print(f"making {environment}", file=sys.stderr)
    alone = [line.removeprefix(ALONE) for line in wanted.splitlines() if line.startswith(ALONE)]
    try:
        venv.create(environment, with_pip=True)
        pip = [environment / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", requirements], check=True, stdout=sys.stderr)
        if alone:
            subprocess.run([*pip, "--no-deps", *alone], check=True, stdout=sys.stderr)
    except (OSError, subprocess.CalledProcessError) as error:
        packages = [line for line in wanted.splitlines() if line and not line.startswith("#")] + alone
        sys.exit(
            f"error: {Path(sys.argv[0]).name} needs {', '.join(packages)}, which could not be installed into "
            f"{environment}: {error}. Python's venv and pip must be there, and a package index within reach."
        )
    stamp.write_text(wanted)
    return environment
