#!/usr/bin/env python3
"""Measure how well `undistort` finds the distortion of echo-planar images.

    scripts/undistort_bars.py DATA [--count N] [--seed N] [--program PROGRAM] [--threads N]

Real pair: DATA/epi/a_sbref_lr and a_sbref_rl, with opposite phase encodings. The limits: a correlation of at least 0.97 between
both corrected images in the brain mask, and of at least 0.95 with the owner's corrected image in the whole volume (the mask's is
shown); a rigid transform between the corrected image and the T1 by the white matter's boundary within 0.25 mm of that of the owner's
corrected image; at most 40 s.

Made pairs: the owner's corrected image, distorted along i by fields of up to 12 mm that are known, with noise of 2 %. The
limit: a median error of the displacement in the brain of at most 0.4 mm. The exit code is 1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import environment

if TYPE_CHECKING:
    import numpy as np

FARTHEST_MM, NOISE, STEEPEST = 12.0, 0.02, 0.7
LEAST_PAIR, LEAST_OWNER, MOST_BBR_MM, MOST_ERROR_MM, MOST_SECONDS = 0.97, 0.95, 0.25, 0.4, 40.0


def field(shape: tuple[int, ...], spacing: np.ndarray, centre: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Make a smooth displacement along the first axis, mm: a sum of twelve Gaussians in the head."""
    import numpy as np

    points = np.stack(np.meshgrid(*(np.arange(n) * s for n, s in zip(shape, spacing)), indexing="ij"))
    mm = np.zeros(shape)
    for _ in range(12):
        place = (centre + random.normal(size=3) * (16, 20, 14)) * spacing
        width = random.uniform(12, 25)
        mm += random.normal() * np.exp(-((points - place[:, None, None, None]) ** 2).sum(0) / (2 * width**2))
    mm *= random.uniform(4, FARTHEST_MM) / np.abs(mm).max()
    steepest = np.abs(np.gradient(mm, spacing[0], axis=0)).max()
    return mm * min(1.0, STEEPEST / steepest)


def distorted(truth: np.ndarray, mm: np.ndarray, size: float, sign: int, random: np.random.Generator) -> np.ndarray:
    """Distort an image along its first axis: the integral of each line up to a face moves with the face."""
    import numpy as np

    count = truth.shape[0]
    integral = np.concatenate([np.zeros((1, *truth.shape[1:])), np.cumsum(truth, axis=0)])
    faces, centres = (np.arange(count + 1) - 0.5) * size, np.arange(count) * size
    out = np.empty_like(truth)
    for y in range(truth.shape[1]):
        for z in range(truth.shape[2]):
            moved = faces + sign * np.interp(faces, centres, mm[:, y, z])
            out[:, y, z] = np.diff(np.interp(faces, moved, integral[:, y, z]))
    return out + random.normal(scale=NOISE * truth[truth > truth.mean()].mean(), size=truth.shape)


def run(typed: argparse.Namespace, first: Path, second: Path, prefix: Path) -> float:
    """Run `undistort`. Returns the time that it took, s."""
    words = [typed.program.resolve(), "undistort", "-i", first, "--phase-encoding", "i", "-i", second, "--phase-encoding", "i-"]
    began = time.monotonic()
    done = subprocess.run([*words, "-o", prefix, "--threads", str(typed.threads)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return time.monotonic() - began


def boundary(typed: argparse.Namespace, t1: Path, image: Path, prefix: Path) -> np.ndarray:
    """Register an image to the T1 by the boundary of its white matter. Returns the affine, RAS mm."""
    import numpy as np

    words = [typed.program.resolve(), "register", "-f", t1, "-m", image, "-o", prefix, "-t", "rigid", "--cost", "bbr"]
    words += ["--no-warped", "--quiet", "--device", "cpu", "--initial-transform", "headers", "--search-degrees", "20"]
    subprocess.run(words, check=True)
    matrix = Path(f"{prefix}matrix.txt")
    subprocess.run([typed.program.resolve(), "convert", f"{prefix}0GenericAffine.mat", matrix, "--quiet"], check=True)
    from series import errors

    return np.asarray(errors.read(matrix)[0])


def real(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Measure the real pair. Returns the limits that are missed."""
    import nibabel as nib
    import numpy as np

    epi = typed.data / "epi"
    read = {name: nib.load(epi / f"a_{name}.nii.gz") for name in ("sbref_lr", "sbref_rl", "undistort", "mask")}
    owner, mask = read["undistort"].get_fdata(), read["mask"].get_fdata() > 0
    seconds = run(typed, epi / "a_sbref_lr.nii.gz", epi / "a_sbref_rl.nii.gz", folder / "real_")
    found = [nib.load(folder / f"real_Undistorted{n}.nii.gz").get_fdata() for n in (1, 2)]
    mean = (found[0] + found[1]) / 2

    def alike(a: np.ndarray, b: np.ndarray, where: np.ndarray) -> float:
        return float(np.corrcoef(a[where], b[where])[0, 1])

    everywhere = np.ones_like(mask)
    before = alike(read["sbref_lr"].get_fdata(), read["sbref_rl"].get_fdata(), mask)
    pair, whole, inside = alike(*found, mask), alike(mean, owner, everywhere), alike(mean, owner, mask)
    print(f"real pair: correlation {pair:.4f}, before {before:.4f}; with the owner's {whole:.4f}, in the mask {inside:.4f}")
    record = json.loads((folder / "real_record.json").read_text())
    print(f"real pair: at most {record['largest_displacement_mm']:.1f} mm; {seconds:.1f} s on {typed.threads} threads")
    missed = [f"correlation of the pair {pair:.4f}"] if pair < LEAST_PAIR else []
    missed += [f"correlation with the owner's {whole:.4f}"] if whole < LEAST_OWNER else []
    missed += [f"{seconds:.1f} s"] if seconds > MOST_SECONDS else []
    if typed.no_boundary:
        return missed
    nib.save(nib.Nifti1Image(mean.astype(np.float32), read["sbref_lr"].affine), folder / "mean.nii.gz")
    images = {"owner": epi / "a_undistort.nii.gz", "corrected": folder / "mean.nii.gz"}
    images |= {"LR": epi / "a_sbref_lr.nii.gz", "RL": epi / "a_sbref_rl.nii.gz"}
    t1 = epi / "a_t1_in_bold.nii.gz"
    poses = {name: boundary(typed, t1, image, folder / f"bbr_{name}_") for name, image in images.items()}
    index = np.argwhere(mask)
    points = index @ read["mask"].affine[:3, :3].T + read["mask"].affine[:3, 3]
    for name in ("LR", "RL", "corrected"):
        apart = poses[name] - poses["owner"]
        error = float(np.linalg.norm(points @ apart[:3, :3].T + apart[:3, 3], axis=1).mean())
        print(f"real pair: {name} to T1 by BBR, {error:.3f} mm from the owner's corrected image")
    if error > MOST_BBR_MM:
        missed.append(f"BBR {error:.3f} mm")
    return missed


def made(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Measure the made pairs. Returns the limits that are missed."""
    import nibabel as nib
    import numpy as np
    from scipy import ndimage

    image = nib.load(typed.data / "epi" / "a_undistort.nii.gz")
    truth, mask = image.get_fdata(), nib.load(typed.data / "epi" / "a_mask.nii.gz").get_fdata() > 0
    spacing = np.asarray(image.header.get_zooms()[:3], dtype=float)
    centre = np.asarray(ndimage.center_of_mass(mask))
    errors = []
    for number in range(typed.count):
        random = np.random.default_rng(typed.seed + number)
        mm = field(truth.shape, spacing, centre, random)
        paths = [folder / f"made_{name}.nii.gz" for name in ("plus", "minus")]
        for path, sign in zip(paths, (1, -1)):
            voxels = distorted(truth, mm, float(spacing[0]), sign, random)
            nib.save(nib.Nifti1Image(voxels.astype(np.float32), image.affine), path)
        seconds = run(typed, *paths, folder / "made_")
        apart = np.abs(nib.load(folder / "made_Displacement.nii.gz").get_fdata() - mm)[mask]
        errors.append(float(np.median(apart)))
        line = f"made {number:2}: at most {np.abs(mm[mask]).max():4.1f} mm, median error {errors[-1]:.3f} mm"
        print(f"{line}, 95 % below {np.percentile(apart, 95):.3f} mm, {seconds:.1f} s", flush=True)
    if not errors:
        return []
    print(f"made pairs: median of the median errors {statistics.median(errors):.3f} mm, worst {max(errors):.3f} mm")
    return [f"a median error of {max(errors):.3f} mm"] if max(errors) > MOST_ERROR_MM else []


def main() -> int:
    """Measure all pairs. Returns 1 if a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA", help="folder of the data sets")
    program = environment.REPOSITORY / "target" / "release" / "antsreg-gpu"
    parser.add_argument("--program", type=Path, default=program, help="the program")
    parser.add_argument("--count", type=int, default=20, metavar="N", help="number of made pairs [default: 20]")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="another seed gives other fields [default: 0]")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="threads of the program [default: 2]")
    parser.add_argument("--no-boundary", action="store_true", help="do not register to the T1")
    typed = parser.parse_args()
    environment.enter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        missed = real(typed, folder) + made(typed, folder)
    for limit in missed:
        print(f"missed: {limit}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
