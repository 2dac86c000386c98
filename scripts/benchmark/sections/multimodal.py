"""Registration between modalities: known rigid transforms, a patient's T1 and FLAIR, affines by mutual information."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from scipy.spatial import ConvexHull

from benchmark import modalities, scores
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
)
from benchmark.process import record
from benchmark.report import Bars, Report

#: A registration with known true transform succeeds if its error is at most this distance at every voxel of the brain,
#: mm.
FOUND_MM = 2.0
MEDIAN_MM = 0.15
WORST_MM = 0.5

SILVER_MM = 2.0
SEARCH_SECONDS = 0.15
JACCARD_LOSS = 0.003


def multimodal(context: Context) -> Report:
    """Run all measurements of the section, in the order in which its table of acceptance limits lists them."""
    report = Report(
        commands=[
            "antsreg-gpu batch T2_N.nii… PD_N.nii… -f spgr.nii.gz -o FOLDER -t rigid --cost COST",
            "antsreg-gpu register -f p12_FLAIR.nii.gz -m p12_T1W.nii.gz -o PREFIX_ -t rigid --cost nmi",
            "antsreg-gpu register -f FIXED_t1.nii.gz -m MOVING_t1.nii.gz -o PREFIX_ -t affine --cost mi",
        ]
    )
    folder = context.registrations or register(context)
    if context.registrations:
        report.commands.insert(0, (folder / modalities.COMMAND).read_text())
    alone = record(f"{folder}/alone_0_")
    if "name" in alone["device"]:
        report.elsewhere = f"{alone['threads']} threads, {alone['device']['name']}"
    bars = report.bars()
    known_transforms(context, folder, report, bars)
    silver_standard(context, folder, bars)
    search_time(folder, bars)
    affine_by_information(context, folder, report, bars)
    return report


def register(context: Context) -> Path:
    """Run the registrations of the benchmark section `multimodal`. Returns the folder of their results."""
    folder = context.work / "multimodal"
    folder.mkdir()
    program = context.program
    pairs = [(pair.moving, pair.fixed) for pair in context.pairs]
    modalities.everything(
        modalities.Runner(
            data=context.data.folder,
            folder=folder,
            program=program.path,
            device=program.device,
            threads=program.threads,
            workers=program.jobs,
            transforms=context.transforms,
            pairs=pairs,
        )
    )
    return folder


class Distances:
    """Distances between the points to which two affines map brain voxels: for a sample, and the largest of all."""

    #: Only every n-th voxel in the list of brain voxels belongs to the sample at which distances are computed. This is
    #: n.
    STRIDE = 11

    def __init__(self, fixed: Image) -> None:
        points = transform(fixed.voxel_to_world, voxel_indices(fixed.brain()))
        self.some = points[:: self.STRIDE]
        # The distance between the two points to which two affines map a point is a convex function of this point. Over
        # the brain it is therefore largest at a vertex of the convex hull of the brain.
        self.corners = points[ConvexHull(points).vertices]

    def between(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, float]:
        """Distances between the two points to which two affines map a voxel, mm.

        Returns the distances at the sampled voxels, and the largest distance in the brain.
        """
        some, corners = (
            np.linalg.norm(points @ (first - second)[:3, :3].T + (first - second)[:3, 3], axis=1)
            for points in (self.some, self.corners)
        )
        return some, float(corners.max())


def known_transforms(context: Context, folder: Path, report: Report, bars: Bars) -> None:
    """Measure the registrations of displaced copies of SRI24's T2 and PD images to its T1 image.

    The original images are aligned, so the true transforms are known.
    """
    distances = Distances(read_image(context.data.sri24(modalities.FIXED)))
    worlds = [np.array(world) for world in json.loads((folder / "worlds.json").read_text())]
    for kind, costs in modalities.KINDS.items():
        errors = {
            name: [
                (
                    modality,
                    *distances.between(found(folder / kind / modalities.folder_name(name), modality, number), world),
                )
                for modality in modalities.MODALITIES
                for number, world in enumerate(worlds)
            ]
            for name in costs
        }
        add_known_transforms(report, bars, kind, errors)


def found(folder: Path, modality: str, number: int) -> np.ndarray:
    """Read the affine that a registration has found for one displaced copy of an image."""
    return read_mapping(f"{folder}/{modality}_{number}_").affine


def add_known_transforms(report: Report, bars: Bars, kind: str, errors: dict[str, list]) -> None:
    """Add acceptance limits and a table of errors for images that were moved by known transforms.

    Errors are measured at the brain voxels, mm.
    """
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
        for modality in modalities.MODALITIES:
            some, worst = zip(*((some, worst) for other, some, worst in cases if other == modality), strict=True)
            hits = sum(distance <= FOUND_MM for distance in worst)
            median = np.median(np.concatenate(some))
            table.rows.append([modality, name, f"{hits} of {len(some)}", f"{median:.3f} mm", f"{max(worst):.3f} mm"])


def silver_standard(context: Context, folder: Path, bars: Bars) -> None:
    """Compare the affine that registers a patient's T1 to the FLAIR with the data set's affine, found by another algorithm."""
    names = ["p12_FLAIR.nii.gz", "p12_T1W.nii.gz", "p12_T1W_to_FLAIR.txt"]
    fixed_path, moving_path, silver_path = (context.data.multimodal(name) for name in names)
    fixed, moving, silver = read_image(fixed_path), read_image(moving_path), read_itk_text(silver_path)
    affine = read_mapping(f"{folder}/p12_").affine
    distance = scores.distance_mm(fixed, affine, silver).mean()
    bars.at_most(
        "p12 T1 → FLAIR, rigid, nmi: mean distance in the head to the silver standard", SILVER_MM, distance, " mm"
    )
    ours, theirs = (
        scores.normalised_mutual_information(fixed.voxels, carry(moving, fixed, Mapping(matrix), order=1))
        for matrix in (affine, silver)
    )
    bars.at_least("the same: normalised mutual information, and at the silver standard", theirs, ours)


def search_time(folder: Path, bars: Bars) -> None:
    """Measure the time of a rigid registration at 1 mm on an idle device, from the JSON record of the program."""
    records = [record(f"{folder}/alone_{repeat}_") for repeat in range(modalities.REPEATS)]
    if "name" not in records[0]["device"]:
        return
    seconds = float(np.median([found["seconds"]["linear"] for found in records]))
    what = f"T1 ← T2 at 1 mm, rigid, nmi: whole search, median of {modalities.REPEATS}"
    bars.at_most(what, SEARCH_SECONDS, seconds, " s", 3)


def affine_by_information(context: Context, folder: Path, report: Report, bars: Bars) -> None:
    """Check that affines of T1 pairs by mutual information are as good as those by correlation ratio."""
    labels = context.data.common_labels()
    table = report.table("pair, affine, mean Jaccard", *modalities.AFFINE_COSTS)
    found = {}
    for pair in context.pairs:
        fixed, moving = (read_labels(context.data.labels(person)) for person in (pair.fixed, pair.moving))
        for cost in modalities.AFFINE_COSTS:
            mapping = read_mapping(f"{folder}/affine/{cost}/{pair.moving}_to_{pair.fixed}_")
            found[pair, cost] = scores.carried_jaccard(fixed, moving, mapping, labels)
        table.rows.append([pair.name, *(f"{found[pair, cost]:.4f}" for cost in modalities.AFFINE_COSTS)])
    means = {cost: float(np.mean([found[pair, cost] for pair in context.pairs])) for cost in modalities.AFFINE_COSTS}
    table.rows.append(["mean", *(f"{means[cost]:.4f}" for cost in modalities.AFFINE_COSTS)])
    bars.at_least(
        "affine by mi: mean Jaccard over the pairs, and that of cr − 0.003", means["cr"] - JACCARD_LOSS, means["mi"]
    )
