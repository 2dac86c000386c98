"""Builds the documentation site with mkdocs: gathers the pages and generates the reference pages.

A warning of mkdocs is an error.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import built
import environment
from environment import REPOSITORY

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"
SOURCE = REPOSITORY / "target" / "docs" / "source"
SITE = REPOSITORY / "target" / "docs" / "site"

#: Files of the site: Markdown pages, and the images that they show.
PAGES = ["*.md", "docs", ":!.github", ":!third_party", ":!crates", ":!docs/figures.json", ":!docs/**/*.csv"]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")

PYTHON_PAGE = """# Python
[How to use Python](../python.md) shows the package at work. This page lists what is in it, with arguments, shapes and units.
"""


def build() -> int:
    """Build the site. Returns 1 if a page, a link, or a heading to which a link points is missing."""
    environment.make(REQUIREMENTS)
    gather()
    tool = environment.folder(REQUIREMENTS) / "bin" / "mkdocs"
    # The theme of mkdocs prints a notice about mkdocs 2, which would count as a warning. This environment variable
    # suppresses the notice.
    variables = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    # mkdocs runs without --quiet, because with --strict it counts only warnings that it would print.
    build = [tool, "build", "--strict", "-f", HERE / "mkdocs.yml"]
    done = subprocess.run(build, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"site:\n{done.stdout}{done.stderr}", file=sys.stderr)
    else:
        print(f"site: {len(list(SITE.rglob('*.html')))} pages in {SITE}")
    return 1 if done.returncode else 0


def gather() -> None:
    """Copy every page and the files to which it links into the source folder of mkdocs, at the same relative paths."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    for name in tracked(*PAGES):
        copy(name)
        if name.endswith(".md"):
            for linked in links(name):
                copy(linked)
    reference = SOURCE / "docs" / "reference"
    reference.mkdir(parents=True, exist_ok=True)
    (reference / "python.md").write_text(python())
    (reference / "command-line.md").write_text(command_line())


def tracked(*patterns: str) -> list[str]:
    """Files of the repository that match patterns, including files that are not committed yet."""
    found = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in found.stdout.splitlines() if (REPOSITORY / name).is_file()]


def links(page: str) -> list[str]:
    """Files of the repository, except pages, to which a page links."""
    folder = (REPOSITORY / page).parent
    targets = [folder / target for target in LINK.findall((REPOSITORY / page).read_text()) if "://" not in target]
    return [
        os.path.relpath(target, REPOSITORY) for target in targets if target.is_file() and target.suffix != ".md"
    ]


def copy(name: str) -> None:
    """Copy a file of the repository into the source folder of the site."""
    target = SOURCE / os.path.normpath(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(REPOSITORY / name, target)


def command_line() -> str:
    """Generate the reference page of the command line from the program's own description."""
    built.build()
    return subprocess.run([built.example("reference")], stdout=subprocess.PIPE, text=True, check=True).stdout


def python() -> str:
    """Generate the reference page of the Python package: all exported names, grouped by module."""
    package = ast.parse((REPOSITORY / "python" / "antsreg_gpu" / "__init__.py").read_text())
    imports = [node for node in ast.walk(package) if isinstance(node, ast.ImportFrom) and node.level == 1]
    exported = [(node.module, name.name) for node in imports for name in node.names if node.module != "_native"]
    names = [f"::: antsreg_gpu.{module}.{name}" for module, name in exported]
    return "\n\n".join([PYTHON_PAGE, *names, "::: antsreg_gpu.ants", ""])
