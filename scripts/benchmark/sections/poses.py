"""Registration with known transforms: changed copies of one brain, and one person in two orientations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial.transform import Rotation

from benchmark import scores
from benchmark.context import Context
from benchmark.images import Image, Mapping, carry, read_image, read_mapping, write_image
from benchmark.report import Report
from benchmark.sections.headers import about_centre, moved_copy

LARGEST_MM = 0.5
STRETCH = 1.3
SHIFT_MM = 80
CORRELATION = 0.93
PERSON = "1000"


def copies(image: Image) -> Iterator[tuple[str, Image, np.ndarray]]:
    """The copies of a brain: name, image, and the world transform from the original to the copy."""
    for axis, letter in enumerate("xyz"):
        turn = Rotation.from_rotvec(np.pi / 2 * np.eye(3)[axis]).as_matrix()
        world = about_centre(image, turn, np.zeros(3))
        yield f"turned by 90° about {letter}", moved_copy(image, world), world
    for axis, letter in enumerate("ijk"):
        yield f"voxels stored backwards along {letter}", flipped(image, axis), np.eye(4)
    world = about_centre(image, np.eye(3), np.full(3, float(SHIFT_MM)))
    yield f"moved by {SHIFT_MM} mm along each axis", moved_copy(image, world), world
    for axis, letter in enumerate("xyz"):
        stretch = np.eye(3)
        stretch[axis, axis] = STRETCH
        world = about_centre(image, stretch, np.zeros(3))
        yield f"stretched ×{STRETCH} along {letter}", moved_copy(image, world), world
    yield f"resampled to voxels ×{STRETCH} longer along k", coarser(image, axis=2), np.eye(4)


def flipped(image: Image, axis: int) -> Image:
    """Return the image with reversed voxel order along one axis. The brain keeps its place in the world."""
    reverse = np.eye(4)
    reverse[axis, axis] = -1
    reverse[axis, 3] = image.voxels.shape[axis] - 1
    return Image(np.flip(image.voxels, axis), image.voxel_to_world @ reverse)


def coarser(image: Image, axis: int) -> Image:
    """Return the image resampled with a larger spacing along one axis. The brain keeps its place in the world."""
    shape = list(image.voxels.shape)
    shape[axis] = int((shape[axis] - 1) / STRETCH) + 1
    scale = np.eye(4)
    scale[axis, axis] = STRETCH
    grid = Image(np.zeros(shape, np.float32), image.voxel_to_world @ scale)
    return Image(carry(image, grid, Mapping(np.eye(4)), order=1), grid.voxel_to_world)


def poses(context: Context) -> Report:
    """Check that the affine stage finds the known transform to each copy of the brain."""
    report = Report(commands=[f"antsreg-gpu register -f {PERSON}_t1.nii.gz -m copy_N.nii.gz -o PREFIX_ -t affine"])
    bars = report.bars()
    path = context.data.t1(PERSON)
    image = read_image(path)
    for number, (name, copy, truth) in enumerate(copies(image)):
        copy_path = context.work / f"copy_{number}.nii.gz"
        write_image(copy_path, copy)
        affine = read_mapping(context.program.register(path, copy_path, "-t", "affine").prefix).affine
        bars.at_most(
            f"{name}: largest error in the brain",
            LARGEST_MM,
            scores.distance_mm(image, affine, truth).max(),
            " mm",
            digits=3,
        )
    return report


def orientation(context: Context) -> Report:
    """Check that images of one person from two data sets, stored in different orientations, are registered."""
    report = Report(
        commands=["antsreg-gpu register -f 1000_t1.nii.gz -m atlas_1_t1weighted_brain.nii.gz -o PREFIX_ -t rigid"]
    )
    fixed_path, moving_path = context.data.t1("1000"), context.data.mindboggle()
    done = context.program.register(fixed_path, moving_path, "-t", "rigid")
    fixed, moving = read_image(fixed_path), read_image(moving_path)
    carried = carry(moving, fixed, read_mapping(done.prefix), order=1)
    found = scores.correlation(fixed.voxels, carried, fixed.brain())
    report.bars().at_least("mindboggle atlas_1 → 1000, rigid: correlation in the brain", CORRELATION, found)
    return report
