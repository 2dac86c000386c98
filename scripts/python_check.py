#!/usr/bin/env python3
"""Builds the Python package, installs it into .venv/python, and tests it: types, behaviour, tutorials.

Needs cargo, and Python 3.9 or later with venv. --wheel tests a wheel instead of building the package.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import environment
from environment import REPOSITORY

TESTS = REPOSITORY / "tests" / "python"
REQUIREMENTS = TESTS / "requirements.txt"
ENVIRONMENT = environment.folder(REQUIREMENTS)
EXAMPLES = REPOSITORY / "examples" / "python"


def main() -> int:
    """Build the package and run every check. The first failure ends the script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, help="a wheel to test")
    parser.add_argument("--profile", default="dev", help="Cargo's profile of the build")
    arguments = parser.parse_args()
    environment.make(REQUIREMENTS)
    if arguments.wheel:
        run("pip", "install", "--quiet", "--force-reinstall", "--no-deps", arguments.wheel)
    else:
        run("maturin", "develop", "--quiet", "--locked", "--profile", arguments.profile)
    run("mypy", "--strict", "python/antsreg_gpu", EXAMPLES)
    # The tests are named first, so that they import the installed package, not the source folder that pytest adds to
    # the module path.
    run("python", "-m", "pytest", "--quiet", "--doctest-modules", "-p", "no:cacheprovider", TESTS, "python/antsreg_gpu")
    for tutorial in sorted(EXAMPLES.glob("*.py")):
        run("python", tutorial, REPOSITORY / "target" / "python-tutorial")
    run("pdoc", "--output-directory", REPOSITORY / "target" / "python-doc", *("antsreg_gpu", "antsreg_gpu.ants", "antsreg_gpu.nipype"))
    return 0


def run(program: str, *words: str | Path) -> None:
    """Run a program of the virtual environment. End this script if the program fails."""
    shown = " ".join([program, *map(str, words)])
    print(f"-- {shown}", flush=True)
    began = time.monotonic()
    path = f"{ENVIRONMENT / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    # NO_ET keeps nipype from asking a server for its latest version.
    variables = os.environ | {"VIRTUAL_ENV": str(ENVIRONMENT), "PATH": path, "MPLBACKEND": "agg", "NO_ET": "1"}
    done = subprocess.run([ENVIRONMENT / "bin" / program, *words], cwd=REPOSITORY, env=variables, check=False)
    print(f"   {time.monotonic() - began:.1f} s", flush=True)
    if done.returncode:
        sys.exit(f"error: {shown}: exit code {done.returncode}")


if __name__ == "__main__":
    sys.exit(main())
