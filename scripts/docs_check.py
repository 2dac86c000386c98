#!/usr/bin/env python3
"""Checks the documents: README.md and everything below docs/.

    site       the documentation site is built by mkdocs in target/docs/site; a broken link fails
    commands   every command that a document shows is run on the example data; those that need other data are parsed
    figures    every table of figures is that of docs/figures.json; --update writes the tables

The tools are pinned in scripts/docs/requirements.txt and are installed into .venv/docs, from Python's package index.
"""

from __future__ import annotations

import argparse
import sys

from docs import commands, figures, site

PARTS = ("site", "commands", "figures")


def main() -> int:
    """Run the requested checks of the documents. Returns the number of failed checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"parts to run: {', '.join(PARTS)} (all of them)")
    parser.add_argument("--pages", nargs="+", default=[], metavar="PAGE", help="check commands only in these documents")
    parser.add_argument("--update", action="store_true", help="write the tables of figures into the documents")
    arguments = parser.parse_args()
    chosen = arguments.parts or list(PARTS)
    unknown = [part for part in chosen if part not in PARTS]
    if unknown:
        parser.error(f"no part {', '.join(unknown)}: the parts are {', '.join(PARTS)}")
    run = {
        "site": site.build,
        "commands": lambda: commands.check(arguments.pages),
        "figures": lambda: figures.check(arguments.update),
    }
    return 1 if sum(run[part]() for part in chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
