#!/usr/bin/env python3
"""Lint the workflows of hosted CI: their schema (check-jsonschema) and their safety (zizmor).

Both tools are pinned in scripts/hosted/requirements.txt and are installed into .venv/hosted, from PyPI.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

import environment
from environment import REPOSITORY

REQUIREMENTS = environment.SCRIPTS / "hosted" / "requirements.txt"
GITHUB = REPOSITORY / ".github"


def main() -> int:
    """Run both linters. Returns 1 if one of them finds a fault."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    programs = environment.make(REQUIREMENTS) / "bin"
    workflows = sorted((GITHUB / "workflows").glob("*.yml"))
    schema = [programs / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows]
    safety = [programs / "zizmor", "--offline", "--quiet", "--config", GITHUB / "zizmor.yml", *workflows]
    return max(subprocess.run(command, check=False).returncode != 0 for command in (schema, safety))


if __name__ == "__main__":
    sys.exit(main())
