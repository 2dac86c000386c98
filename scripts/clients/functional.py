"""fMRIPrep's workflows of functional images, unchanged, on made data."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import types
from pathlib import Path

import numpy as np

from series import errors, made

VOLUMES = 12


def fmriprep_module(name: str) -> types.ModuleType:
    """A module of fMRIPrep. Its packages' own modules import all that fMRIPrep depends on, most of which no workflow here uses."""
    packages = name.split(".")[:-1]
    for depth in range(1, len(packages) + 1):
        package = ".".join(packages[:depth])
        if package not in sys.modules:
            spec = importlib.util.find_spec(packages[0]) if depth == 1 else None
            parent = spec.submodule_search_locations if spec else sys.modules[".".join(packages[: depth - 1])].__path__
            holder = types.ModuleType(package)
            holder.__path__ = list(parent) if spec else [str(Path(place) / packages[depth - 1]) for place in parent]
            sys.modules[package] = holder
    return importlib.import_module(name)


def series(folder: Path) -> tuple[Path, Path, np.ndarray, made.Source]:
    """A made series, its volume in the middle, the motion of each volume, and what it was made of: this repository's brain."""
    of = made.of_example()
    volumes, motions = made.series(made.KINDS[2], VOLUMES, of, 7)
    bold = made.write(volumes, of.affine, folder / "bold.nii.gz")
    reference = made.write(volumes[..., VOLUMES // 2], of.affine, folder / "reference.nii.gz")
    return bold, reference, motions, of


def check(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Run fMRIPrep's workflow of head motion, and compare its transforms with the known ones."""
    del typed
    hmc = fmriprep_module("fmriprep.workflows.bold.hmc")
    bold, reference, motions, of = series(folder)
    workflow = hmc.init_bold_hmc_wf(mem_gb=1, omp_nthreads=1)
    workflow.base_dir = folder
    workflow.config["execution"]["crashdump_dir"] = str(folder)
    workflow.inputs.inputnode.bold_file = str(bold)
    workflow.inputs.inputnode.raw_ref_image = str(reference)
    done = workflow.run()
    node = next(node for node in done.nodes() if node.name == "fsl2itk")
    found = errors.read(Path(node.result.outputs.out_file))
    apart = errors.between(found, motions, VOLUMES // 2, of.points)
    print(f"init_bold_hmc_wf, {VOLUMES} volumes: {apart}")
    return [f"init_bold_hmc_wf: {apart}, expected at most 0.1 mm"] if apart.worst > 0.1 else []
