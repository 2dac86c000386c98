#!/usr/bin/env python3
"""Measure what a registration makes of a brain that the field of view cuts.

    scripts/cut_bars.py DATA [--pairs N] [--spacing MM] [--device DEVICE] [--program PROGRAM] [--options OPTION ...]

Brains of DATA/oasis are registered in pairs: whole, then with half of the slices along one axis removed from the moving
or from the fixed image. Each cut is made in both roles. The script prints how far the result is from that of the whole
pair, as means over the brain that is left: within 10 mm of the cut, and beyond. The limits are 2.0 and 1.5 mm. The exit
code is 1 if one is exceeded.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import environment

# Pairs of people (fixed, moving), the axis of the cut in voxels of the image, and whether its first half is removed.
CUTS = [
    ("1000", "1001", 2, True),
    ("1001", "1002", 2, False),
    ("1002", "1000", 1, True),
    ("1000", "1002", 1, False),
    ("1001", "1000", 0, True),
    ("1002", "1001", 2, True),
]
NEAR_MM, MOST_NEAR_MM, MOST_BEYOND_MM = 10.0, 2.0, 1.5


def prepared(data: Path, person: str, spacing: float, folder: Path) -> Path:
    """Write a brain with voxels of the given size. Returns its path."""
    import nibabel as nib
    from nibabel.processing import resample_to_output

    path = folder / f"{person}.nii"
    if not path.exists():
        image = nib.load(data / "oasis" / f"{person}_t1.nii.gz")
        nib.save(resample_to_output(image, spacing, order=1) if spacing > 0 else image, path)
    return path


def cut(path: Path, axis: int, first: bool) -> tuple[Path, slice]:
    """Write an image without half of the brain along an axis. Returns its path and the range of voxels that is left."""
    import nibabel as nib
    import numpy as np

    image = nib.load(path)
    shown = np.argwhere(np.asanyarray(image.dataobj) > 0)
    middle = int((shown[:, axis].min() + shown[:, axis].max() + 1) // 2)
    left = slice(middle, None) if first else slice(0, middle)
    out = path.with_name(f"{path.stem}_cut_{axis}{int(first)}.nii")
    nib.save(image.slicer[tuple(left if n == axis else slice(None) for n in range(3))], out)
    return out, left


def mapped(typed: argparse.Namespace, fixed: Path, moving: Path, points, folder: Path):
    """Register two images. Returns the positions in the moving world of points of the fixed world, RAS mm."""
    import numpy as np

    prefix = folder / f"{fixed.stem}_{moving.stem}_"
    if not prefix.with_name(prefix.name + "record.json").exists():
        command = [typed.program, "register", "-f", fixed, "-m", moving, "-o", prefix, "--device", typed.device]
        command += ["--brain", "none", "--no-warped", "--quiet", *typed.options]
        subprocess.run([str(part) for part in command], check=True)
    table, out = folder / "points.csv", folder / "mapped.csv"
    rows = [",".join(f"{value:.6f}" for value in row) for row in points * [-1, -1, 1]]
    table.write_text("\n".join(["x,y,z", *rows]) + "\n")
    warp, affine = (prefix.with_name(prefix.name + name) for name in ("1Warp.nii.gz", "0GenericAffine.mat"))
    command = [typed.program, "apply", "--points", table, "-o", out, "-t", warp, "-t", affine]
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    return np.loadtxt(out, delimiter=",", skiprows=1)[:, :3] * [-1, -1, 1]


def main() -> None:
    """Register all cuts in both roles and report distances above the limits."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("data", type=Path, metavar="DATA", help="folder of the brains")
    made.add_argument("--pairs", type=int, default=len(CUTS), metavar="N", help="number of cuts [default: all]")
    made.add_argument("--spacing", type=float, default=0, metavar="MM", help="voxel size [default: as it is]")
    made.add_argument("--device", default="auto", help="device [default: auto]")
    program = environment.REPOSITORY / "target" / "release" / "antsreg-gpu"
    made.add_argument("--program", type=Path, default=program, help="the program")
    made.add_argument("--folder", type=Path, help="folder for the results, which are kept [default: temporary]")
    made.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="further options of register")
    typed = made.parse_args()
    environment.enter()
    import nibabel as nib
    import numpy as np

    faults = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = typed.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for fixed_name, moving_name, axis, first in CUTS[: typed.pairs]:
            fixed, moving = (prepared(typed.data, name, typed.spacing, folder) for name in (fixed_name, moving_name))
            header = nib.load(fixed)
            index = np.argwhere(np.asanyarray(header.dataobj) > 0)[::37]
            points = index @ header.affine[:3, :3].T + header.affine[:3, 3]
            whole = mapped(typed, fixed, moving, points, folder)
            for role in ("moving", "fixed"):
                path, left = cut(moving if role == "moving" else fixed, axis, first)
                pair = (fixed, path) if role == "moving" else (path, moving)
                found = mapped(typed, *pair, points, folder)
                # The positions, in voxels of the image that was cut, at which the whole pair puts the points.
                image = nib.load(moving if role == "moving" else fixed)
                at = whole if role == "moving" else points
                inverse = np.linalg.inv(image.affine)
                along = (at @ inverse[:3, :3].T + inverse[:3, 3])[:, axis]
                depth = along - (left.start - 0.5) if first else (left.stop - 0.5) - along
                depth = depth * image.header.get_zooms()[axis]
                apart = np.linalg.norm(found - whole, axis=1)
                near, beyond = apart[(depth > 0) & (depth <= NEAR_MM)].mean(), apart[depth > NEAR_MM].mean()
                side = "first" if first else "last"
                line = f"{moving_name} to {fixed_name}, {side} half along axis {axis} cut from the {role} image: "
                line += f"{near:.2f} mm near the cut, {beyond:.2f} mm beyond"
                print(line, flush=True)
                faults += [line] if near > MOST_NEAR_MM or beyond > MOST_BEYOND_MM else []
    if faults:
        sys.exit(f"above {MOST_NEAR_MM} or {MOST_BEYOND_MM} mm:\n" + "\n".join(faults))


if __name__ == "__main__":
    main()
