"""The parts of check.py. Each gives what is wrong."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import data
import numpy as np
from oracle import Oracle

PACKAGES = ("niworkflows", "smriprep", "fmriprep", "sdcflows", "qsiprep")


def settings(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Run every settings file through niworkflows' FixHeaderRegistration."""
    from niworkflows.interfaces.fixes import FixHeaderRegistration

    images = data.pair(folder)
    counts = {"ran": 0, "refused": 0, "wrong": 0}
    faults = []
    for file in sorted(path for package in PACKAGES for path in settings_files(package)):
        name = f"{file.parent.parent.name}/{file.name}"
        if typed.only not in name:
            continue
        place = folder / "settings" / name.replace("/", "_")
        place.mkdir(parents=True, exist_ok=True)
        os.chdir(place)
        inputs = {
            "fixed_image": [images.fixed],
            "moving_image": [images.moving],
            "output_warped_image": "warped.nii.gz",
            "terminal_output": "allatonce",
        }
        outcome, why = run(lambda: FixHeaderRegistration(from_file=str(file), **inputs))
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
    """Settings files of nipype's Registration in a package, which is not imported."""
    spec = find_spec(package)
    roots = list(spec.submodule_search_locations or []) if spec else []
    files = (path for root in roots for path in Path(root).rglob("*.json"))
    return [path for path in files if isinstance(json.loads(path.read_text()), dict) and is_settings(path)]


def is_settings(path: Path) -> bool:
    """Whether a file of JSON has the stages of a registration."""
    content = json.loads(path.read_text())
    return isinstance(content.get("transforms"), list) and "metric" in content


def run(make: Callable[[], object]) -> tuple[str, str]:
    """Run an interface of nipype: ran, refused or wrong, and why."""
    interface = make()
    interface.resource_monitor = False
    try:
        interface.run()
    except Exception as error:  # noqa: BLE001 - whatever a client raises is its verdict
        # Not every client tells what the command said.
        done = subprocess.run(interface.cmdline, shell=True, capture_output=True, text=True, check=False)
        refused = done.returncode == 2 and "error: antsRegistration" in done.stderr
        return ("refused", done.stderr.strip()) if refused else ("wrong", f"{error} {done.stderr.strip()}")
    return "ran", ""


def spatial(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Compare the overlap of known labels by SpatialNormalization on this program and on real ANTs."""
    from niworkflows.interfaces.norm import SpatialNormalization

    images, real = data.known(folder), Oracle()
    faults = []
    for flavour, masked in itertools.product(typed.flavours.split(","), (False, True)):
        name = f"{flavour}{', masks' if masked else ''}"
        place = folder / "spatial" / name.replace(", ", "_")
        place.mkdir(parents=True, exist_ok=True)
        os.chdir(place)
        inputs = {"reference_image": images.fixed, "moving_image": images.moving, "flavor": flavour, "float": True}
        if masked:
            inputs |= {"reference_mask": images.fixed_mask, "moving_mask": images.moving_mask, "explicit_masking": False}
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


def restrict(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Run sdcflows' settings along the second axis alone."""
    import nibabel as nib
    from niworkflows.interfaces.fixes import FixHeaderRegistration

    images = data.pair(folder)
    file = next(path for path in settings_files("sdcflows") if path.name == "sd_syn_sloppy.json")
    place = folder / "restrict"
    place.mkdir(exist_ok=True)
    os.chdir(place)
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


def nipype(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Run nipype's own interfaces; they check that their outputs exist."""
    from nipype.interfaces.ants import AffineInitializer, Registration, RegistrationSynQuick
    from nipype.interfaces.ants.base import Info

    images = data.pair(folder)
    place = folder / "nipype"
    place.mkdir(exist_ok=True)
    os.chdir(place)
    faults = [] if str(Info.version()).startswith("2.") else [f"nipype reads the version {Info.version()}"]
    stage = {
        "dimension": 3,
        "fixed_image": [images.fixed],
        "moving_image": [images.moving],
        "transforms": ["Affine", "SyN"],
        "transform_parameters": [(0.1,), (0.2, 3.0, 0.0)],
        "metric": ["Mattes", "CC"],
        "metric_weight": [1, 1],
        "radius_or_number_of_bins": [32, 2],
        "number_of_iterations": [[50, 20], [10, 5]],
        "shrink_factors": [[2, 1], [2, 1]],
        "smoothing_sigmas": [[1, 0], [1, 0]],
        "sigma_units": ["mm", "vox"],
    }
    cases = {
        "AffineInitializer": lambda: AffineInitializer(fixed_image=images.fixed, moving_image=images.moving),
        "Registration": lambda: Registration(
            **stage, output_warped_image=True, output_inverse_warped_image=True, output_transform_prefix="plain"
        ),
        "Registration, composite": lambda: Registration(**stage, write_composite_transform=True),
        "Registration, not collapsed": lambda: Registration(
            **stage,
            collapse_output_transforms=False,
            initial_moving_transform_com=1,
            output_transform_prefix="apart",
        ),
    } | {
        f"RegistrationSynQuick {kind}": lambda kind=kind: RegistrationSynQuick(
            fixed_image=images.fixed, moving_image=images.moving, transform_type=kind, output_prefix=f"quick_{kind}"
        )
        for kind in ("s", "a", "r", "t")
    }
    for name, make in cases.items():
        if typed.only not in name:
            continue
        outcome, why = run(make)
        print(f"{outcome:8} {name} {why}", flush=True)
        if outcome != "ran":
            faults.append(f"{name}: {why}")
    return faults


def names(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Compare exit, files, grids, types and images with real ANTs' where the transform is given: without iterations."""
    images = data.small(folder)
    generator, real = random.Random(0), Oracle()
    faults = []
    for number in range(typed.count):
        words = command_line(generator, images)
        places = [folder / "names" / f"{number}{which}" for which in ("ours", "theirs")]
        for place in places:
            place.mkdir(parents=True, exist_ok=True)
        ours = subprocess.run(["antsRegistration", *words], cwd=places[0], capture_output=True, text=True, check=False)
        theirs = real.run(["antsRegistration", *words], places[1])
        found = data.differences(places, [ours.returncode == 0, theirs])
        if found:
            faults.append(f"antsRegistration {' '.join(words)}: {found}; {ours.stderr.strip()}")
            print(faults[-1], flush=True)
    print(f"{typed.count} command lines, {len(faults)} of them differ from real ANTs")
    return faults


def command_line(generator: random.Random, images: data.Images) -> list[str]:
    """A command line of stages without iterations."""
    pair = f"{images.fixed},{images.moving}"
    choose = generator.choice
    linear = generator.sample(["Translation", "Rigid", "Similarity", "Affine"], choose([0, 0, 1, 2]))
    stages = [f"{kind}[0.1]" for kind in linear] + ["SyN[0.1,3,0]"] * choose([0, 1, 1])
    words = ["-d", "3"]
    for stage in stages or ["Rigid[0.1]"]:
        metric = choose([f"MeanSquares[{pair},1,0]", f"Mattes[{pair},1,32,Regular,0.25]", f"CC[{pair},1,2]"])
        parts = [["-t", stage], ["-m", metric]]
        generator.shuffle(parts)
        words += [*itertools.chain(*parts), "-c", choose(["0", "[0,1e-6,10]"]), "-f", "1", "-s", choose(["0", "0vox"])]
    start = choose(["none", "0", "1", "2", "file", "inverse", "two", "identity"])
    words += {
        "none": [],
        "file": ["-r", images.affine],
        "inverse": ["-r", f"[{images.affine},1]"],
        "two": ["-r", images.affine, "-r", f"[{images.affine},0]"],
        "identity": ["-r", "Identity"],
    }.get(start, ["-r", f"[{pair},{start}]"])
    words += choose([["-o", "o_"], ["-o", "[o_,w.nii.gz]"], ["-o", "[o_,w.nii.gz,i.nii.gz]"]])
    for flag, values in {"-z": "01", "-a": "001", "--float": "01", "-u": "01"}.items():
        words += choose([[], *([flag, value] for value in values)])
    words += choose([[], ["-n", "Linear"], ["-n", "NearestNeighbor"], ["-n", "BSpline"], ["-n", "HammingWindowedSinc"]])
    return words + choose([[], ["-w", "[0.005,0.995]"], ["-x", images.fixed_mask]])


def scripts(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Run ANTs' own scripts on this program's antsRegistration; names of files are those of real ANTs."""
    images = data.pair(folder)
    affine, warp = "0GenericAffine.mat", ["1Warp.nii.gz", "1InverseWarp.nii.gz"]
    # The identity is an initial transform of `so`, and so the first output.
    expected = {kind: [affine] for kind in "tra"} | {kind: [affine, *warp] for kind in ("s", "sr", "so")}
    faults = []
    for script, kind in itertools.product(("antsRegistrationSyN.sh", "antsRegistrationSyNQuick.sh"), expected):
        place = folder / "scripts" / f"{script}_{kind}"
        place.mkdir(parents=True, exist_ok=True)
        words = ["bash", typed.scripts / script, "-d", "3", "-f", images.fixed, "-m", images.moving, "-t", kind, "-o", "o_"]
        done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
        wanted = sorted(f"o_{name}" for name in [*expected[kind], "Warped.nii.gz", "InverseWarped.nii.gz"])
        found = sorted(path.name for path in place.iterdir())
        print(f"{script} -t {kind}: exit {done.returncode}, {', '.join(found)}", flush=True)
        if done.returncode or found != wanted:
            faults.append(f"{script} -t {kind}: expected {wanted}, found {found}; {done.stderr[-300:]}")
    return faults
