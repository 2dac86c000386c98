#!/usr/bin/env python3
"""Check that the affine search finds the same alignment when the two images change sides.

swapped_bars.py DATA [--costs nmi mi cr] [--transforms affine] [--finest-mm MM] [--jobs N] [--device DEVICE]
                [--program PROGRAM] [--only WORD…] [--folder FOLDER]

Forty pairs are made from five heads of DATA/heads and DATA/wholehead: the head as scanned, and a copy that is turned by
20°, with another contrast (like CT: skull bright, brain flat, air zero) and a smaller field of view. Each pair is
registered in both directions with each cost. Three distances are printed, as means over the brain that both images
show: of each direction's transform from the true one, and of both transforms, one after the other, from the identity.
A case is good if the first two are at most 4 mm and the third is at most 1 mm. The exit code is 1 if a case is not
good.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import environment

if TYPE_CHECKING:
    import numpy as np
    from swapped.made import Head, Pair

#: Heads, and their brain masks where DATA has one. The other brains are extracted.
HEADS = {
    "heads/mni2009c_2mm_T1": "heads/mni2009c_2mm_brainmask",
    "heads/p04_t1": "heads/p04_t1_brainmask",
    "heads/p12_t1": "heads/p12_t1_brainmask",
    "heads/head_a_t1": None,
    "wholehead/pycortex_S1_T1": None,
}
#: Largest distances of a good case, mm: of a found transform from the true one, and of both directions. Images of
#: different contrasts have their lowest cost beside the true transform.
MOST_MM, MOST_BOTH_MM = 4.0, 1.0


def arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the data sets")
    parser.add_argument("--program", type=Path, default=environment.REPOSITORY / "target" / "release" / "antsreg-gpu")
    parser.add_argument("--costs", nargs="+", default=["nmi", "mi", "cr"], help="costs [default: nmi mi cr]")
    parser.add_argument("--transforms", nargs="+", default=["affine"], help="transform models [default: affine]")
    parser.add_argument("--finest-mm", default="2", metavar="MM", help="finest level [default: 2, the voxels' size]")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="simultaneous registrations [default: 1]")
    parser.add_argument("--device", default="cpu", help="device of antsreg-gpu [default: cpu]")
    parser.add_argument("--only", nargs="+", default=[""], metavar="WORD", help="only pairs with a word in their name")
    parser.add_argument("--folder", type=Path, help="folder that keeps the images [default: temporary]")
    typed = parser.parse_args()
    if not typed.program.exists():
        parser.error(f"{typed.program} is missing: cargo build --release")
    return typed


def read(typed: argparse.Namespace, name: str, folder: Path) -> Head:
    """Read a head with its brain, which is extracted if the data have no mask."""
    from swapped.made import head

    image, given = typed.data / f"{name}.nii.gz", HEADS[name]
    mask = typed.data / f"{given}.nii.gz" if given else folder / f"{image.name.partition('.')[0]}_mask.nii.gz"
    if not mask.exists():
        brain = folder / f"{image.name.partition('.')[0]}_brain.nii.gz"
        run(typed, "brain", "-i", image, "-o", brain, "--mask", mask)
    return head(image, mask)


def run(typed: argparse.Namespace, *words: object) -> None:
    """Run the program under test; end this script if the program fails."""
    command = [typed.program, "-q", *map(str, words), "--device", typed.device]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")


def register(typed: argparse.Namespace, fixed: Path, moving: Path, words: list[str]) -> tuple[np.ndarray, float]:
    """Register two images. Returns the transform, fixed to moving, RAS mm, and the covered share of the fixed image."""
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        options = ["--finest-mm", typed.finest_mm, "--brain", "none", "--no-warped", *words]
        run(typed, "register", "-f", fixed, "-m", moving, "-o", f"{folder}/", *options)
        record = json.loads((Path(folder) / "record.json").read_text())
    return np.vstack([record["affine_ras"], [0, 0, 0, 1]]), record["coverage"]["now"]


def distance(one: np.ndarray, other: np.ndarray, points: np.ndarray) -> float:
    """Mean distance between the two places to which two transforms map a point, mm."""
    import numpy as np

    difference = one - other
    return float(np.linalg.norm(points @ difference[:3, :3].T + difference[:3, 3], axis=1).mean())


def both_ways(typed: argparse.Namespace, pair: Pair, words: list[str]) -> tuple[str, bool]:
    """Register a pair in both directions. Returns a line of the table, and whether the case is good."""
    import numpy as np

    began = time.monotonic()
    forward, covered = register(typed, pair.first, pair.second, words)
    backward, covered_back = register(typed, pair.second, pair.first, words)
    seconds = 0.5 * (time.monotonic() - began)
    errors = (
        distance(forward, pair.truth, pair.points),
        distance(np.linalg.inv(backward), pair.truth, pair.points),
        distance(backward @ forward, np.eye(4), pair.points),
    )
    good = max(errors[:2]) <= MOST_MM and errors[2] <= MOST_BOTH_MM
    line = "  ".join(f"{mm:7.2f}" for mm in errors)
    name = f"{pair.name}, {' '.join(words[1::2])}"
    return f"{name:48} {line}   {covered:5.0%} {covered_back:5.0%} {seconds:6.1f} s{'' if good else '  MISSED'}", good


def main() -> None:
    """Make the pairs, register them in both directions and report cases that are not good."""
    typed = arguments()
    environment.enter()
    from swapped.made import KINDS, pair

    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(typed.jobs) as pool:
        folder = typed.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        heads = [read(typed, name, folder) for name in HEADS]
        cases = [
            (head, kind, number)
            for number, (head, kind) in enumerate(itertools.product(heads, KINDS))
            if any(word in f"{head.name}, {kind.name}" for word in typed.only)
        ]
        pairs = [pair(*case, folder) for case in cases]
        settings = [["-t", model, "--cost", cost] for model in typed.transforms for cost in typed.costs]
        print(f"{'pair':48} {'there':>7}  {'back':>7}  {'both':>7} mm covered shares", flush=True)
        missed = []
        for words in settings:
            results = []
            for line, good in pool.map(lambda pair, words=words: both_ways(typed, pair, words), pairs):
                print(line, flush=True)
                results.append(good)
            name = " ".join(words[1::2])
            print(f"{name}: {sum(results)} of {len(results)} pairs good", flush=True)
            missed += [name] if not all(results) else []
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
