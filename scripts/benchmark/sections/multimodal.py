"""Several modalities: rigid transforms that are known, one patient's T1 and FLAIR, affines by information."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from benchmark import scores
from benchmark.context import Context
from benchmark.images import (
    Image,
    Mapping,
    carry,
    read_image,
    read_itk_text,
    read_labels,
    read_mapping,
    transform,
    voxel_indices,
    write_image,
)
from benchmark.process import record
from benchmark.report import Bars, Report
from benchmark.sections.headers import about_centre, moved_copy

SEED = 24
LARGEST_DEGREES = 30
LARGEST_MM = 30

#: A registration that ends further away than this has not found its transform, mm at the worst voxel.
FOUND_MM = 2.0
MEDIAN_MM = 0.15
WORST_MM = 0.5

MODALITIES = {"T2": "late", "PD": "erly"}
PARTIAL = ("--histogram", "partial-volume")
COSTS = {
    "nmi": ("--cost", "nmi"),
    "mi": ("--cost", "mi"),
    "cr": ("--cost", "cr"),
    "nmi, partial volume": ("--cost", "nmi", *PARTIAL),
    "mi, partial volume": ("--cost", "mi", *PARTIAL),
}
RIGID = ("-t", "rigid", "--no-warped")

SILVER_MM = 2.0
SEARCH_SECONDS = 0.15
REPEATS = 7
JACCARD_LOSS = 0.003


def multimodal(context: Context) -> Report:
    """Everything, in the order of the bars."""
    report = Report(
        commands=[
            "antsreg-gpu register -f spgr.nii.gz -m turned_N.nii -o PREFIX_ -t rigid --cost COST",
            "antsreg-gpu register -f p12_FLAIR.nii.gz -m p12_T1W.nii.gz -o PREFIX_ -t rigid --cost nmi",
            "antsreg-gpu register -f FIXED_t1.nii.gz -m MOVING_t1.nii.gz -o PREFIX_ -t affine --cost mi",
        ]
    )
    bars = report.bars()
    known_transforms(context, report, bars)
    silver_standard(context, bars)
    search_time(context, bars)
    affine_by_information(context, report, bars)
    return report


def turned_copy(job: tuple[Path, np.ndarray, Path, bool]) -> None:
    """An image moved through a world map: by its header, or resampled on its own grid, where parts of it are lost."""
    source, world, path, resampled = job
    image = read_image(source)
    if resampled:
        voxels = carry(image, image, Mapping(np.linalg.inv(world)), order=1)
        write_image(path, Image(voxels, image.voxel_to_world))
    else:
        write_image(path, moved_copy(image, world))


class Distances:
    """How far two affines are apart in a brain: at the worst of its voxels, and at some of them."""

    #: Every so many voxels stand for all in a median.
    STRIDE = 11

    def __init__(self, fixed: Image) -> None:
        points = transform(fixed.voxel_to_world, voxel_indices(fixed.brain()))
        self.some = points[:: self.STRIDE]
        # The distance is a convex function of the point: it is largest at a corner of the hull.
        self.corners = points[ConvexHull(points).vertices]

    def between(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, float]:
        """Distances at some voxels, and the largest of all, mm."""
        some, corners = (
            np.linalg.norm(points @ (first - second)[:3, :3].T + (first - second)[:3, 3], axis=1)
            for points in (self.some, self.corners)
        )
        return some, float(corners.max())


def known_transforms(context: Context, report: Report, bars: Bars) -> None:
    """SRI24's T1, T2 and PD lie exactly on each other: what is done to one has to be found."""
    fixed_path = context.data.sri24("spgr")
    fixed = read_image(fixed_path)
    distances = Distances(fixed)
    random = np.random.default_rng(SEED)
    worlds = []
    for _ in range(context.transforms):
        degrees = random.uniform(-LARGEST_DEGREES, LARGEST_DEGREES, 3)
        shift = random.uniform(-LARGEST_MM, LARGEST_MM, 3)
        worlds.append(about_centre(fixed, Rotation.from_euler("xyz", degrees, degrees=True).as_matrix(), shift))
    for resampled in (False, True):
        kind = "resampled" if resampled else "header"
        cases = [
            (modality, world, context.work / f"{modality}_{kind}_{number}.nii")
            for modality in MODALITIES
            for number, world in enumerate(worlds)
        ]
        copies = [(context.data.sri24(MODALITIES[modality]), world, path, resampled) for modality, world, path in cases]
        with ProcessPoolExecutor(context.program.jobs) as pool:
            list(pool.map(turned_copy, copies))
        costs = {"nmi": COSTS["nmi"]} if resampled else COSTS
        wanted = [(fixed_path, path, *RIGID, *options) for options in costs.values() for _, _, path in cases]
        found = iter(context.program.register_all(wanted))
        errors = {
            name: [
                (modality, *distances.between(read_mapping(next(found).prefix).affine, world))
                for modality, world, _ in cases
            ]
            for name in costs
        }
        add_known_transforms(report, bars, kind, errors)


def add_known_transforms(report: Report, bars: Bars, kind: str, errors: dict[str, list]) -> None:
    """Bars and a table of distances at the voxels of the brain, mm."""
    table = report.table(f"T1 ← (moved by {kind})", "cost", "found", "median over cases and voxels", "worst voxel")
    for name, cases in errors.items():
        found = sum(worst <= FOUND_MM for _, _, worst in cases)
        what = f"T1 ← T2, T1 ← PD, {kind}, {name}: found"
        bars.add(what, f"{len(cases)} of {len(cases)}", f"{found} of {len(cases)}", found == len(cases))
        if name == "nmi":
            median = np.median(np.concatenate([some for _, some, _ in cases]))
            bars.at_most(f"the same: median distance in the brain ({kind})", MEDIAN_MM, median, " mm", 3)
            worst = max(worst for _, _, worst in cases)
            bars.at_most(f"the same: worst voxel of the brain ({kind})", WORST_MM, worst, " mm", 3)
        for modality in MODALITIES:
            some, worst = zip(*((some, worst) for other, some, worst in cases if other == modality), strict=True)
            hits = sum(distance <= FOUND_MM for distance in worst)
            median = np.median(np.concatenate(some))
            table.rows.append([modality, name, f"{hits} of {len(some)}", f"{median:.3f} mm", f"{max(worst):.3f} mm"])


def silver_standard(context: Context, bars: Bars) -> None:
    """A patient's T1 onto the FLAIR, beside an affine that another algorithm made."""
    names = ["p12_FLAIR.nii.gz", "p12_T1W.nii.gz", "p12_T1W_to_FLAIR.txt"]
    fixed_path, moving_path, silver_path = (context.data.multimodal(name) for name in names)
    fixed, moving, silver = read_image(fixed_path), read_image(moving_path), read_itk_text(silver_path)
    done = context.program.register(fixed_path, moving_path, *RIGID, "--cost", "nmi")
    affine = read_mapping(done.prefix).affine
    distance = scores.distance_mm(fixed, affine, silver).mean()
    bars.at_most(
        "p12 T1 → FLAIR, rigid, nmi: mean distance in the head to the silver standard", SILVER_MM, distance, " mm"
    )
    ours, theirs = (
        scores.normalised_mutual_information(fixed.voxels, carry(moving, fixed, Mapping(matrix), order=1))
        for matrix in (affine, silver)
    )
    bars.at_least("the same: normalised mutual information, and at the silver standard", theirs, ours)


def search_time(context: Context, bars: Bars) -> None:
    """The whole search of a rigid pair at 1 mm, alone on the device: the time that the program records."""
    if context.program.device == "cpu":
        return
    fixed, moving = context.data.sri24("spgr"), context.data.sri24("late")
    seconds = []
    for repeat in range(REPEATS):
        done = context.program.register(
            fixed, moving, *RIGID, "--cost", "nmi", threads=os.cpu_count(), again=f"again {repeat}"
        )
        seconds.append(record(done.prefix)["seconds"]["linear"])
    what = f"T1 ← T2 at 1 mm, rigid, nmi: whole search, median of {REPEATS}"
    bars.at_most(what, SEARCH_SECONDS, float(np.median(seconds)), " s", 3)


def affine_by_information(context: Context, report: Report, bars: Bars) -> None:
    """The T1 pairs by mutual information must be as good as by correlation ratio."""
    labels = context.data.common_labels()
    table = report.table("pair, affine", *(cost for cost in ("cr", "mi", "nmi")))
    means = {}
    rows = {pair: [pair.name] for pair in context.pairs}
    for cost in ("cr", "mi", "nmi"):
        options = ("-t", "affine", "--no-warped", "--cost", cost)
        wanted = [(context.data.t1(pair.fixed), context.data.t1(pair.moving), *options) for pair in context.pairs]
        found = []
        for pair, done in zip(context.pairs, context.program.register_all(wanted), strict=True):
            fixed, moving = (read_labels(context.data.labels(person)) for person in (pair.fixed, pair.moving))
            found.append(scores.carried_jaccard(fixed, moving, read_mapping(done.prefix), labels))
            rows[pair].append(f"{found[-1]:.4f}")
        means[cost] = float(np.mean(found))
    table.rows.extend(rows.values())
    bars.at_least(
        "affine by mi: mean Jaccard over the pairs, and that of cr − 0.003", means["cr"] - JACCARD_LOSS, means["mi"]
    )
