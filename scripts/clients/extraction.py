"""Runs niworkflows' init_brain_extraction_wf. Small test images replace the files of TemplateFlow's template."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import nibabel as nib
import numpy as np
from scipy import ndimage

from clients import data

NAME = "MNI152NLin2009cAsym"


def check(_: argparse.Namespace, folder: Path) -> list[str]:
    """Extract a brain without skull: the mask must be the brain.

    The workflow erodes masks by voxels, and those of the test images are four times as long as usual.
    """
    os.environ |= {"TEMPLATEFLOW_HOME": str(folder / "templateflow"), "TEMPLATEFLOW_AUTOUPDATE": "0"}
    from niworkflows.anat.ants import init_brain_extraction_wf

    images = data.pair(folder)
    template(images.fixed, folder / "templateflow" / f"tpl-{NAME}")
    workflow = init_brain_extraction_wf(in_template=NAME, normalization_quality="testing", omp_nthreads=2)
    workflow.base_dir = str(folder)
    workflow.config["execution"]["crashdump_dir"] = str(folder)
    workflow.inputs.inputnode.in_files = images.moving
    done = workflow.run(plugin="Linear")
    brain = next(node for node in done.nodes() if node.name == "apply_mask").result.outputs.out_file[0]
    voxels = nib.load(images.moving).get_fdata()
    found, expected = np.asarray(nib.load(brain).dataobj) > 0, ndimage.binary_fill_holes(voxels > 0.1 * voxels.max())
    dice = 2 * (found & expected).sum() / (found.sum() + expected.sum())
    print(f"init_brain_extraction_wf: Dice {dice:.3f}", flush=True)
    return [] if dice > 0.8 else [f"init_brain_extraction_wf: Dice {dice:.3f}, expected more than 0.8"]


def template(path: str, place: Path) -> None:
    """Write the files of the template that the workflow asks TemplateFlow for."""
    image = nib.load(path)
    voxels = image.get_fdata(dtype=np.float32)
    inside = ndimage.binary_fill_holes(voxels > 0.1 * voxels.max())
    low, high = np.quantile(voxels[inside], [0.2, 0.6])
    tissues = {"CSF": voxels < low, "GM": (voxels >= low) & (voxels < high), "WM": voxels >= high}
    shares = {
        f"label-{name}_probseg": ndimage.gaussian_filter(1.0 * (inside & tissue), 0.5)
        for name, tissue in tissues.items()
    }
    masks = {
        "desc-brain_mask": inside,
        "desc-BrainCerebellumExtraction_mask": ndimage.binary_dilation(inside, iterations=2),
    }
    contents = {"T1w": voxels, "label-brain_probseg": ndimage.gaussian_filter(1.0 * inside, 0.5), **shares}
    for suffix, content in [*contents.items(), *((name, mask.astype(np.uint8)) for name, mask in masks.items())]:
        for resolution in ("01", "02"):
            kept = content if content.dtype == np.uint8 else content.astype(np.float32)
            data.save(kept, image.affine, place / f"tpl-{NAME}_res-{resolution}_{suffix}.nii.gz")
