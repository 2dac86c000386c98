#!/usr/bin/env python3
"""Checks the wording of documents, comments and commit subjects by the rules of CONTRIBUTING.md.

    spelling     typos, with typos.toml, over the whole repository
    sentences    textlint: at most 35 words in a sentence of a Markdown file
    phrases      no document, comment or message may match a regular expression of scripts/prose/banned.txt
    commits      subjects `area: imperative` of at most 72 characters, for commits after the one that added this script

The tools are pinned in scripts/prose and are installed into .venv/prose, from the package indexes of Python and npm.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import environment
from environment import REPOSITORY

TOOLS = REPOSITORY / "scripts" / "prose"
REQUIREMENTS = TOOLS / "requirements.txt"
ENVIRONMENT = environment.folder(REQUIREMENTS)

#: Files that are searched for banned phrases.
PHRASES_IN = [
    *("*.rs", "*.cu", "*.cuh", "*.md", "*.py", "*.sh", "*.toml", "*.yaml", "**/Snakefile"),
    # CONTRIBUTING.md and this script quote banned phrases. Documents in docs/history are not changed.
    *(":!scripts/prose_check.py", ":!CONTRIBUTING.md", ":!docs/history"),
]
#: Files whose sentences are checked. Documents in docs/history are not changed any more.
SENTENCES_IN = ["*.md", ":!docs/history"]

SUBJECT = re.compile(r"[a-z][a-z0-9_-]*(, [a-z][a-z0-9_-]*)*: [a-z`0-9].*[^.]")
LONGEST_SUBJECT = 72
#: Commit subjects whose first word is a form such as `adds` or `added` instead of an imperative.
NOT_IMPERATIVE = re.compile(
    r": (add|fix|change|move|remove|update|use|rename|write|read|say|let|give|take|make|show|check)(s|es|d|ed|ing) "
)


def main() -> int:
    """Run all checks of the wording. Returns 1 if a check fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    install()
    return 1 if sum([spelling(), sentences(), phrases(), commits()]) else 0


def install() -> None:
    """Install the pinned tools, unless they are already installed."""
    environment.make(REQUIREMENTS)
    lock = TOOLS / "package-lock.json"
    installed = ENVIRONMENT / lock.name
    if (ENVIRONMENT / "node_modules").exists() and installed.exists() and installed.read_text() == lock.read_text():
        return
    installed.unlink(missing_ok=True)
    for name in ("package.json", lock.name):
        shutil.copy(TOOLS / name, ENVIRONMENT / name)
    quietly = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    done = subprocess.run(
        [tool("npm"), "ci", *quietly, "--prefix", ENVIRONMENT], stdout=sys.stderr, env=with_tools(), check=False
    )
    if done.returncode:
        installed.unlink(missing_ok=True)
        sys.exit(
            f"error: prose_check.py needs textlint, which npm could not install into {ENVIRONMENT} "
            f"(exit code {done.returncode}). npm's registry must be within reach."
        )


def tool(name: str) -> Path:
    """The path of a program in the virtual environment."""
    return ENVIRONMENT / "bin" / name


def with_tools() -> dict[str, str]:
    """The environment variables, with the virtual environment's Node.js first on PATH."""
    return os.environ | {"PATH": f"{ENVIRONMENT / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program at the root of the repository."""
    return subprocess.run(
        words, cwd=REPOSITORY, capture_output=True, text=True, errors="replace", env=with_tools(), check=False
    )


def report(check: str, done: subprocess.CompletedProcess[str], passes: bool) -> bool:
    """Print the output of a check that failed. Returns whether the check failed."""
    if not passes:
        print(f"{check}:\n{done.stdout}{done.stderr}", file=sys.stderr)
    return not passes


def tracked(patterns: list[str]) -> list[str]:
    """The files that git tracks and that match these patterns."""
    done = run("git", "ls-files", "--", *patterns)
    if done.returncode or not done.stdout:
        sys.exit(f"error: prose_check.py needs a git checkout of the repository: {done.stderr}")
    return done.stdout.splitlines()


def spelling() -> bool:
    """Run typos. Returns whether it finds a spelling mistake."""
    done = run(tool("typos"), "--format", "brief")
    return report("spelling", done, done.returncode == 0)


def sentences() -> bool:
    """Run textlint. Returns whether a sentence of a document is too long."""
    textlint = ENVIRONMENT / "node_modules" / ".bin" / "textlint"
    rules = ["--config", TOOLS / "textlintrc.json", "--rules-base-directory", ENVIRONMENT / "node_modules"]
    done = run(textlint, *rules, "--format", "unix", *tracked(SENTENCES_IN))
    return report("sentences", done, done.returncode == 0)


def phrases() -> bool:
    """Search for banned phrases. Returns whether a document, a comment or a message has one."""
    done = run("git", "grep", "-nE", "-f", TOOLS / "banned.txt", "--", *PHRASES_IN)
    return report("phrases", done, done.returncode == 1)


def commits() -> bool:
    """Check the subjects of the commits since this script was added. Returns whether a subject breaks the rules."""
    added = run("git", "log", "--diff-filter=A", "--format=%H", "--", "scripts/prose_check.py").stdout.split()
    if run("git", "rev-parse", "--is-shallow-repository").stdout.strip() != "false" or not added:
        print("commits: not checked, because the history is not in this checkout", file=sys.stderr)
        return False
    subjects = run("git", "log", "--no-merges", "--format=%h %s", f"{added[-1]}..HEAD").stdout.splitlines()
    bad = [line for line in subjects if not is_good(line.split(" ", 1)[1])]
    for line in bad:
        print(f"commits: {line}: expected `area: imperative`, at most {LONGEST_SUBJECT} characters", file=sys.stderr)
    return bool(bad)


def is_good(subject: str) -> bool:
    """Whether a commit subject follows the rules."""
    right = SUBJECT.fullmatch(subject) is not None and NOT_IMPERATIVE.search(subject) is None
    return right and len(subject) <= LONGEST_SUBJECT


if __name__ == "__main__":
    sys.exit(main())
