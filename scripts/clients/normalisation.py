"""Tests with complete normalisation workflows of niworkflows and smriprep."""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
from pathlib import Path

import nibabel as nib
import numpy as np

from clients import data
from clients.oracle import Oracle


def spatial(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Compare niworkflows' SpatialNormalization by antsreg-gpu and by real ANTs: overlap of known labels."""
    from niworkflows.interfaces.norm import SpatialNormalization

    images, real = data.known(folder), Oracle()
    faults = []
    for flavour, masked in itertools.product(typed.flavours.split(","), (False, True)):
        name = f"{flavour}{', masks' if masked else ''}"
        place = folder / name.replace(", ", "_")
        place.mkdir(parents=True, exist_ok=True)
        os.chdir(place)
        inputs = {"reference_image": images.fixed, "moving_image": images.moving, "flavor": flavour, "float": True}
        if masked:
            inputs |= {
                "reference_mask": images.fixed_mask,
                "moving_mask": images.moving_mask,
                "explicit_masking": False,
            }
        result = SpatialNormalization(moving="T1w", **inputs).run()
        ours = data.overlap(images, result.outputs.composite_transform, typed.program)
        command = (place / "command.txt").read_text().split()
        theirs_at = place / "oracle"
        theirs_at.mkdir(exist_ok=True)
        real.run(command, theirs_at)
        theirs = [path for path in theirs_at.glob("*Composite.h5") if "Inverse" not in path.name]
        theirs = data.overlap(images, next(iter(theirs), None), typed.program)
        print(f"{name:16} overlap (mean Dice) {ours:.4f}, of real ANTs {theirs:.4f}", flush=True)
        if ours < theirs - 0.01:
            faults.append(f"{name}: overlap {ours:.4f}, expected {theirs:.4f} - 0.01 at least")
    return faults


def template(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Run smriprep's registration to a template of TemplateFlow. Small test images replace the template's files."""
    # TemplateFlow's package contains the list of its files, so queries need no network.
    os.environ |= {"TEMPLATEFLOW_HOME": str(folder / "templateflow"), "TEMPLATEFLOW_AUTOUPDATE": "0"}
    from smriprep.workflows.fit.registration import init_register_template_wf

    images = data.pair(folder)
    fixed = nib.load(images.fixed)
    voxels = fixed.get_fdata(dtype=np.float32)
    mask = (voxels > 0.1 * voxels.max()).astype(np.uint8)
    name = "MNI152NLin2009cAsym"
    place = folder / "templateflow" / f"tpl-{name}"
    for suffix, content in {"T1w": voxels, "T2w": voxels, "desc-brain_T1w": voxels, "desc-brain_mask": mask}.items():
        for resolution in ("01", "02"):
            data.save(content, fixed.affine, place / f"tpl-{name}_res-{resolution}_{suffix}.nii.gz")
    moving = nib.load(images.moving)
    inside = moving.get_fdata() > 0.1 * moving.get_fdata().max()
    moving_mask = data.save(inside.astype(np.uint8), moving.affine, folder / "data" / "moving_mask.nii.gz")
    workflow = init_register_template_wf(sloppy=True, omp_nthreads=2, templates=[name])
    workflow.base_dir = str(folder)
    workflow.inputs.inputnode.moving_image = images.moving
    workflow.inputs.inputnode.moving_mask = moving_mask
    workflow.run(plugin="Linear")
    composites = sorted(folder.rglob("*Composite.h5"))
    print(f"smriprep's workflow: {', '.join(path.name for path in composites)}", flush=True)
    if len(composites) != 2:
        return [f"smriprep's workflow: expected two composites, found {composites}"]
    forward = next(path for path in composites if "Inverse" not in path.name)
    warped = forward.with_name("warped.nii.gz")
    words = ["antsApplyTransforms", "-d", "3", "-i", images.moving, "-r", images.fixed, "-t", forward, "-o", warped]
    subprocess.run(words, check=True, capture_output=True)
    before, after = (data.correlation(images.fixed, str(path)) for path in (images.moving, warped))
    print(f"correlation {before:.3f} to {after:.3f}", flush=True)
    return [] if after > before else [f"smriprep's workflow: correlation {before:.3f} to {after:.3f}"]
