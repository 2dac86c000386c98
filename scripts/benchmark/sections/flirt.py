"""Checks that antsreg-gpu reads and converts the matrices of FLIRT."""

from __future__ import annotations

import numpy as np

from benchmark import scores
from benchmark.context import Context
from benchmark.data import PAIRS
from benchmark.images import read_itk_affine, read_labels
from benchmark.report import Report

#: Expected mean Jaccard index of the labels that are resampled by FLIRT's matrices (nearest neighbour).
EXPECTED = {"1001→1000": 0.2724, "1002→1000": 0.2864}
TOLERANCE = 0.001
ROUND_TRIP = 1e-9


def flirt(context: Context) -> Report:
    """Convert FLIRT's matrices to ITK and apply them to labels; convert ITK → FSL → ITK and compare."""
    report = Report(
        commands=[
            "antsreg-gpu convert flirt.mat itk.mat --from fsl --to itk -f FIXED -m MOVING",
            "antsreg-gpu apply -i MOVING_labels.nii.gz -r FIXED_labels.nii.gz -t itk.mat -n nearest -o OUT",
        ]
    )
    bars = report.bars()
    largest = 0.0
    for pair in PAIRS:
        if pair.name not in EXPECTED:
            continue
        fixed, moving = context.data.t1(pair.fixed), context.data.t1(pair.moving)
        sides = ["-f", fixed, "-m", moving]
        itk, fsl, again = (context.work / name for name in ("flirt_itk.mat", "flirt_fsl.mat", "flirt_itk_again.mat"))
        context.program.run("convert", context.data.flirt(pair), itk, "--from", "fsl", "--to", "itk", *sides)
        context.program.run("convert", itk, fsl, "--from", "itk", "--to", "fsl", *sides)
        context.program.run("convert", fsl, again, "--from", "fsl", "--to", "itk", *sides)
        largest = max(largest, float(np.abs(read_itk_affine(itk) - read_itk_affine(again)).max()))
        carried = context.work / "flirt_labels.nii.gz"
        labels, target = context.data.labels(pair.moving), context.data.labels(pair.fixed)
        context.program.run("apply", "-i", labels, "-r", target, "-t", itk, "-n", "nearest", "-o", carried)
        found = scores.mean_jaccard(
            read_labels(target).voxels, read_labels(carried).voxels, context.data.common_labels()
        )
        expected = EXPECTED[pair.name]
        what = f"{pair.name}, FLIRT's matrix applied by us: mean Jaccard"
        bars.add(what, f"{expected:.4f} ± {TOLERANCE}", f"{found:.4f}", abs(found - expected) <= TOLERANCE)
    what = "ITK → FSL → ITK: largest change of an element of the matrix"
    bars.add(what, f"≤ {ROUND_TRIP:.0e}", f"{largest:.1e}", largest <= ROUND_TRIP)
    return report
