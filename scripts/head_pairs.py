#!/usr/bin/env python3
"""Check that a head and a brain are registered as if the head's brain had been extracted before.

head_pairs.py --heads HEAD… --brains BRAIN… [--program PROGRAM] [--device DEVICE] [--finest-mm MM] [--jobs N]

A head is an image with skull, a brain is a skull-stripped image. Each head is registered to each brain and each brain
to each head (`register -t affine`). The affine is compared with the affine of the extracted brain: the mean distance
between the points to which both map a point of the brain must be at most 2 mm. If a head NAME.nii.gz has a mask
NAME_brainmask.nii.gz, its affine is also compared with that of the brain in this mask. Pairs of two brains and pairs of
two heads must give the same bytes as with `--brain none`. The exit code is 1 if a check fails.
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
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="number of simultaneous registrations [1]")
    arguments = parser.parse_args()
    environment.enter()
    from brain.pairs import check

    raise SystemExit(check(arguments))
