"""Registration of different subjects: label overlap, time, memory, folds and inverse consistency of the warps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmark import peers, scores
from benchmark.context import Context
from benchmark.data import Pair
from benchmark.images import Image, Mapping, carry, read_image, read_labels, read_mapping
from benchmark.report import Bars, Report, Table

AFFINE_SECONDS = 25
SYN_SECONDS = 95
PEAK_GB = 1.5
CONSISTENCY_MEAN_VOXELS = 0.05
CONSISTENCY_MAX_VOXELS = 0.5

OPTIONS = "register -f FIXED_t1.nii.gz -m MOVING_t1.nii.gz -o PREFIX_"


def jaccard(context: Context, pair: Pair, mapping: Mapping) -> float:
    """Mean Jaccard index of the moving labels, resampled on the fixed grid, with the fixed labels."""
    fixed, moving = read_labels(context.data.labels(pair.fixed)), read_labels(context.data.labels(pair.moving))
    return scores.carried_jaccard(fixed, moving, mapping, context.data.common_labels())


def affine(context: Context) -> Report:
    """Measure the affine registration of all pairs of subjects: label overlap, time and memory."""
    report = Report(commands=[f"antsreg-gpu {OPTIONS} -t affine"])
    bars = report.bars()
    table = report.table("pair", "program", "mean Jaccard", "seconds", "peak memory", hidden=True)
    slowest = 0.0
    for pair in context.pairs:
        options = (context.data.t1(pair.fixed), context.data.t1(pair.moving), "-t", "affine")
        done = context.program.register(*options)
        score = jaccard(context, pair, read_mapping(done.prefix))
        slowest = max(slowest, done.usage.seconds)
        bars.at_least(f"{pair.name}, mean Jaccard", pair.affine_bar, score)
        table.rows.append([pair.name, "antsreg-gpu", *affine_cells(score, done.usage.seconds, done.usage.peak_gb)])
        for name in context.peers:
            if name in peers.AFFINE:
                result = context.peer(name, pair)
                score = jaccard(context, pair, peers.read_mapping(name, result.prefix))
                table.rows.append([pair.name, peers.AFFINE[name], *affine_cells(score, result.seconds, result.peak_gb)])
    bars.at_most("slowest pair, whole process", AFFINE_SECONDS, slowest, " s", digits=1)
    return report


def affine_cells(score: float, seconds: float, peak_gb: float) -> list[str]:
    """Format the label overlap, the time and the memory of an affine registration as cells of a table row."""
    return [f"{score:.4f}", f"{seconds:.1f}", f"{peak_gb:.2f} GB"]


@dataclass
class Quality:
    """The quality of a deformable registration: label overlap, folds and inverse consistency."""

    jaccard: float
    forward: scores.Shape
    inverse: scores.Shape
    consistency_mean: float
    consistency_max: float

    def cells(self) -> list[str]:
        """Format the measures of this registration for a table row."""
        return [
            f"{self.jaccard:.4f}",
            f"{self.forward.folded} / {self.inverse.folded}",
            f"{self.forward.folded_at_a_corner} / {self.inverse.folded_at_a_corner}",
            f"{self.forward.smallest_determinant:.3f} / {self.inverse.smallest_determinant:.3f}",
            f"{self.consistency_mean:.4f} / {self.consistency_max:.2f}",
        ]


def quality(context: Context, pair: Pair, mapping: Mapping) -> Quality:
    """Compute the label overlap, the folds and the inverse consistency of a deformable registration."""
    fixed, moving = read_image(context.data.t1(pair.fixed)), read_image(context.data.t1(pair.moving))
    brain = fixed.brain()
    # The inverse warp acts on the moving brain after the affine has mapped it to the fixed grid.
    moving_mask = Image(moving.brain().astype(np.uint8), moving.voxel_to_world)
    moved_brain = carry(moving_mask, fixed, Mapping(mapping.affine), order=0) > 0
    there = scores.round_trip_voxels(mapping.warp, mapping.inverse_warp, brain)
    back = scores.round_trip_voxels(mapping.inverse_warp, mapping.warp, moved_brain)
    return Quality(
        jaccard(context, pair, mapping),
        scores.shape_inside(mapping.warp, brain),
        scores.shape_inside(mapping.inverse_warp, moved_brain),
        max(there.mean(), back.mean()),
        max(there.max(), back.max()),
    )


def syn(context: Context) -> Report:
    """Measure the affine and SyN registration of all pairs of subjects.

    Overlap of labels, time, memory, folds and inverse consistency are measured.
    """
    report = Report(commands=[f"antsreg-gpu {OPTIONS} --preset {preset}" for preset in context.presets])
    bars = report.bars()
    table = report.table(
        "pair",
        "program",
        "mean Jaccard",
        "folded voxels there / back",
        "folded at a corner there / back",
        "smallest Jacobian there / back",
        "round trip, voxels mean / max",
        "seconds",
        "peak memory",
        hidden=True,
    )
    runs = []
    for pair in context.pairs:
        for preset in context.presets:
            fixed, moving = context.data.t1(pair.fixed), context.data.t1(pair.moving)
            done = context.program.register(fixed, moving, "--preset", preset)
            found = quality(context, pair, read_mapping(done.prefix))
            add_row(table, pair, f"antsreg-gpu, {preset}", found, done.usage.seconds, done.usage.peak_gb)
            if preset == "default":
                bars.at_least(f"{pair.name}, mean Jaccard", pair.syn_bar, found.jaccard)
                runs.append((found, done.usage))
        for name in context.peers:
            if name in peers.DEFORMABLE:
                result = context.peer(name, pair)
                found = quality(context, pair, peers.read_mapping(name, result.prefix))
                add_row(table, pair, peers.DEFORMABLE[name], found, result.seconds, result.peak_gb)
    if runs:
        worst(bars, runs)
    return report


def add_row(table: Table, pair: Pair, program: str, found: Quality, seconds: float, peak_gb: float) -> None:
    """Add a row to the table that compares programs."""
    table.rows.append([pair.name, program, *found.cells(), f"{seconds:.1f}", f"{peak_gb:.2f} GB"])


def worst(bars: Bars, runs: list) -> None:
    """Add the acceptance limits that all pairs must meet. Each limit is compared with the worst pair."""
    bars.at_most("slowest pair, whole process", SYN_SECONDS, max(usage.seconds for _, usage in runs), " s", digits=1)
    bars.at_most("most memory", PEAK_GB, max(usage.peak_gb for _, usage in runs), " GB")
    bars.at_most(
        "folded voxels in the brain, both ways", 0, sum(q.forward.folded + q.inverse.folded for q, _ in runs), digits=0
    )
    corners = sum(q.forward.folded_at_a_corner + q.inverse.folded_at_a_corner for q, _ in runs)
    bars.at_most("folded at a corner in the brain, both ways", 0, corners, digits=0)
    smallest = min(min(q.forward.smallest_determinant, q.inverse.smallest_determinant) for q, _ in runs)
    bars.add("smallest Jacobian determinant in the brain, both ways", "> 0", f"{smallest:.4f}", smallest > 0)
    mean, largest = max(q.consistency_mean for q, _ in runs), max(q.consistency_max for q, _ in runs)
    bars.at_most("there and back in the brain, mean", CONSISTENCY_MEAN_VOXELS, mean, " voxel", digits=4)
    bars.at_most("there and back in the brain, largest", CONSISTENCY_MAX_VOXELS, largest, " voxel", digits=3)
