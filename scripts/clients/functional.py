"""Tests with fMRIPrep's unmodified workflows for functional images, on simulated data."""

from __future__ import annotations

import argparse
import importlib
import sys
import types
from pathlib import Path

import nibabel as nib
import numpy as np
from scipy import ndimage

from clients import data, freesurfer
from series import errors, made

VOLUMES = 12


def fmriprep_module(name: str) -> types.ModuleType:
    """Import a module of `fmriprep.workflows.bold` without the package itself.

    The package would import all dependencies of fMRIPrep.
    """
    package = "fmriprep.workflows.bold"
    if package not in sys.modules:
        holder = types.ModuleType(package)
        parent = importlib.import_module("fmriprep.workflows")
        holder.__path__ = [str(Path(place) / "bold") for place in parent.__path__]
        sys.modules[package] = holder
    return importlib.import_module(f"{package}.{name}")


def series(folder: Path) -> tuple[Path, Path, np.ndarray, made.Source]:
    """Simulate a series in which the example brain of this repository moves.

    Returns the path of the series, the path of its middle volume, the true motions, and the brain.
    """
    of = made.of_example()
    volumes, motions = made.series(made.KINDS[2], VOLUMES, of, 7)
    bold = made.write(volumes, of.affine, folder / "bold.nii.gz")
    reference = made.write(volumes[..., VOLUMES // 2], of.affine, folder / "reference.nii.gz")
    return bold, reference, motions, of


def run(workflow: object, folder: Path, inputs: dict[str, str], wanted: str) -> object:
    """Run a workflow of nipype, and return the outputs of its node `wanted`."""
    workflow.base_dir = folder
    workflow.config["execution"]["crashdump_dir"] = str(folder)
    for name, value in inputs.items():
        setattr(workflow.inputs.inputnode, name, value)
    done = workflow.run()
    return next(node for node in done.nodes() if node.name == wanted).result.outputs


def head_motion(folder: Path, _: Path) -> list[str]:
    """Compare the results of fMRIPrep's head motion workflow with the known motion."""
    bold, reference, motions, of = series(folder)
    workflow = fmriprep_module("hmc").init_bold_hmc_wf(mem_gb=1, omp_nthreads=1)
    inputs = {"bold_file": str(bold), "raw_ref_image": str(reference)}
    found = errors.read(Path(run(workflow, folder, inputs, "fsl2itk").out_file))
    apart = errors.between(found, motions, VOLUMES // 2, of.points)
    print(f"init_bold_hmc_wf, {VOLUMES} volumes: {apart}")
    return [f"init_bold_hmc_wf: {apart}, expected at most 0.1 mm"] if apart.worst > 0.1 else []


def boundary(folder: Path, program: Path) -> list[str]:
    """Compare the result of fMRIPrep's workflow from EPI to T1 with the known transform.

    The workflow calls FreeSurfer's commands, which `freesurfer.py` replaces.
    """
    freesurfer.install(folder.parent / "links", program)
    t1 = nib.load(made.EXAMPLES / "colin27_t1_2mm.nii.gz")
    voxels = t1.get_fdata()
    inside = voxels > 0
    # Tissue labels by intensity, with BIDS' numbers: 1 grey matter, 2 white matter, 3 fluid.
    low, high = np.percentile(voxels[inside], [12, 62])
    tissue = np.where(voxels > high, 2, np.where(voxels > low, 1, 3)) * inside
    signal = np.choose(tissue, [0.0, 85.0, 60.0, 120.0])
    truth = np.eye(4)
    truth[:3, :3], truth[:3, 3] = made.rotation(np.array([3.0, -4.0, 5.0])), [4.0, -3.0, 5.0]
    affine = t1.affine @ np.diag([1.5, 1.5, 1.5, 1])
    shape = tuple(int(extent / 1.5) for extent in voxels.shape)
    index = np.indices(shape).reshape(3, -1)
    back = np.linalg.inv(t1.affine) @ np.linalg.inv(truth) @ affine
    smooth = ndimage.gaussian_filter(signal, 0.6)
    epi = ndimage.map_coordinates(smooth, back[:3, :3] @ index + back[:3, 3:], order=1).reshape(shape)
    noise = np.random.default_rng(5).normal(0, 3, (2, *shape))
    files = {
        "in_file": data.save(np.hypot(epi + noise[0], noise[1]).astype(np.float32), affine, folder / "epi.nii.gz"),
        "t1w_preproc": data.save(voxels.astype(np.float32), t1.affine, folder / "t1.nii.gz"),
        "t1w_mask": data.save(inside.astype(np.uint8), t1.affine, folder / "mask.nii.gz"),
        "t1w_dseg": data.save(tissue.astype(np.uint8), t1.affine, folder / "dseg.nii.gz"),
    }
    registration, faults = fmriprep_module("registration"), []
    for use_bbr in (True,):
        workflow = registration.init_fsl_bbr_wf(
            use_bbr=use_bbr, bold2anat_dof=6, bold2anat_init="t1w", omp_nthreads=1, name=f"bbr_{use_bbr}"
        )
        found = errors.read(Path(run(workflow, folder, files, "xfm2itk").out_xfm))[0]
        points = np.argwhere(inside) @ t1.affine[:3, :3].T + t1.affine[:3, 3]
        gap = found - truth
        apart = float(np.linalg.norm(points @ gap[:3, :3].T + gap[:3, 3], axis=1).mean())
        print(f"init_fsl_bbr_wf, use_bbr={use_bbr}: {apart:.3f} mm from the known place")
        if apart > 0.5:
            faults.append(f"init_fsl_bbr_wf, use_bbr={use_bbr}: {apart:.3f} mm, expected at most 0.5 mm")
    return faults


def check(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Run fMRIPrep's workflows and compare their transforms with the known transforms."""
    return [fault for part in (head_motion, boundary) if typed.only in part.__name__ for fault in part(folder, typed.program)]
