"""Compares antsRegistration with real ANTs on random command lines without iterations.

Without iterations the result is the given initial transform, so exit codes, files, grids, data types and images must
agree.
"""

from __future__ import annotations

import argparse
import itertools
import random
import subprocess
from pathlib import Path

from clients import comparison, data
from clients.oracle import Oracle


def check(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Run random command lines with antsreg-gpu and real ANTs, and compare exit codes, files, grids and images."""
    images = data.small(folder)
    generator, real = random.Random(typed.seed), Oracle()
    faults = []
    for number in range(typed.count):
        words = command_line(generator, images)
        places = [folder / f"{number}{which}" for which in ("ours", "theirs")]
        for place in places:
            place.mkdir(parents=True, exist_ok=True)
        ours = subprocess.run(["antsRegistration", *words], cwd=places[0], capture_output=True, text=True, check=False)
        theirs = real.run(["antsRegistration", *words], places[1])
        found = comparison.folders(*places, [ours.returncode == 0, theirs], comparison.BORDER)
        if found:
            faults.append(f"antsRegistration {' '.join(words)}: {found}; {ours.stderr.strip()}")
            print(faults[-1], flush=True)
    print(f"{typed.count} command lines, {len(faults)} of them differ from real ANTs")
    return faults


def command_line(generator: random.Random, images: data.Images) -> list[str]:
    """Make a random command line whose stages have no iterations."""
    pair = f"{images.fixed},{images.moving}"
    choose = generator.choice
    linear = generator.sample(["Translation", "Rigid", "Similarity", "Affine"], choose([0, 0, 1, 2]))
    stages = [f"{kind}[0.1]" for kind in linear] + ["SyN[0.1,3,0]"] * choose([0, 1, 1])
    words = ["-d", "3"]
    for stage in stages or ["Rigid[0.1]"]:
        metric = choose([f"MeanSquares[{pair},1,0]", f"Mattes[{pair},1,32,Regular,0.25]", f"CC[{pair},1,2]"])
        parts = [["-t", stage], ["-m", metric]]
        generator.shuffle(parts)
        words += [*itertools.chain(*parts), "-c", choose(["0", "[0,1e-6,10]"]), "-f", "1", "-s", choose(["0", "0vox"])]
    start = choose(["none", "0", "1", "2", "file", "inverse", "two", "identity"])
    words += {
        "none": [],
        "file": ["-r", images.affine],
        "inverse": ["-r", f"[{images.affine},1]"],
        "two": ["-r", images.affine, "-r", f"[{images.affine},0]"],
        "identity": ["-r", "Identity"],
    }.get(start, ["-r", f"[{pair},{start}]"])
    words += choose([["-o", "o_"], ["-o", "[o_,w.nii.gz]"], ["-o", "[o_,w.nii.gz,i.nii.gz]"]])
    for flag, values in {"-z": "01", "-a": "001", "--float": "01", "-u": "01"}.items():
        words += choose([[], *([flag, value] for value in values)])
    words += choose([[], ["-n", "Linear"], ["-n", "NearestNeighbor"], ["-n", "BSpline"], ["-n", "HammingWindowedSinc"]])
    return words + choose([[], ["-w", "[0.005,0.995]"], ["-x", images.fixed_mask]])
