#!/usr/bin/env python3
"""Measure the changes that `longitudinal` finds between made scans of one person, where they are known.

    scripts/longitudinal_bars.py DATA [--people NAME,...] [--spacing MM] [--device DEVICE] [--program PROGRAM] [--ants]

Each case has two scans of a brain of DATA/oasis, both turned by up to 5° and moved by up to 5 mm, read anew by splines of
order 5, with noise of 2 % of the mean intensity. In the cases `null`, nothing has changed between them. In the cases
`change`, the second scan is deformed by a field whose volumes are known voxel by voxel: the hippocampus is 3 % smaller, the
lateral ventricles are 10 % larger. The limits: without a change, the mean magnitude of the log Jacobian in the brain is at
most 0.004 and the volume of the brain changes by at most 0.1 %; the known changes are found within 0.5 percentage points.
`--ants` compares antspyx' SyN of the two scans. `--pairs` prints what tells two people apart. The exit code is 1 if a limit is
exceeded.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import environment

if TYPE_CHECKING:
    import numpy as np

PEOPLE = "1000,1001,1104"
#: Labels of OASIS (both sides) and the relative change of their volumes.
GROUPS = {"hippocampus": ((47, 48), -0.03), "ventricles": ((51, 52), 0.10)}
TURN_DEGREES, MOVE_MM, NOISE = 5.0, 5.0, 0.02
#: Standard deviations of the Gaussians whose difference spreads the sources of a field, mm: the tissue around a label
#: gives or takes what the label loses or gains.
NEAR_MM, FAR_MM = 1.5, 12.0
MOST_LOG, MOST_PERCENT, MOST_POINTS = 0.004, 0.1, 0.5


def field(labels: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """Make the displacements, voxels, by which each voxel of the second scan finds its place in the first.

    They are gradients of potentials, scaled until the volumes change as wanted. Returns the changes that were reached, too.
    """
    import numpy as np
    from scipy import ndimage

    frequencies = np.meshgrid(*(np.fft.fftfreq(n) for n in labels.shape), indexing="ij")
    squared = sum((2 * np.pi * k) ** 2 for k in frequencies)
    squared[0, 0, 0] = 1
    masks = [np.isin(labels, numbers).astype(float) for numbers, _ in GROUPS.values()]
    wanted = np.array([change for _, change in GROUPS.values()])
    parts = []
    for mask in masks:
        sources = ndimage.gaussian_filter(mask, NEAR_MM) - ndimage.gaussian_filter(mask, FAR_MM)
        potential = -np.fft.fftn(sources) / squared
        potential[0, 0, 0] = 0
        parts.append(np.array([np.real(np.fft.ifftn(2j * np.pi * k * potential)) for k in frequencies]))
    index = np.indices(labels.shape).astype(float)

    def reached(scales: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        moved = sum(scale * part for scale, part in zip(scales, parts, strict=True))
        volumes = [ndimage.map_coordinates(mask, index + moved, order=1).sum() / mask.sum() for mask in masks]
        return np.array(volumes) - 1, moved

    scales = np.zeros(len(parts))
    found, moved = reached(scales)
    while np.abs(found - wanted).max() > 1e-4:
        slopes = [(reached(scales + 0.02 * unit)[0] - found) / 0.02 for unit in np.eye(len(parts))]
        scales = scales + np.linalg.solve(np.array(slopes).T, wanted - found)
        found, moved = reached(scales)
    return moved, found.tolist()


def scans(data: Path, person: str, changed: bool, spacing: float, folder: Path) -> tuple[list[Path], Path, list[float]]:
    """Make the two scans of a case. Returns their paths, the labels of the first, and the true changes."""
    import nibabel as nib
    import numpy as np
    from scipy import ndimage
    from scipy.spatial.transform import Rotation

    random = np.random.default_rng([int(person), int(changed)])
    image = nib.load(data / "oasis" / f"{person}_t1.nii.gz")
    labels = np.asarray(nib.load(data / "oasis" / f"{person}_labels.nii.gz").dataobj).astype(int)
    voxels, step = image.get_fdata(), max(round(spacing), 1)
    moved, truth = field(labels) if changed else (None, [0.0] * len(GROUPS))
    inside = voxels > 0
    centre = np.argwhere(inside).mean(axis=0)
    paths = []
    for name, displacement in (("first", None), ("second", moved)):
        turn = Rotation.from_euler("xyz", random.uniform(-TURN_DEGREES, TURN_DEGREES, 3), degrees=True).as_matrix()
        shift = random.uniform(-MOVE_MM, MOVE_MM, 3)
        shape = [-(-n // step) for n in voxels.shape]
        index = np.indices(shape).reshape(3, -1) * float(step)
        place = (turn @ (index - centre[:, None]) + (centre + shift)[:, None]).reshape(3, *shape)
        own = ndimage.map_coordinates(labels, place, order=0)
        if displacement is not None:
            place = place + [ndimage.map_coordinates(part, place, order=3, mode="nearest") for part in displacement]
        # A scanner with larger voxels averages over them.
        source = ndimage.gaussian_filter(voxels, 0.42 * step) if step > 1 else voxels
        seen = ndimage.map_coordinates(source, place, order=5)
        brain = ndimage.map_coordinates(inside.astype(float), place, order=1) > 0.5
        seen = seen + random.normal(scale=NOISE * voxels[inside].mean(), size=seen.shape)
        affine = image.affine.copy()
        affine[:3, :3] *= step
        paths.append(folder / f"{name}.nii.gz")
        nib.save(nib.Nifti1Image(np.where(brain, seen.clip(1e-3), 0).astype(np.float32), affine), paths[-1])
        if name == "first":
            nib.save(nib.Nifti1Image(own.astype(np.int16), affine), folder / "labels.nii.gz")
    return paths, folder / "labels.nii.gz", truth


def of_program(typed: argparse.Namespace, paths: list[Path], labels: Path, folder: Path) -> tuple[list[float], float, float]:
    """Run `longitudinal`. Returns the changes of the labels and of the brain, %, and the mean |log J| in the brain."""
    table, out = folder / "table.csv", folder / "out"
    table.write_text(f"image,labels\n{paths[0]},{labels}\n{paths[1]},\n")
    command = [typed.program, "longitudinal", table, "-o", out, "--device", typed.device, "--quiet", "--brain", "none"]
    subprocess.run([*command, *typed.options], check=True, stdout=subprocess.DEVNULL)
    with (out / "volumes.csv").open() as file:
        rows = list(csv.DictReader(file))
    volume = {(row["time_point"], row["label"]): float(row["volume_mm3"]) for row in rows}

    def change(*numbers: int) -> float:
        before, after = (sum(volume[name, str(n)] for n in numbers) for name in ("first", "second"))
        return 100 * (after / before - 1)

    brain = next(row for row in rows if row["label"] == "brain" and row["time_point"] == "second")
    found = [change(*numbers) for numbers, _ in GROUPS.values()]
    return found, float(brain["change_percent"]), float(brain["mean_abs_log_jacobian"])


def of_ants(paths: list[Path], labels: Path) -> list[float]:
    """Register the second scan to the first by antspyx' SyN. Returns the changes of the labels, %."""
    import ants
    import numpy as np

    first, second = (ants.image_read(str(path)) for path in paths)
    rigid = ants.registration(first, second, "Rigid")
    found = ants.registration(first, second, "SyNOnly", initial_transform=rigid["fwdtransforms"][0])
    jacobian = ants.create_jacobian_determinant_image(first, found["fwdtransforms"][0]).numpy()
    of = ants.image_read(str(labels)).numpy()
    return [100 * float(jacobian[np.isin(of, numbers)].mean() - 1) for numbers, _ in GROUPS.values()]


def pairs(typed: argparse.Namespace, people: list[str], folder: Path) -> None:
    """Print the squared correlation in small windows of the same person's scans and of two people's."""
    scan = {person: scans(typed.data, person, True, typed.spacing, made(folder / person))[0] for person in people}
    of_one = [(paths[0], paths[1]) for paths in scan.values()]
    of_two = [(scan[a][0], scan[b][0]) for a in people for b in people if a < b]
    for fixed, moving in of_one + of_two:
        command = [typed.program, "register", "-f", fixed, "-m", moving, "-t", "rigid", "-o", f"{folder}/pair_"]
        subprocess.run([*command, "--quiet", "--brain", "none", "--device", typed.device], check=True)
        local = json.loads((folder / "pair_record.json").read_text())["verdict"]["measures"]["local"]
        print(f"{fixed.parent.name} {fixed.stem} and {moving.parent.name} {moving.stem}: {local:.3f}", flush=True)


def made(folder: Path) -> Path:
    """Make a folder and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def main() -> None:
    """Measure all cases and report those beyond the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA", help="folder of the brains")
    parser.add_argument("--people", default=PEOPLE, metavar="NAME,...", help=f"brains [default: {PEOPLE}]")
    parser.add_argument("--spacing", type=float, default=1, metavar="MM", help="voxel size, whole mm [default: 1]")
    parser.add_argument("--device", default="cpu", help="device [default: cpu]")
    program = environment.REPOSITORY / "target" / "release" / "antsreg-gpu"
    parser.add_argument("--program", type=Path, default=program, help="the program")
    parser.add_argument("--folder", type=Path, help="folder for the results, which are kept [default: temporary]")
    parser.add_argument("--ants", action="store_true", help="compare antspyx")
    parser.add_argument("--pairs", action="store_true", help="print what tells two people apart, and stop")
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="further options of longitudinal")
    typed = parser.parse_args()
    environment.enter()
    faults = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = typed.folder or Path(temporary)
        people = typed.people.split(",")
        if typed.pairs:
            pairs(typed, people, folder)
            return
        for person in people:
            for changed in (False, True):
                own = made(folder / f"{person}_{'change' if changed else 'null'}")
                paths, labels, truth = scans(typed.data, person, changed, typed.spacing, own)
                found, brain, log = of_program(typed, paths, labels, own)
                line = f"{own.name}: brain {brain:+.3f} %, mean |log J| {log:.4f}"
                for name, percent, true in zip(GROUPS, found, truth, strict=True):
                    line += f"; {name} {percent:+.2f} %, true {100 * true:+.2f} %"
                if typed.ants and changed:
                    line += "; antspyx " + ", ".join(f"{percent:+.2f} %" for percent in of_ants(paths, labels))
                print(line, flush=True)
                apart = max(abs(percent - 100 * true) for percent, true in zip(found, truth, strict=True))
                missed = apart > MOST_POINTS if changed else abs(brain) > MOST_PERCENT or log > MOST_LOG
                faults += [line] if missed else []
    if faults:
        sys.exit("beyond the limits:\n" + "\n".join(faults))


if __name__ == "__main__":
    main()
