"""Registrations of the same pairs by other programs: greedy and ANTs, from their Python packages.

Run as a program (`python -m benchmark.peers NAME FIXED MOVING PREFIX THREADS`), this module registers one pair, so that
the memory of the process can be measured. The time of the registration itself is written to PREFIXseconds.json: the
time to start Python is not counted for these programs.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark import images
from benchmark.process import run

#: Affine and deformable registrations by other programs: the name on the command line, and the name in tables.
AFFINE = {"greedy-affine": "greedy, NCC 2x2x2", "ants-affine": "ANTs, MI"}
DEFORMABLE = {"greedy": "greedy, affine + NCC 2x2x2", "ants-quick": "ANTs SyNQuick", "ants-syn": "ANTs SyN, CC"}

ANTS_PRESETS = {
    "ants-affine": "antsRegistrationSyN[a]",
    "ants-quick": "antsRegistrationSyNQuick[s]",
    "ants-syn": "antsRegistrationSyN[s]",
}


@dataclass
class PeerResult:
    """Time, peak memory and output prefix of a registration by another program."""

    seconds: float
    peak_gb: float
    prefix: str


def register(name: str, fixed: Path, moving: Path, prefix: str, threads: int) -> PeerResult:
    """Register a pair with another program, in a separate process."""
    limits = dict.fromkeys(("ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS", "OMP_NUM_THREADS"), str(threads))
    limits["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
    command = [sys.executable, "-m", "benchmark.peers", name, fixed, moving, prefix, str(threads)]
    usage = run(command, environment=limits)
    seconds = json.loads(Path(f"{prefix}seconds.json").read_text())["seconds"]
    return PeerResult(seconds, usage.peak_gb, prefix)


def read_mapping(name: str, prefix: str) -> images.Mapping:
    """Read the transforms that greedy or ANTs has written."""
    if not name.startswith("greedy"):
        return images.read_mapping(prefix)
    mapping = images.Mapping(np.loadtxt(f"{prefix}affine.mat"))
    if name == "greedy":
        mapping.warp = images.read_warp(Path(f"{prefix}warp.nii.gz"))
        mapping.inverse_warp = images.read_warp(Path(f"{prefix}inverse.nii.gz"))
    return mapping


def greedy(name: str, fixed: str, moving: str, prefix: str, threads: int) -> None:
    """Register a pair with greedy: the affine stage, then the deformable stage if requested.

    Except for the metric, greedy's defaults are used.
    """
    from picsl_greedy import Greedy3D

    program = Greedy3D()
    common = f"-threads {threads} -m NCC 2x2x2 -i {fixed} {moving} -n 100x50x10"
    program.execute(f"{common} -a -dof 12 -ia-image-centers -o {prefix}affine.mat")
    if name == "greedy":
        program.execute(f"{common} -it {prefix}affine.mat -o {prefix}warp.nii.gz -oinv {prefix}inverse.nii.gz")


def ants(name: str, fixed: str, moving: str, prefix: str) -> None:
    """Register a pair with a preset of ANTs and a fixed random seed."""
    import ants as antspyx

    antspyx.registration(
        antspyx.image_read(fixed),
        antspyx.image_read(moving),
        type_of_transform=ANTS_PRESETS[name],
        outprefix=prefix,
        random_seed=1,
    )


def main() -> None:
    """Register one pair and write the seconds that it took."""
    name, fixed, moving, prefix, threads = sys.argv[1:6]
    family = "greedy" if name.startswith("greedy") else "ants"
    # Importing the package is not part of the measured time.
    __import__({"greedy": "picsl_greedy", "ants": "ants"}[family])
    start = time.perf_counter()
    if family == "greedy":
        greedy(name, fixed, moving, prefix, int(threads))
    else:
        ants(name, fixed, moving, prefix)
    Path(f"{prefix}seconds.json").write_text(json.dumps({"seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main()
