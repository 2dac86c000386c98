#!/usr/bin/env python3
"""Measure antsreg-gpu and other programs on real brains, and write the figures as Markdown.

    cargo build --release
    python3 scripts/benchmark.py DATA --peers greedy --figures docs/figures.json

DATA is the folder of the volumes; docs/benchmarks.md lists them and their sources. Every score is computed here with
numpy and scipy from the files that the programs write, not by the program under test. The first run makes a virtual
environment under .venv/ and installs requirements.txt into it.
"""

import sys

import environment
from benchmark.arguments import arguments

options = arguments(__doc__)
environment.enter()

from benchmark.main import main  # noqa: E402  (numpy and the peers exist only inside the environment)

sys.exit(main(options))
