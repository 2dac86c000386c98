"""antsJointFusion and LabelOverlapMeasures beside real ANTs'."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import nibabel as nib
import numpy as np

from clients import data, shapes
from clients.oracle import Oracle

#: Share of the voxels whose labels may differ: where two labels have nearly the same weight.
SHARE = 0.01
CASES = {
    "defaults": [],
    "alpha and beta": ["-a", "0.2", "-b", "1.5"],
    "radii": ["-p", "1", "-s", "2"],
    "a mask": ["-x", "mask.nii.gz"],
}


def check(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Fuse labels of shifted, noisy copies of one target by both."""
    truth = make(folder)
    real = Oracle()
    atlases = [word for n in range(4) for word in ("-g", f"atlas{n}.nii.gz", "-l", f"labels{n}.nii.gz")]
    faults = []
    for name, more in CASES.items():
        words = ["antsJointFusion", "-d", "3", "-t", "target.nii.gz", *atlases, *more]
        done = subprocess.run([*words, "-o", "ours.nii.gz"], capture_output=True, text=True, check=False)
        theirs = real.run([*words, "-o", "theirs.nii.gz"], folder)
        if done.returncode or not theirs:
            faults.append(f"{name}: exit {done.returncode}, ANTs {'runs' if theirs else 'fails'}; {done.stderr}")
            continue
        a, b = (np.asarray(nib.load(path).dataobj) for path in ("ours.nii.gz", "theirs.nii.gz"))
        # What ANTs writes outside a mask changes from run to run; ours is background there.
        inside = np.asarray(nib.load("mask.nii.gz").dataobj) > 0 if "-x" in more else np.ones(truth.shape, bool)
        if a[~inside].any():
            faults.append(f"{name}: labels outside the mask")
        share, right = (a != b)[inside].mean(), [(labels == truth)[inside].mean() for labels in (a, b)]
        print(f"{name}: {share:.3%} of voxels differ; right {right[0]:.2%}, of real ANTs {right[1]:.2%}", flush=True)
        if share > SHARE:
            faults.append(f"{name}: {share:.2%} of voxels differ")
    return faults


def make(folder: Path) -> np.ndarray:
    """Write a target, atlases and a mask; gives the target's labels."""
    generator = np.random.default_rng(5)
    shape, affine = (24, 26, 22), np.diag([2.0, 2, 2, 1])
    truth = np.floor(shapes.blobs(generator, shape) / 34).astype(np.uint8)
    for _ in range(2):
        truth = np.round((np.roll(truth, 1, 0) + truth + np.roll(truth, 1, 1)) / 3).astype(np.uint8)
    noisy = lambda labels: (60.0 * labels + generator.normal(0, 8, shape)).astype(np.float32)  # noqa: E731
    data.save(noisy(truth), affine, folder / "target.nii.gz")
    for n, shift in enumerate([(0, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 1)]):
        labels = np.roll(truth, shift, (0, 1, 2))
        data.save(noisy(labels), affine, folder / f"atlas{n}.nii.gz")
        data.save(labels, affine, folder / f"labels{n}.nii.gz")
    mask = np.zeros(shape, np.uint8)
    mask[4:-4, 4:-4, 4:-4] = 1
    data.save(mask, affine, folder / "mask.nii.gz")
    return truth
