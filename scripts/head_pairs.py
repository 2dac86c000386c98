#!/usr/bin/env python3
"""Check that heads beside brains are registered as their extracted brains are.

head_pairs.py --heads HEAD… --brains BRAIN… [--program PROGRAM] [--device DEVICE] [--finest-mm MM] [--jobs N]

Each head is registered to each brain and the other way round (`register -t affine`), and the affine is compared with the one
of its extracted brain: mean distance, over the brain, of where the two put a point, at most 2 mm. A head NAME.nii.gz beside which
NAME_brainmask.nii.gz lies is compared with the brain in that mask, too. Pairs of brains and pairs of heads must write the same
bytes as with `--brain none`. Exits with 1 where that does not hold.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import environment

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heads", type=Path, nargs="+", required=True, metavar="HEAD")
    parser.add_argument("--brains", type=Path, nargs="+", required=True, metavar="BRAIN")
    parser.add_argument("--program", default="antsreg-gpu")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--finest-mm", default="1", metavar="MM", help="finest level of the affine stage [1]")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="registrations at a time [1]")
    arguments = parser.parse_args()
    environment.enter()
    from brain.pairs import check

    raise SystemExit(check(arguments))
