"""Compares labels, intensities and posteriors of antsJointFusion with real ANTs, and tests antsJointLabelFusion.sh."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import nibabel as nib
import numpy as np

from clients import data, shapes
from clients.oracle import Oracle

#: Accepted share of voxels at which the fused labels of the two programs differ. They may differ where two labels have
#: nearly the same weight in the vote.
SHARE = 0.01
CASES = {
    "defaults": [],
    "alpha and beta": ["-a", "0.2", "-b", "1.5"],
    "radii": ["-p", "1", "-s", "2"],
    "a mask": ["-x", "mask.nii.gz"],
}
#: Width of the border that is not compared, voxels: two patch radii and one search radius. There ANTs leaves out patch
#: voxels outside the image.
EDGE = 7
#: Two limits for the absolute differences of intensities and posteriors, as shares of the value range: one for the mean
#: difference, one for the 99th percentile. ANTs' sums differ between runs, because its threads add to the same voxels.
MEAN, MOST = 2e-4, 2e-3


def check(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Fuse the labels of shifted, noisy copies of a target with antsreg-gpu and real ANTs, and compare the results."""
    truth = make(folder)
    real = Oracle()
    atlases = [word for n in range(4) for word in ("-g", f"atlas{n}.nii.gz", "-l", f"labels{n}.nii.gz")]
    faults = []
    for name, more in CASES.items():
        words = ["antsJointFusion", "-d", "3", "-t", "target.nii.gz", *atlases, *more]
        outputs = {who: [f"{who}_{what}.nii.gz" for what in ("labels", "intensity", "p%03d")] for who in WHO}
        line = {who: [*words, "-o", f"[{','.join(names)}]"] for who, names in outputs.items()}
        done = subprocess.run(line["ours"], capture_output=True, text=True, check=False)
        theirs = real.run(line["theirs"], folder)
        if done.returncode or not theirs:
            faults.append(f"{name}: exit {done.returncode}, ANTs {'runs' if theirs else 'fails'}; {done.stderr}")
            continue
        inside = array("mask.nii.gz") > 0 if "-x" in more else np.ones(truth.shape, bool)
        faults += [f"{name}: {fault}" for fault in compared(name, outputs, truth, inside)]
        for path in folder.glob("*s_*.nii.gz"):
            path.unlink()
    return faults + script(folder, truth, real)


WHO = ("ours", "theirs")


def array(path: Path | str) -> np.ndarray:
    """The voxels of an image."""
    return np.asarray(nib.load(path).dataobj)


def compared(name: str, outputs: dict[str, list[str]], truth: np.ndarray, inside: np.ndarray) -> list[str]:
    """Describe how labels, intensities and posteriors of antsreg-gpu and real ANTs differ inside a mask."""
    # Outside the mask the output of ANTs varies between runs, while antsreg-gpu writes background.
    a, b = (array(outputs[who][0]) for who in WHO)
    faults = ["labels outside the mask"] if a[~inside].any() else []
    share, right = (a != b)[inside].mean(), [(labels == truth)[inside].mean() for labels in (a, b)]
    said = f"{name}: {share:.3%} of voxels differ; right {right[0]:.2%}, of real ANTs {right[1]:.2%}"
    if share > SHARE:
        faults.append(f"{share:.2%} of voxels differ")
    names = [sorted(path.name[len(who) :] for path in Path.cwd().glob(f"{who}_*")) for who in WHO]
    if names[0] != names[1]:
        return [*faults, f"files {names[0]}, expected {names[1]}"]
    far = np.zeros(truth.shape, bool)
    far[EDGE:-EDGE, EDGE:-EDGE, EDGE:-EDGE] = True
    for rest in names[0]:
        x, y = (nib.load(f"{who}{rest}") for who in WHO)
        if rest != "_labels.nii.gz":
            if x.get_data_dtype() != y.get_data_dtype():
                faults.append(f"{rest}: {x.get_data_dtype()}, expected {y.get_data_dtype()}")
            apart = np.abs(x.get_fdata() - y.get_fdata())[inside & far] / np.ptp(y.get_fdata())
            said += f"; {rest}: {apart.mean():.1e}"
            if apart.mean() > MEAN or np.quantile(apart, 0.99) > MOST:
                faults.append(f"{rest}: apart by {apart.mean():.2%} of the range in the mean, {apart.max():.2%} at most")
    print(said, flush=True)
    return faults


def script(folder: Path, truth: np.ndarray, real: Oracle) -> list[str]:
    """Run antsJointLabelFusion.sh, and fuse the atlases that it has warped with real ANTs for comparison."""
    atlases = [word for n in range(4) for word in ("-g", f"atlas{n}.nii.gz", "-l", f"labels{n}.nii.gz")]
    words = ["antsJointLabelFusion.sh", "-d", "3", "-t", "target.nii.gz", "-y", "r", "-k", "1", "-x", "none", *atlases]
    done = subprocess.run([*words, "-o", "jlf_"], capture_output=True, text=True, check=False)
    if done.returncode:
        return [f"antsJointLabelFusion.sh: exit {done.returncode}; {done.stderr[-500:]}"]
    kept = [f"jlf_atlas{n}_{n}_" for n in range(4)]
    warped = [word for name in kept for word in ("-g", f"{name}Warped.nii.gz", "-l", f"{name}WarpedLabels.nii.gz")]
    real.run(["antsJointFusion", "-d", "3", "-t", "target.nii.gz", *warped, "-o", "[by_ants.nii.gz]"], folder)
    found, expected = array("jlf_Labels.nii.gz"), array("by_ants.nii.gz")
    share = (found != expected).mean()
    right = [(labels == truth).mean() for labels in (found, expected)]
    print(f"script: {share:.3%} of voxels differ; right {right[0]:.2%}, of real ANTs {right[1]:.2%}", flush=True)
    return [f"script: {share:.2%} of voxels differ"] if share > SHARE else []


def make(folder: Path) -> np.ndarray:
    """Write test images for label fusion. Returns the target's labels.

    The images are a target, four shifted noisy copies of the target as atlases, and a mask.
    """
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
