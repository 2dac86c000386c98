#!/usr/bin/env python3
"""Measure rigid registration on simulated second scans of a person, with known motion.

    scripts/rescan_bars.py DATA [--count N] [--costs cr ncc lsq nmi mi] [--device DEVICE] [--program PROGRAM]

Each second scan is a brain of DATA/oasis that is turned by up to 5° about each axis and moved by up to 5 mm along each
axis, with 3 % noise, smooth shading of ±20 % and a gamma of 0.8 to 1.25. The error of a registration is the mean over the
brain of the distance between the found and the true position, mm. For each cost, and for both joint histograms of the
costs that have one: median at most 0.03 mm, worst at most 0.10 mm. The exit code is 1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import environment
from linear_bars import brain, parse, parser

#: Subjects of OASIS for which second scans are simulated.
PERSONS = ("1000", "1001", "1006", "1104")
#: Costs with a joint histogram, and the two methods by which an intensity pair is added to its bins.
WITH_HISTOGRAM = ("nmi", "mi")
HISTOGRAMS = ("trilinear", "partial-volume")
MEDIAN_MM, WORST_MM = 0.03, 0.10


def scan_again(data: Path, person: str, number: int, folder: Path) -> Path:
    """Simulate a second scan of a subject and write it with its true motion.

    An existing scan is not simulated again.
    """
    import nibabel as nib
    import numpy as np
    from scipy import ndimage
    from scipy.spatial.transform import Rotation

    path = folder / f"{person}_{number:03}.nii"
    if path.exists():
        return path
    random = np.random.default_rng([int(person), number])
    image = nib.load(brain(data, person))
    voxels = image.get_fdata()
    inside = voxels > 0
    points = np.argwhere(inside) @ image.affine[:3, :3].T + image.affine[:3, 3]
    centre = points.mean(axis=0)
    motion = np.eye(4)
    motion[:3, :3] = Rotation.from_euler("xyz", random.uniform(-5, 5, 3), degrees=True).as_matrix()
    motion[:3, 3] = centre + random.uniform(-5, 5, 3) - motion[:3, :3] @ centre
    # Position in the first scan of each voxel of the second scan.
    back = np.linalg.inv(image.affine) @ np.linalg.inv(motion) @ image.affine
    padded, border = np.pad(voxels, 12), np.full(3, 12.0)
    offset = back[:3, 3] + border
    moved = ndimage.affine_transform(padded, back[:3, :3], offset, output_shape=voxels.shape, order=5)
    axes = np.meshgrid(*(np.linspace(-1, 1, n) for n in voxels.shape), indexing="ij")
    shading = sum(random.normal() * axis for axis in axes) + sum(
        random.normal() * a * b for a in axes for b in axes
    )
    shading = 1 + 0.2 * shading / np.abs(shading).max()
    top = np.percentile(voxels[inside], 99)
    moved = top * np.clip(moved / top, 0, None) ** random.uniform(0.8, 1.25) * shading
    # A magnitude image has noise also outside the head. A skull-stripped image is 0 there, so noise is added only
    # inside the brain.
    noise = random.normal(scale=0.03 * voxels[inside].mean(), size=moved.shape)
    moved = np.where(moved > 0.02 * top, np.clip(moved + noise, 0, None), 0)
    np.save(path.with_suffix(".npy"), motion)
    nib.save(nib.Nifti1Image(moved.astype(np.float32), image.affine), path)
    return path


def register(typed: argparse.Namespace, person: str, scans: list[Path], words: list[str], folder: Path) -> list[float]:
    """Register the second scans of a subject to the first scan. Returns the errors, mm."""
    import nibabel as nib
    import numpy as np
    from series import errors

    command = [typed.program, "batch", "-f", brain(typed.data, person), "-o", folder, "-t", "rigid", "--no-report"]
    command += ["--no-warped", "--quiet", "--brain", "none", "--device", typed.device, *words, *typed.options, *scans]
    subprocess.run(command, check=True)
    image = nib.load(brain(typed.data, person))
    points = np.argwhere(image.get_fdata() > 0)[::50] @ image.affine[:3, :3].T + image.affine[:3, 3]
    apart = []
    for scan in scans:
        found = np.vstack([json.loads((folder / f"{scan.stem}_record.json").read_text())["affine_ras"], [0, 0, 0, 1]])
        difference = found - np.load(scan.with_suffix(".npy"))
        apart.append(float(np.linalg.norm(points @ difference[:3, :3].T + difference[:3, 3], axis=1).mean()))
    return apart


def measure(typed: argparse.Namespace, scans: dict[str, list[Path]], words: list[str], folder: Path) -> list[str]:
    """Register all second scans with one cost and print the errors. Returns the missed limits."""
    import numpy as np

    began, name = time.monotonic(), " ".join(word.removeprefix("--") for word in words)
    apart = [
        (mm, scan.stem)
        for person, own in scans.items()
        for mm, scan in zip(register(typed, person, own, words, folder / "_".join([*words, person])), own, strict=True)
    ]
    median, (worst, where) = float(np.median([mm for mm, _ in apart])), max(apart)
    seconds = (time.monotonic() - began) / len(apart)
    beyond = sum(mm > WORST_MM for mm, _ in apart)
    print(
        f"{name}: median {median:.4f}, worst {worst:.4f} mm ({where}), {beyond} of {len(apart)} above {WORST_MM} mm; "
        f"{seconds:.2f} s each",
        flush=True,
    )
    missed = median > MEDIAN_MM or worst > WORST_MM
    return [f"{name}: median {median:.3f}, worst {worst:.3f}, expected {MEDIAN_MM} and {WORST_MM} mm"] if missed else []


def main() -> None:
    """Simulate second scans, register them to the first scans with each cost, and report missed acceptance limits."""
    typed = parse(parser(__doc__, 200, "second scans in all"))
    environment.enter()
    with tempfile.TemporaryDirectory() as temporary, ProcessPoolExecutor() as pool:
        folder = typed.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        numbers = [(PERSONS[number % len(PERSONS)], number) for number in range(typed.count)]
        made = [(person, pool.submit(scan_again, typed.data, person, number, folder)) for person, number in numbers]
        scans: dict[str, list[Path]] = {person: [] for person in PERSONS[: typed.count]}
        for person, scan in made:
            scans[person].append(scan.result())
        faults = []
        for cost in typed.costs:
            for histogram in HISTOGRAMS if cost in WITH_HISTOGRAM else [None]:
                words = ["--cost", cost] + (["--histogram", histogram] if histogram else [])
                faults += measure(typed, scans, words, folder)
    if faults:
        sys.exit("missed:\n" + "\n".join(faults))


if __name__ == "__main__":
    main()
