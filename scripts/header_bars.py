#!/usr/bin/env python3
"""Measure how much a registration depends on the headers of its images.

    scripts/header_bars.py DATA [--count N] [--costs cr ncc lsq nmi mi] [--models rigid affine] [--device DEVICE]
                           [--program PROGRAM] [--folder FOLDER]

A brain of DATA/oasis is registered to another one under many headers. Each header turns it by up to 15° about each axis
and moves it by up to 30 mm along each axis; its voxels stay the same. For each cost and model, the script prints the
distances of the results from their median, as means over the brain. The largest distance may be 0.05 mm. The exit code
is 1 if it is larger.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import environment
from linear_bars import brain, parse, parser

FIXED, MOVING = "1000", "1001"
MOST_MM = 0.05


def under_headers(data: Path, count: int, folder: Path) -> list[Path]:
    """Write the moving image under new headers. Returns the paths."""
    import nibabel as nib
    import numpy as np
    from scipy.spatial.transform import Rotation

    image = nib.load(brain(data, MOVING))
    voxels, random, paths = np.asanyarray(image.dataobj), np.random.default_rng(5), []
    for number in range(count):
        motion = np.eye(4)
        motion[:3, :3] = Rotation.from_euler("xyz", random.uniform(-15, 15, 3), degrees=True).as_matrix()
        motion[:3, 3] = random.uniform(-30, 30, 3)
        paths.append(folder / f"header_{number:02}.nii")
        nib.save(nib.Nifti1Image(voxels, motion @ image.affine), paths[-1])
    return paths


def distances(typed: argparse.Namespace, paths: list[Path], model: str, cost: str, folder: Path) -> list[float]:
    """Register the image under each header. Returns the distances of the results from their median, mm."""
    import nibabel as nib
    import numpy as np

    command = [typed.program, "batch", "-f", brain(typed.data, FIXED), "-o", folder, "-t", model, "--cost", cost]
    command += ["--no-report", "--no-warped", "--quiet", "--brain", "none", "--device", typed.device, *typed.options]
    subprocess.run([*command, *paths], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    fixed = nib.load(brain(typed.data, FIXED))
    points = np.argwhere(fixed.get_fdata() > 0)[::50] @ fixed.affine[:3, :3].T + fixed.affine[:3, 3]
    mapped = []
    for path in paths:
        found = np.vstack([json.loads((folder / f"{path.stem}_record.json").read_text())["affine_ras"], [0, 0, 0, 1]])
        # From the world of the fixed image to the world of the moving image under its own header.
        found = nib.load(brain(typed.data, MOVING)).affine @ np.linalg.inv(nib.load(path).affine) @ found
        mapped.append(points @ found[:3, :3].T + found[:3, 3])
    middle = np.median(mapped, axis=0)
    return [float(np.linalg.norm(one - middle, axis=1).mean()) for one in mapped]


def main() -> None:
    """Register under all headers with each model and cost, and report distances above the limit."""
    made = parser(__doc__, 20, "headers")
    made.add_argument("--models", nargs="+", default=["rigid", "affine"], help="models [default: rigid affine]")
    typed = parse(made)
    environment.enter()
    faults = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = typed.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        paths = under_headers(typed.data, typed.count, folder)
        for model in typed.models:
            for cost in typed.costs:
                apart = sorted(distances(typed, paths, model, cost, folder / f"{model}_{cost}"))
                line = f"{model}, {cost}: median {apart[len(apart) // 2]:.4f}, largest {apart[-1]:.4f} mm"
                print(line, flush=True)
                faults += [line] if apart[-1] > MOST_MM else []
    if faults:
        sys.exit(f"above {MOST_MM} mm:\n" + "\n".join(faults))


if __name__ == "__main__":
    main()
