#!/usr/bin/env python3
"""Measure how far a lesion moves the warp, with its mask and without it.

    scripts/lesion_bars.py DATA [--lesions N] [--people NAME,...] [--spacing MM] [--device DEVICE] [--program PROGRAM]

Lesions are put into brains of DATA/oasis, which are registered to another brain: spheres and grown shapes of 2 to 60 cm³,
dark, bright or mixed, from the seeds 0 to N - 1. The script prints how far the result is from that of the brain without
the lesion: as means over the fixed brain, inside the lesion and within 10 mm around it. The limits, with the mask, are 1.5
and 0.5 mm. The exit code is 1 if one is exceeded.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import environment
from cut_bars import prepared

FIXED = "1000"
PEOPLE = "1001,1002,1003,1006"
SMALLEST_CM3, LARGEST_CM3 = 2.0, 60.0
AROUND_MM, MOST_INSIDE_MM, MOST_AROUND_MM = 10.0, 1.5, 0.5


def harmed(path: Path, seed: int) -> tuple[Path, Path, str]:
    """Put a lesion into a brain. Returns the paths of the image and of the mask, and a description."""
    import nibabel as nib
    import numpy as np
    from scipy import ndimage

    random = np.random.default_rng(seed)
    image = nib.load(path)
    voxels = np.asarray(image.dataobj, dtype=np.float32)
    sizes = np.array(image.header.get_zooms()[:3], dtype=float)
    brain = voxels > 0
    depth = ndimage.distance_transform_edt(brain, sizes)
    cm3 = SMALLEST_CM3 * (LARGEST_CM3 / SMALLEST_CM3) ** random.random()
    centres = np.argwhere(depth > 6)
    centre = centres[random.integers(len(centres))]
    away = np.linalg.norm((np.indices(voxels.shape).T - centre) * sizes, axis=-1).T
    grown, look = seed % 2 == 1, ("dark", "bright", "mixed")[seed // 2 % 3]
    if grown:
        radius = (3000 * cm3 / (4 * np.pi)) ** (1 / 3)
        noise = ndimage.gaussian_filter(random.standard_normal(voxels.shape), radius / 3 / sizes)
        away = away + 0.6 * radius * noise / noise.std()
    away[~brain] = np.inf
    count = min(round(1000 * cm3 / sizes.prod()), brain.sum() // 4)
    inside = away <= np.partition(away.ravel(), count)[count]
    inside &= ndimage.label(inside)[0] == ndimage.label(inside)[0][tuple(centre)] if inside[tuple(centre)] else True
    white = np.percentile(voxels[brain], 95)
    texture = 0.04 * white * random.standard_normal(voxels.shape)
    core = ndimage.distance_transform_edt(inside, sizes)
    tissue = {
        "dark": np.full(voxels.shape, 0.2 * white),
        "bright": np.full(voxels.shape, 1.4 * white),
        "mixed": np.where(core > 0.45 * core.max(), 0.25 * white, 1.2 * white),
    }[look]
    share = ndimage.gaussian_filter(inside.astype(float), 0.7) * brain
    made = np.where(share > 0.02, (1 - share) * voxels + share * (tissue + texture), voxels)
    out, mask = (path.with_name(f"{path.stem}_{seed}{end}.nii") for end in ("", "_lesion"))
    nib.save(nib.Nifti1Image(made.astype(np.float32), image.affine), out)
    nib.save(nib.Nifti1Image((share > 0.02).astype(np.uint8), image.affine), mask)
    shape = "grown" if grown else "sphere"
    return out, mask, f"{path.stem} {seed}: {look} {shape} of {inside.sum() * sizes.prod() / 1000:.0f} cm³"


def mapped(typed: argparse.Namespace, fixed: Path, moving: Path, masks: list[Path], folder: Path):
    """Register two images. Returns the positions in the moving world of the voxels of the fixed image, RAS mm."""
    import nibabel as nib
    import numpy as np

    prefix = folder / f"{fixed.stem}_{moving.stem}_{'masked_' if masks else ''}"
    record = prefix.with_name(prefix.name + "record.json")
    if not record.exists():
        command = [typed.program, "register", "-f", fixed, "-m", moving, "-o", prefix, "--device", typed.device]
        command += ["--brain", "none", "--no-warped", "--no-inverse", "--quiet", *typed.options]
        command += [word for mask in masks for word in ("--lesion", mask)]
        subprocess.run([str(part) for part in command], check=True)
    warp = nib.load(prefix.with_name(prefix.name + "1Warp.nii.gz"))
    moved = np.asarray(warp.dataobj)[:, :, :, 0] * [-1, -1, 1]
    at = nib.affines.apply_affine(warp.affine, np.moveaxis(np.indices(moved.shape[:3]), 0, -1)) + moved
    affine = np.array(json.loads(record.read_text())["affine_ras"])
    return nib.affines.apply_affine(np.vstack([affine, [0, 0, 0, 1]]), at)


def main() -> None:
    """Register all harmed brains and report distances above the limits."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("data", type=Path, metavar="DATA", help="folder of the brains")
    made.add_argument("--lesions", type=int, default=30, metavar="N", help="number of lesions [default: 30]")
    made.add_argument("--people", default=PEOPLE, metavar="NAME,...", help=f"harmed brains [default: {PEOPLE}]")
    made.add_argument("--spacing", type=float, default=2, metavar="MM", help="voxel size [default: 2]; 0: as it is")
    made.add_argument("--device", default="cpu", help="device [default: cpu]")
    program = environment.REPOSITORY / "target" / "release" / "antsreg-gpu"
    made.add_argument("--program", type=Path, default=program, help="the program")
    made.add_argument("--folder", type=Path, help="folder for the results, which are kept [default: temporary]")
    made.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="further options of register")
    typed = made.parse_args()
    environment.enter()
    import nibabel as nib
    import numpy as np
    from scipy import ndimage

    faults, all_of = [], []
    with tempfile.TemporaryDirectory() as temporary:
        folder = typed.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        fixed = prepared(typed.data, FIXED, typed.spacing, folder)
        brain = np.asarray(nib.load(fixed).dataobj) > 0
        people = typed.people.split(",")
        for seed in range(typed.lesions):
            moving = prepared(typed.data, people[seed % len(people)], typed.spacing, folder)
            image, mask, what = harmed(moving, seed)
            healthy = mapped(typed, fixed, moving, [], folder)[brain]
            lesion = nib.load(mask)
            index = nib.affines.apply_affine(np.linalg.inv(lesion.affine), healthy).T
            distance = ndimage.distance_transform_edt(np.asarray(lesion.dataobj) == 0, lesion.header.get_zooms())
            away = ndimage.map_coordinates(distance, index, order=1, mode="nearest")
            inside, around = away < 0.5, (away >= 0.5) & (away <= AROUND_MM)
            apart = [
                np.linalg.norm(mapped(typed, fixed, image, masks, folder)[brain] - healthy, axis=1)
                for masks in ([mask], [])
            ]
            figures = [[float(one[part].mean()) for part in (around, inside)] for one in apart]
            all_of.append(figures)
            (near, within), (near_without, within_without) = figures
            line = f"{what}: {near:.2f} mm around, {within:.2f} mm inside; without the mask "
            line += f"{near_without:.2f} and {within_without:.2f} mm"
            print(line, flush=True)
            faults += [line] if near > MOST_AROUND_MM or within > MOST_INSIDE_MM else []
    for name, n in (("with", 0), ("without", 1)):
        of = np.array(all_of)[:, n]
        print(
            f"{name} the mask, median and largest: {np.median(of[:, 0]):.2f} and {of[:, 0].max():.2f} mm around, "
            f"{np.median(of[:, 1]):.2f} and {of[:, 1].max():.2f} mm inside"
        )
    if faults:
        sys.exit(f"above {MOST_AROUND_MM} mm around or {MOST_INSIDE_MM} mm inside:\n" + "\n".join(faults))


if __name__ == "__main__":
    main()
