#!/usr/bin/env python3
"""Measure the time of the antsRegistration call that fMRIPrep uses for normalisation.

The call starts from a transform of antsAI, runs rigid, affine and SyN stages, and writes composites and an image. The
script prints the smallest, median and largest wall time of the process in s; a first run is not counted. The
environment variable ANTSREG_DEVICE chooses the device. With --ants THREADS the same call of real ANTs (from the package
antspyx) is timed once on this number of threads, and the ratio is printed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from clients.oracle import Oracle

#: The command line of fMRIPrep 25.2.7 with the precise settings for T1w. FIXED and MOVING stand for the images, LINEAR
#: for the metric of the rigid and affine stages.
LINE = (
    "--collapse-output-transforms 1 --dimensionality 3 --float 1 --initial-moving-transform [ init.mat, 0 ] "
    "--initialize-transforms-per-stage 0 --interpolation LanczosWindowedSinc "
    "--output [ ants_t1_to_mni, ants_t1_to_mni_Warped.nii.gz ] "
    "--transform Rigid[ 0.05 ] --metric LINEAR --convergence [ 100x100, 1e-06, 20 ] --smoothing-sigmas 2.0x1.0vox "
    "--shrink-factors 2x1 --use-histogram-matching 1 "
    "--transform Affine[ 0.08 ] --metric LINEAR --convergence [ 100x100, 1e-06, 20 ] --smoothing-sigmas 1.0x0.0vox "
    "--shrink-factors 2x1 --use-histogram-matching 1 "
    "--transform SyN[ 0.1, 3.0, 0.0 ] --metric CC[ FIXED, MOVING, 1, 4, None, 1 ] "
    "--convergence [ 100x70x50x20, 1e-06, 10 ] --smoothing-sigmas 3.0x2.0x1.0x0.0vox --shrink-factors 8x4x2x1 "
    "--use-histogram-matching 1 --winsorize-image-intensities [ 0.005, 0.995 ] --write-composite-transform 1"
)


def main() -> None:
    """Measure the times of fMRIPrep's antsRegistration call, and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fixed", type=Path)
    parser.add_argument("moving", type=Path)
    parser.add_argument("--program", type=Path, default=Path("target/release/antsreg-gpu"))
    parser.add_argument("--runs", type=int, default=5, help="number of timed runs [default: 5]")
    parser.add_argument("--ants", type=int, metavar="THREADS", help="also time real ANTs, on this number of threads")
    typed = parser.parse_args()
    fixed, moving, program = (str(path.resolve()) for path in (typed.fixed, typed.moving, typed.program))
    start = f"antsAI -d 3 -m Mattes[{fixed},{moving},32,Regular,0.25] -t Rigid[0.1] -s [15,0.1] -o init.mat"
    line = LINE.replace("LINEAR", "Mattes[ FIXED, MOVING, 1, 56, Regular, 0.25 ]")
    words = ["antsRegistration", *line.replace("FIXED", fixed).replace("MOVING", moving).split()]
    with tempfile.TemporaryDirectory() as folder:

        def run(words: list[str]) -> float:
            began = time.perf_counter()
            subprocess.run([program, "as", *words], cwd=folder, check=True, capture_output=True)
            return time.perf_counter() - began

        run(start.split())
        seconds = [run(words) for _ in range(typed.runs + 1)][1:]
        least, median, most = min(seconds), statistics.median(seconds), max(seconds)
        names = f"{typed.fixed.name} {typed.moving.name}"
        print(f"{names}: {least:.2f} s, median {median:.2f} s, at most {most:.2f} s", flush=True)
        if typed.ants:
            theirs = time_ants(words, Path(folder), typed.ants)
            print(f"{names}: ANTs on {typed.ants} threads {theirs:.1f} s, {theirs / median:.0f} times as long")


def time_ants(words: list[str], folder: Path, threads: int) -> float:
    """Wall time of a command of real ANTs, s, including the start of its Python process."""
    os.environ["ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS"] = str(threads)
    began = time.perf_counter()
    if not Oracle().run(words, folder):
        sys.exit(f"real ANTs failed: {' '.join(words)}")
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
