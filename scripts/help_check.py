#!/usr/bin/env python3
"""Check that every Python script answers --help without installed packages.

Also check the error messages for missing packages and for a missing program.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent


def run(*words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a Python script without installed packages (`python -S`: only the standard library can be imported)."""
    environment = os.environ | variables
    return subprocess.run([sys.executable, "-S", *words], capture_output=True, text=True, env=environment, check=False)


def check_help(script: Path) -> str | None:
    """Run a script with --help. Returns a description of the fault, if there is one."""
    done = run(script, "--help")
    if done.returncode == 0 and done.stdout.startswith(f"usage: {script.name}") and not done.stderr:
        return None
    return f"{script.name} --help: exit code {done.returncode}\n{done.stdout}{done.stderr}"


def check_missing() -> str | None:
    """Check the error message if packages are missing and no package index is reachable."""
    with tempfile.TemporaryDirectory() as folder:
        # The scripts are copied to another folder, so that they cannot find an installed virtual environment.
        here = Path(folder) / "scripts"
        here.mkdir()
        for name in ("environment.py", "requirements.txt", "atlas_score.py"):
            (here / name).write_text((SCRIPTS / name).read_text())
        for name in ("template.nii", "affine_average.nii"):
            (Path(folder) / name).touch()
        done = run(here / "atlas_score.py", folder, PIP_NO_INDEX="1")
    names_them = all(word in done.stderr for word in ("atlas_score.py needs", "nibabel", "numpy", "scipy"))
    if done.returncode == 1 and names_them and "Traceback" not in done.stderr:
        return None
    return f"without packages: exit code {done.returncode}\n{done.stderr}"


def check_program(script: Path, *arguments: str) -> str | None:
    """Check the error message if the program has not been built."""
    done = run(script, *arguments, "--program", "nowhere/antsreg-gpu")
    if done.returncode == 2 and "nowhere/antsreg-gpu is missing: cargo build --release" in done.stderr:
        return None
    return f"{script.name} without the program: exit code {done.returncode}\n{done.stderr}"


def main() -> int:
    """Check the help and the error messages of all Python scripts. Returns 1 if a check fails."""
    # A file that does not begin with `#!` is a module for other scripts, not a script.
    commands = [script for script in SCRIPTS.glob("*.py") if script.read_text().startswith("#!")]
    scripts = sorted(script for script in commands if script.name != Path(__file__).name)
    modalities = SCRIPTS / "benchmark" / "modalities.py"
    scripts.append(modalities)
    missing = [check_missing(), check_program(SCRIPTS / "metrics.py", "."), check_program(modalities, ".", ".")]
    wrong = [fault for fault in [*map(check_help, scripts), *missing] if fault]
    print("\n".join(wrong) if wrong else f"{len(scripts)} scripts answer --help without packages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
