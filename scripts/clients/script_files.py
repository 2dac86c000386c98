"""The real scripts of ANTs on this program's commands."""

from __future__ import annotations

import argparse
import itertools
import subprocess
from pathlib import Path

from clients import data


def check(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Run ANTs' own scripts on this program's antsRegistration; names of files are those of real ANTs."""
    images = data.pair(folder)
    affine, warp = "0GenericAffine.mat", ["1Warp.nii.gz", "1InverseWarp.nii.gz"]
    # The identity is an initial transform of `so`, and so the first output.
    expected = {kind: [affine] for kind in "tra"} | {kind: [affine, *warp] for kind in ("s", "sr", "so")}
    faults = []
    for script, kind in itertools.product(("antsRegistrationSyN.sh", "antsRegistrationSyNQuick.sh"), expected):
        place = folder / f"{script}_{kind}"
        place.mkdir(parents=True, exist_ok=True)
        words = [
            "bash",
            typed.scripts / script,
            "-d",
            "3",
            "-f",
            images.fixed,
            "-m",
            images.moving,
            "-t",
            kind,
            "-o",
            "o_",
        ]
        done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
        wanted = sorted(f"o_{name}" for name in [*expected[kind], "Warped.nii.gz", "InverseWarped.nii.gz"])
        found = sorted(path.name for path in place.iterdir())
        print(f"{script} -t {kind}: exit {done.returncode}, {', '.join(found)}", flush=True)
        if done.returncode or found != wanted:
            faults.append(f"{script} -t {kind}: expected {wanted}, found {found}; {done.stderr[-300:]}")
    return faults
