"""Runs real scripts of ANTs from their start to their end, with antsreg-gpu in place of all commands of ANTs.

A script passes if it ends with success, refuses nothing, and gives results that fit what is known of the images.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nibabel as nib
import numpy as np
from scipy import ndimage

from clients import data


@dataclass
class Case:
    """A call of a script, and a measure of its results with the least accepted value."""

    line: str
    measure: Callable[[], float]
    least: float


def check(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Run every script on small images."""
    os.environ["PATH"] = f"{typed.scripts}:{os.environ['PATH']}"
    images = data.pair(folder)
    prepare(images, folder)
    faults = []
    for case in cases(images):
        script = case.line.split()[0]
        if typed.only not in case.line:
            continue
        place = folder / f"{script}{len(list(folder.iterdir()))}"
        place.mkdir()
        words = [str(typed.scripts / script), *case.line.split()[1:]]
        done = subprocess.run(["bash", *words], cwd=place, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        refused = [line for line in said.splitlines() if line.startswith("error:")]
        os.chdir(place)
        value = case.measure() if done.returncode == 0 and not refused else 0.0
        print(f"{case.line}: {value:.4f}", flush=True)
        if value < case.least:
            last = refused[:1] or said.splitlines()[-1:]
            faults.append(f"{case.line}: {value:.4f}, expected at least {case.least}; exit {done.returncode}, {last}")
    return faults


def prepare(images: data.Images, folder: Path) -> None:
    """Write masks and tissue probabilities of the fixed image, a slice of each image, and atlases with labels.

    The atlases are the moving brain before its header was turned, with noise.
    """
    fixed = nib.load(images.fixed)
    voxels = fixed.get_fdata()
    inside = ndimage.binary_fill_holes(voxels > 0.1 * voxels.max())
    data.save(inside.astype(np.uint8), fixed.affine, folder / "mask.nii.gz")
    around = ndimage.binary_dilation(inside, iterations=2)
    data.save(around.astype(np.uint8), fixed.affine, folder / "around.nii.gz")
    low, high = np.quantile(voxels[inside], [0.2, 0.6])
    classes = (inside & (voxels < low), inside & (voxels >= low) & (voxels < high), inside & (voxels >= high))
    for number, tissue in enumerate(classes, 1):
        share = ndimage.gaussian_filter(tissue.astype(float), 0.5) * inside
        data.save(share.astype(np.float32), fixed.affine, folder / f"prior{number}.nii.gz")
    for name, path in (("fixed", images.fixed), ("moving", images.moving)):
        image = nib.load(path)
        plane = image.get_fdata(dtype=np.float32)[:, :, image.shape[2] // 2]
        data.save(plane, np.diag([4.0, 4, 1, 1]), folder / f"{name}_slice.nii.gz")
    labels = nib.load(data.EXAMPLES / "colin27_aal_2mm.nii.gz")
    thinned = np.asarray(labels.dataobj)[::2, ::2, ::2]
    place = labels.affine @ np.diag([2, 2, 2, 1])
    brain = nib.load(images.moving).get_fdata()
    for number in (1, 2):
        noise = np.random.default_rng(number).normal(0, 0.02 * brain.max(), brain.shape)
        data.save((brain + noise * (brain > 0)).astype(np.float32), place, folder / f"atlas{number}.nii.gz")
        data.save(thinned, place, folder / f"atlas{number}_labels.nii.gz")


def cases(images: data.Images) -> list[Case]:
    """The calls of the scripts. Measures read files in the folder where a script has run."""
    fixed, moving = images.fixed, images.moving
    template = "-i 2 -c 0 -q 20x10x5 -f 4x2x1 -s 2x1x0vox -n 0"
    quick = "-q 1 -c 0 -k 1 -x or"
    return [
        Case(
            f"antsAtroposN4.sh -d 3 -a {fixed} -x ../mask.nii.gz -c 3 -o o_ -n 2 -m 2",
            lambda: share_of_classes("o_Segmentation.nii.gz"),
            0.7,
        ),
        Case(
            f"antsAtroposN4.sh -d 3 -a {fixed} -x ../mask.nii.gz -c 3 -p ../prior%d.nii.gz -w 0.25 -o o_ -n 2 -m 2 -y 2",
            lambda: share_of_classes("o_Segmentation.nii.gz"),
            0.85,
        ),
        Case(
            f"antsBrainExtraction.sh -d 3 -a {moving} -e {fixed} -m ../mask.nii.gz -f ../around.nii.gz -o o_ -k 1",
            lambda: dice("o_BrainExtractionMask.nii.gz", moving),
            0.9,
        ),
        Case(
            f"antsMultivariateTemplateConstruction2.sh -d 3 -o o_ {template} -r 1 -m CC[2] -t SyN {fixed} {moving}",
            lambda: least_correlation("o_template0.nii.gz", "o_input*WarpedToTemplate.nii.gz"),
            0.95,
        ),
        Case(
            f"antsMultivariateTemplateConstruction2.sh -d 2 -o o_ {template} -r 1 -m MI -t SyN ../fixed_slice.nii.gz "
            "../moving_slice.nii.gz",
            lambda: least_correlation("o_template0.nii.gz", "o_input*WarpedToTemplate.nii.gz"),
            0.95,
        ),
        Case(
            f"antsJointLabelFusion.sh -d 3 -t {moving} -o o_ {quick} -g ../atlas1.nii.gz -l ../atlas1_labels.nii.gz "
            "-g ../atlas2.nii.gz -l ../atlas2_labels.nii.gz",
            lambda: same_labels("o_Labels.nii.gz", "../atlas1_labels.nii.gz"),
            0.9,
        ),
        *(
            Case(
                f"antsIntermodalityIntrasubject.sh -d 3 -i {moving} -r {fixed} -T {fixed} -R {fixed} -x ../mask.nii.gz -w "
                f"w_ -t {kind} -o o_",
                lambda: correlation("o_anatomical.nii.gz", fixed),
                least,
            )
            for kind, least in (("0", 0.85), ("3", 0.9))
        ),
    ]


def array(path: str) -> np.ndarray:
    """The voxels of an image in double precision."""
    return np.asarray(nib.load(path).dataobj).astype(float)


def correlation(path: str, other: str) -> float:
    """Correlation of two images."""
    return float(np.corrcoef(array(path).ravel(), array(other).ravel())[0, 1])


def least_correlation(template: str, warped: str) -> float:
    """Least correlation of a template with the images warped to it."""
    return min(correlation(template, str(path)) for path in Path().glob(warped))


def dice(mask: str, head: str) -> float:
    """Dice overlap of a brain mask with the voxels of a brain that has no skull."""
    voxels = array(head)
    a, b = array(mask) > 0.5, ndimage.binary_fill_holes(voxels > 0.1 * voxels.max())
    return float(2 * (a & b).sum() / (a.sum() + b.sum()))


def share_of_classes(path: str) -> float:
    """Share of the mask's voxels whose class is that of the largest prior."""
    classes = np.argmax([array(f"../prior{number}.nii.gz") for number in (1, 2, 3)], axis=0) + 1
    inside = array("../mask.nii.gz") > 0
    return float((array(path)[inside] == classes[inside]).mean())


def same_labels(path: str, expected: str) -> float:
    """Share of the labelled voxels with the expected label."""
    labels = array(expected)
    return float((array(path) == labels)[labels > 0].mean())
