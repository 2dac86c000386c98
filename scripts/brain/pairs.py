"""Checks registrations between a head with skull and a brain without skull.

The reference is the registration of the same pair with extracted brains.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nibabel as nib
import numpy as np

#: Largest acceptable mean distance between two affines over the brain, mm.
MOST_MM = 2.0


def stem(path: Path) -> str:
    """Name of an image without its extensions."""
    return path.name.removesuffix(".gz").removesuffix(".nii")


class Pairs:
    """Runs registrations, several at a time, and keeps their files in a folder."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.program, self.folder = arguments.program, folder
        self.options = ["-t", "affine", "--finest-mm", arguments.finest_mm, "--device", arguments.device]
        self.pool = ThreadPoolExecutor(arguments.jobs)
        self.count = itertools.count()

    def run(self, *words: object) -> None:
        """Run the program under test; end this script if the program fails."""
        done = subprocess.run([self.program, "-q", *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")

    def brain(self, head: Path) -> tuple[Path, Path]:
        """Extract the brain of a head. Returns the paths of brain image and mask."""
        image, mask = (self.folder / f"{stem(head)}_{what}.nii.gz" for what in ("brain", "mask"))
        device = self.options[-2:]
        self.run("brain", "-i", head, "-o", image, "--mask", mask, *device)
        return image, mask

    def register(self, fixed: Path, moving: Path, brain: str = "auto") -> tuple[dict, list[bytes]]:
        """Register a pair. Returns the JSON record of the registration, and the bytes of its affine and images."""
        prefix = self.folder / f"{next(self.count)}_"
        self.run("register", "-f", fixed, "-m", moving, "-o", prefix, "--brain", brain, *self.options)
        files = [Path(f"{prefix}{rest}") for rest in ("0GenericAffine.mat", "Warped.nii.gz", "InverseWarped.nii.gz")]
        record = json.loads(Path(f"{prefix}record.json").read_text())
        return record, [file.read_bytes() for file in files]


def points_of(mask: Path) -> np.ndarray:
    """World positions (RAS mm) of every 17th voxel of a mask."""
    image = nib.load(mask)
    inside = np.argwhere(np.squeeze(np.asarray(image.dataobj)) > 0.5)[::17]
    return nib.affines.apply_affine(image.affine, inside)


def distance(one: dict, other: dict, points: np.ndarray) -> float:
    """Mean distance between the points to which the affines of two registrations map a point, mm.

    `points` are points of the fixed image. The affines are read from the JSON records of the registrations.
    """
    first, second = (np.array(record["affine_ras"]) for record in (one, other))
    difference = first - second
    return float(np.linalg.norm(points @ difference[:, :3].T + difference[:, 3], axis=1).mean())


def masked(head: Path, mask: Path, to: Path) -> Path:
    """Write a copy of a head that is 0 outside a mask."""
    image = nib.load(head)
    inside = np.asarray(nib.load(mask).dataobj).reshape(image.shape) > 0.5
    nib.save(nib.Nifti1Image((image.get_fdata(dtype=np.float32) * inside).astype(np.float32), image.affine), to)
    return to


def check(arguments: argparse.Namespace) -> int:
    """Register all pairs and print a line for each. Returns 1 if a pair misses its limit."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        pairs = Pairs(arguments, folder)
        extracted = list(pairs.pool.map(pairs.brain, arguments.heads))
        tasks: list[Callable[[], tuple[str, bool]]] = []
        for head, (brain, mask) in zip(arguments.heads, extracted, strict=True):
            others = {"its extracted brain": brain}
            given = head.with_name(f"{stem(head)}_brainmask.nii.gz")
            if given.exists():
                others["the brain in its mask"] = masked(head, given, folder / f"{stem(head)}_given.nii.gz")
            for other, swapped in itertools.product(arguments.brains, (False, True)):
                tasks.append(lambda head=head, mask=mask, others=others, other=other, swapped=swapped: beside(
                    pairs, (head, mask), others, other, swapped))
        unlike = list(itertools.permutations(arguments.brains, 2))
        unlike += list(zip(arguments.heads, arguments.heads[1:] + arguments.heads[:1], strict=True))
        tasks += [lambda pair=pair: same_bytes(pairs, *pair) for pair in unlike if pair[0] != pair[1]]
        results = []
        for line, good in pairs.pool.map(lambda task: task(), tasks):
            print(f"{line}{'' if good else '  MISSED'}", flush=True)
            results.append(good)
        print(f"{sum(results)} of {len(results)} pairs as expected")
        return 0 if all(results) else 1


def beside(
    pairs: Pairs, head: tuple[Path, Path], others: dict[str, Path], other: Path, swapped: bool
) -> tuple[str, bool]:
    """Compare affines of a head and a brain with affines of brains extracted from this head.

    A head is an image with skull, a brain is a skull-stripped image. If `swapped`, the head is the fixed image.
    """
    def sides(image: Path) -> tuple[Path, Path]:
        return (image, other) if swapped else (other, image)

    path, mask = head
    record, _ = pairs.register(*sides(path))
    texts, good = [], any(record["brains"])
    if not good:
        texts.append("no brain was extracted")
    for what, brain in others.items():
        against, _ = pairs.register(*sides(brain), brain="none")
        # Mean distance between the two affines, at points of the fixed image. If the head (image with skull) is the
        # fixed image, these points are the voxels of its brain. If the head is the moving image, these voxels are first
        # mapped to the fixed image.
        points = points_of(mask)
        if not swapped:
            to_moving = np.array(against["affine_ras"])
            points = (points - to_moving[:, 3]) @ np.linalg.inv(to_moving[:, :3]).T
        apart = distance(record, against, points)
        texts.append(f"{apart:.2f} mm from {what}")
        good &= apart <= MOST_MM or what != "its extracted brain"
    fixed, moving = (stem(image) for image in sides(path))
    return f"{moving} onto {fixed}: {', '.join(texts)}", good


def same_bytes(pairs: Pairs, fixed: Path, moving: Path) -> tuple[str, bool]:
    """Check that two heads, or two brains, give the same bytes with and without automatic brain extraction."""
    _, auto = pairs.register(fixed, moving)
    _, none = pairs.register(fixed, moving, brain="none")
    same = auto == none
    return f"{stem(moving)} onto {stem(fixed)}: {'same bytes' if same else 'other bytes'} as with --brain none", same
