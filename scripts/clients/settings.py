"""Tests with the settings files of several packages, run by niworkflows' FixHeaderRegistration."""

from __future__ import annotations

import argparse
import json
import os
from importlib.util import find_spec
from pathlib import Path

import nibabel as nib
import numpy as np

from clients import data
from clients.running import run

PACKAGES = ("niworkflows", "smriprep", "fmriprep", "sdcflows", "qsiprep")


def settings(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Run every settings file of the packages through niworkflows' FixHeaderRegistration."""
    from niworkflows.interfaces.fixes import FixHeaderRegistration

    images = data.pair(folder)
    counts = {"ran": 0, "refused": 0, "wrong": 0}
    faults = []
    for file in sorted(path for package in PACKAGES for path in settings_files(package)):
        name = f"{file.parent.parent.name}/{file.name}"
        if typed.only not in name:
            continue
        place = folder / name.replace("/", "_")
        place.mkdir(parents=True, exist_ok=True)
        os.chdir(place)
        inputs = {
            "fixed_image": [images.fixed],
            "moving_image": [images.moving],
            "output_warped_image": "warped.nii.gz",
            "terminal_output": "allatonce",
        }
        outcome, why = run(FixHeaderRegistration(from_file=str(file), **inputs))
        if outcome == "ran" and not Path("warped.nii.gz").exists():
            why = "asks for no image"
        elif outcome == "ran":
            before, after = (data.correlation(images.fixed, path) for path in (images.moving, "warped.nii.gz"))
            why = f"correlation {before:.3f} to {after:.3f}"
            if after < before:
                outcome = "wrong"
        counts[outcome] += 1
        print(f"{outcome:8} {name}: {why}", flush=True)
        if outcome == "wrong":
            faults.append(f"{name}: {why}")
    print(", ".join(f"{outcome} {count}" for outcome, count in counts.items()))
    return faults


def settings_files(package: str) -> list[Path]:
    """Paths of the settings files for nipype's Registration in a package. The package is not imported."""
    spec = find_spec(package)
    roots = list(spec.submodule_search_locations or []) if spec else []
    files = (path for root in roots for path in Path(root).rglob("*.json"))
    return [path for path in files if isinstance(json.loads(path.read_text()), dict) and is_settings(path)]


def is_settings(path: Path) -> bool:
    """Whether a JSON file contains the stages of a registration."""
    content = json.loads(path.read_text())
    return isinstance(content.get("transforms"), list) and "metric" in content


def restrict(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Run sdcflows' settings that restrict displacements to the second axis, and check the other axes."""
    from niworkflows.interfaces.fixes import FixHeaderRegistration

    images = data.pair(folder)
    file = next(path for path in settings_files("sdcflows") if path.name == "sd_syn_sloppy.json")
    result = FixHeaderRegistration(
        from_file=str(file),
        fixed_image=[images.fixed] * 2,
        moving_image=[images.moving] * 2,
        restrict_deformation=[[0, 1, 0], [0, 1, 0]],
    ).run()
    warp = nib.load(result.outputs.forward_transforms[-1])
    largest = np.abs(warp.get_fdata().squeeze()).reshape(-1, 3).max(axis=0)
    print(f"restricted to y: largest displacements {largest} mm")
    return [] if largest[0] == 0 and largest[2] == 0 and largest[1] > 0 else [f"restricted to y: {largest} mm"]
