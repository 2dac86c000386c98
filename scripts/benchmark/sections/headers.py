"""Checks registration with wrong headers: the moving image is displaced by its header, and its voxels stay the same."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from benchmark import scores
from benchmark.context import Context
from benchmark.images import Image, read_image, read_mapping, transform, write_image
from benchmark.report import Report

SEED = 20
LARGEST_DEGREES = 60
LARGEST_MM = 60
MEAN_MM = 0.5


def about_centre(image: Image, linear: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """The world transform x → L (x − c) + c + t, with the centre c of the image grid."""
    middle = (np.array(image.voxels.shape) - 1) / 2
    centre = transform(image.voxel_to_world, middle[None])[0]
    world = np.eye(4)
    world[:3, :3] = linear
    world[:3, 3] = centre + shift - linear @ centre
    return world


def moved_copy(image: Image, world: np.ndarray) -> Image:
    """A copy of the image with unchanged voxels, whose voxel-to-world matrix is changed by a world transform."""
    return Image(image.voxels, world @ image.voxel_to_world)


def headers(context: Context) -> Report:
    """Check that subject 1001 with random headers is registered to the same place as with the true header."""
    report = Report(commands=["antsreg-gpu register -f 1000_t1.nii.gz -m turned_N.nii.gz -o PREFIX_ -t affine"])
    bars = report.bars()
    table = report.table("turned about x, y, z (degrees)", "moved (mm)", "distance from the unmoved result (mm)", hidden=True)
    fixed_path, moving_path = context.data.t1("1000"), context.data.t1("1001")
    fixed, moving = read_image(fixed_path), read_image(moving_path)
    unmoved = read_mapping(context.program.register(fixed_path, moving_path, "-t", "affine").prefix).affine
    random = np.random.default_rng(SEED)
    found = 0
    for number in range(context.headers):
        degrees = random.uniform(-LARGEST_DEGREES, LARGEST_DEGREES, 3)
        shift = random.uniform(-LARGEST_MM, LARGEST_MM, 3)
        world = about_centre(moving, Rotation.from_euler("xyz", degrees, degrees=True).as_matrix(), shift)
        path = context.work / f"turned_{number}.nii.gz"
        write_image(path, moved_copy(moving, world))
        affine = read_mapping(context.program.register(fixed_path, path, "-t", "affine").prefix).affine
        # The found affine maps to the copy of the moving image whose header was changed. It is converted to the image
        # with the unchanged header, so that it can be compared with the reference affine.
        distance = scores.distance_mm(fixed, unmoved, np.linalg.inv(world) @ affine).mean()
        found += distance <= MEAN_MM
        table.rows.append([triple(degrees), triple(shift), f"{distance:.3f}"])
    what = f"1001→1000 under random headers: mean distance in the brain ≤ {MEAN_MM} mm"
    bars.add(what, f"{context.headers} of {context.headers}", f"{found} of {context.headers}", found == context.headers)
    return report


def triple(values: np.ndarray) -> str:
    """Format three numbers for a table."""
    return ", ".join(f"{value:+.0f}" for value in values)
