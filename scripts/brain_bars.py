#!/usr/bin/env python3
"""Measure brain extraction by `antsreg-gpu brain` on heads with true brain masks, and on changed copies of the heads.

brain_bars.py DATA [--program PROGRAM] [--colin HEAD MASK] [--only NAME] [--changed] [--out FOLDER]

DATA has mni2009c_2mm_T2.nii.gz and _PD with mni2009c_2mm_brainmask.nii.gz, and for each other head NAME.nii.gz its mask
NAME_brainmask.nii.gz. --colin takes Colin27's head and mask from Debian's mricron-data (ch2.nii.gz and ch2bet.nii.gz).
With --changed each head is also rotated by 30° about each axis, cropped by 30 mm at the bottom, resampled to 2 and 4 mm
and shaded by ±40 %; the results are compared with that of the unchanged head.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import environment

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--program", default="antsreg-gpu")
    parser.add_argument("--colin", type=Path, nargs=2, metavar=("HEAD", "MASK"))
    parser.add_argument("--only", help="measure only heads whose names contain this text")
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    environment.enter()
    from brain.measure import measure

    measure(arguments)
