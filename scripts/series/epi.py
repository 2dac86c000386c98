"""Simulates echo-planar images from the tissue maps of a T1 image.

The images have tissue contrast, signal loss and distortion near air, partial coverage, and a known transform.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import nibabel as nib
import numpy as np
from scipy import ndimage

from series import made

#: Signal intensities of the simulated echo-planar image: white matter, grey matter, fluid, and the brightest voxels of
#: the scalp. The scalp is dark, because fat is suppressed.
WHITE, GREY, FLUID, SCALP = 65.0, 85.0, 120.0, 12.0
#: Air cavities that disturb the magnetic field, above the sinuses and both ear canals: centre (MNI, mm), distance from
#: the centre at which the shift of voxels has fallen to 1/e (mm), and largest shift (mm).
AIR = (((0.0, 42.0, -18.0), 30.0, 8.0), ((52.0, -22.0, -26.0), 22.0, 5.0), ((-52.0, -22.0, -26.0), 22.0, 5.0))
VOXEL_MM, NOISE = 3.0, 0.04
#: Relative increase of the receive coils' gain from the middle of the head to its surface, and its random variation.
COILS, VARIATION = 0.6, 0.2
#: Half extents of the head along each axis (mm), and its middle (MNI, mm).
HALF, MIDDLE = np.array((75.0, 92.0, 75.0)), np.array((0.0, -18.0, 5.0))
#: Extents of the simulated images along z, mm.
COVERAGES = (144, 60, 40)
#: Errors are measured only at points of the brain that the distortion moves by less than this distance, mm.
UNDISTORTED_MM = 0.5


@dataclass
class Head:
    """The source of simulated images on the grid of a T1 image: echo-planar signal and brain mask."""

    signal: np.ndarray
    affine: np.ndarray
    brain: np.ndarray


@dataclass
class Epi:
    """A simulated echo-planar image, with its true transform and the points for error measurement."""

    file: Path
    coverage: int
    #: Affine from points of the T1 image to points of this image, RAS mm.
    transform: np.ndarray
    #: Points at which errors are measured: inside the brain, covered by the image, almost without distortion. RAS mm of
    #: the T1 image.
    points: np.ndarray


def head(data: Path) -> Head:
    """Read the tissue maps of the data, and compute the echo-planar signal of the head."""
    folder = data / "heads"
    load = lambda name: nib.load(folder / f"mni2009c_2mm_{name}.nii.gz")  # noqa: E731
    white, grey, fluid = (load(f"tpm_{tissue}").get_fdata() for tissue in ("wm", "gm", "csf"))
    t1, brain = load("T1"), load("brainmask").get_fdata() > 0.5
    rest = np.clip(1 - white - grey - fluid, 0, 1)
    scalp = SCALP * t1.get_fdata() / np.percentile(t1.get_fdata()[brain], 98)
    return Head(WHITE * white + GREY * grey + FLUID * fluid + rest * scalp, t1.affine, brain)


def air(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Effects of air on the signal at points of the T1 image: shift, and share of the signal that remains.

    In a simulated echo-planar image the shift is along the second axis, mm.
    """
    shift, left = np.zeros(points.shape[:-1]), np.ones(points.shape[:-1])
    for centre, reach, most in AIR:
        near = np.exp(-np.sum((points - np.array(centre)) ** 2, -1) / reach**2)
        shift += most * near
        left *= 1 - 0.9 * near**2
    return shift, left


def make(of: Head, coverage: int, seed: int, to: Path) -> Epi:
    """Simulate an image with this extent along z (mm), and write it to a file."""
    generator = np.random.default_rng(seed)
    transform = np.eye(4)
    transform[:3, :3] = made.rotation(generator.uniform(-6, 6, 3))
    transform[:3, 3] = generator.uniform(-6, 6, 3)
    slices = round(coverage / VOXEL_MM)
    shape = np.array((72, 84, slices))
    affine = np.diag([VOXEL_MM, VOXEL_MM, VOXEL_MM, 1.0])
    affine[:3, :3] = made.rotation(generator.uniform(-10, 10, 3)) @ affine[:3, :3]
    # The image grid is centred near the middle of the brain.
    middle = (transform @ [0, -18, 12 if slices < 40 else 5, 1])[:3]
    affine[:3, 3] = middle - affine[:3, :3] @ ((shape - 1) / 2)
    index = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), -1)
    places = index @ affine[:3, :3].T + affine[:3, 3]
    back, along = np.linalg.inv(transform), affine[:3, 1] / VOXEL_MM
    still = places @ back[:3, :3].T + back[:3, 3]
    shift, left = air(still)
    source = still + shift[..., None] * (back[:3, :3] @ along)
    to_voxel = np.linalg.inv(of.affine)
    at = np.moveaxis(source @ to_voxel[:3, :3].T + to_voxel[:3, 3], -1, 0)
    smooth = ndimage.gaussian_filter(of.signal, VOXEL_MM / 2.355 / 2)
    signal = np.clip(ndimage.map_coordinates(smooth, at, order=3), 0, None) * left
    coil = ndimage.gaussian_filter(generator.standard_normal(shape), 12, mode="nearest")
    signal *= 1 + VARIATION * coil / np.abs(coil).max() + COILS * np.sum(((still - MIDDLE) / HALF) ** 2, -1)
    noise = generator.normal(0, NOISE * GREY, (2, *shape))
    nib.save(nib.Nifti1Image(np.hypot(signal + noise[0], noise[1]).astype(np.float32), affine), to)
    brain = np.argwhere(of.brain) @ of.affine[:3, :3].T + of.affine[:3, 3]
    moved = (brain @ transform[:3, :3].T + transform[:3, 3] - affine[:3, 3]) @ np.linalg.inv(affine[:3, :3]).T
    inside = np.all((moved >= 0) & (moved <= shape - 1), 1) & (air(brain)[0] < UNDISTORTED_MM)
    return Epi(to, coverage, transform, brain[inside])
