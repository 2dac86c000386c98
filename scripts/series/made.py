"""Simulates image series from one real echo-planar volume.

The volume is moved, interpolated by a spline of order 5, and gets noise and changes of intensity.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import nibabel as nib
import numpy as np
from scipy import ndimage

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: Standard deviation of each channel of the Rician noise, and height of the task response, as shares of the brain's
#: mean.
NOISE, TASK = 0.02, 0.02
REPETITION_S = 2.0


@dataclass
class Kind:
    """Parameters of a simulated head motion."""

    name: str
    #: Slow drift of the head: largest shift along an axis (mm) and largest rotation about an axis (degrees).
    drift: float
    #: Jumps of the head: share of the volumes that jump, and size of a jump (length of the shift in mm, angle of the
    #: rotation in degrees).
    jumps: float
    jump: float
    #: True: all jumps have the size `jump`. False: sizes are random, and `jump` is the largest.
    exact: bool = False


#: Three kinds of motion with drifts and jumps, and a fourth kind for the part `spikes` of scripts/series_bars.py.
KINDS = (Kind("calm", 0.5, 0.02, 1.0), Kind("drifting", 3.0, 0.0, 0.0), Kind("restless", 1.5, 0.05, 3.0))
SPIKES = Kind("spikes", 0.5, 0.1, 5.0, exact=True)


@dataclass
class Source:
    """The volume from which series are simulated."""

    voxels: np.ndarray
    affine: np.ndarray
    #: Coefficients of the interpolating spline of the voxels, with mirror boundary.
    spline: np.ndarray
    brain: np.ndarray

    @property
    def points(self) -> np.ndarray:
        """Centres of the brain voxels, one row each, RAS mm."""
        index = np.argwhere(self.brain)
        return index @ self.affine[:3, :3].T + self.affine[:3, 3]


def source(data: Path, slices: int | None = None) -> Source:
    """Read the echo-planar volume.

    If `slices` is given, the volume gets this number of slices: the last slices are removed, or the last is repeated.
    """
    image = nib.load(data / "heads" / "epi_b.nii.gz")
    voxels = image.get_fdata()
    if slices:
        more = max(0, slices - voxels.shape[2])
        voxels = np.pad(voxels, ((0, 0), (0, 0), (0, more)), mode="edge")[:, :, :slices]
    head = ndimage.gaussian_filter(voxels, 1) > 0.3 * np.percentile(voxels, 98)
    labels, _ = ndimage.label(ndimage.binary_erosion(head))
    largest = labels == np.argmax(np.bincount(labels.ravel())[1:]) + 1
    brain = ndimage.binary_fill_holes(ndimage.binary_dilation(largest))
    return Source(voxels, image.affine, ndimage.spline_filter(voxels, order=5, mode="mirror"), brain)


def of_example() -> Source:
    """The example brain of this repository, subsampled to voxels of 4 mm.

    Checks that run without downloaded data simulate series from it.
    """
    image = nib.load(EXAMPLES / "colin27_t1_2mm.nii.gz")
    fine = image.get_fdata()
    voxels = ndimage.gaussian_filter(fine, 1)[::2, ::2, ::2]
    brain = voxels > 0.3 * np.percentile(voxels, 98)
    affine = image.affine @ np.diag([2, 2, 2, 1])
    voxels = voxels * (1000 / voxels[brain].mean())
    return Source(voxels, affine, ndimage.spline_filter(voxels, order=5, mode="mirror"), brain)


def rotation(degrees: np.ndarray) -> np.ndarray:
    """Rotation matrix about x, then y, then z."""
    matrix = np.eye(3)
    for axis, angle in enumerate(np.radians(degrees)):
        turn, (a, b) = np.eye(3), ((axis + 1) % 3, (axis + 2) % 3)
        turn[a, a] = turn[b, b] = np.cos(angle)
        turn[b, a], turn[a, b] = np.sin(angle), -np.sin(angle)
        matrix = turn @ matrix
    return matrix


def motions(kind: Kind, count: int, centre: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Random motion of a head: for each volume the affine from the still head to the volume, RAS mm.

    Rotations are about `centre`.
    """
    smooth = ndimage.gaussian_filter1d(np.cumsum(generator.standard_normal((count, 6)), 0), 5, axis=0)
    smooth -= smooth.mean(0)
    six = kind.drift * smooth / np.maximum(np.abs(smooth).max(0), 1e-9)
    for volume in generator.choice(count, round(kind.jumps * count), replace=False):
        size = 1.0 if kind.exact else generator.uniform(0.3, 1.0)
        for part in (slice(0, 3), slice(3, 6)):
            way = generator.standard_normal(3)
            six[volume, part] += kind.jump * size * way / np.linalg.norm(way)
    found = np.tile(np.eye(4), (count, 1, 1))
    for matrix, (*shift, a, b, c) in zip(found, six, strict=True):
        matrix[:3, :3] = rotation(np.array([a, b, c]))
        matrix[:3, 3] = centre + shift - matrix[:3, :3] @ centre
    return found


def intensities(brain: np.ndarray, count: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Gain of each volume and slice (a drift, and slices with signal loss), and a map of the response to the task."""
    slices = brain.shape[2]
    gain = np.ones((count, slices)) + 0.02 * np.sin(np.linspace(0, 3, count))[:, None]
    for volume in generator.choice(count, max(1, count // 40), replace=False):
        gain[volume, generator.integers(0, 2) :: 2] *= generator.uniform(0.93, 0.98)
    active = ndimage.gaussian_filter(generator.standard_normal(brain.shape), 4)
    active = (active > np.quantile(active[brain], 0.8)) * brain
    return gain, TASK * active


def series(kind: Kind, count: int, of: Source, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Simulate a series. Returns its volumes (x, y, z, time) and the affine of each volume, from the still head."""
    generator = np.random.default_rng(seed)
    found = motions(kind, count, of.points.mean(0), generator)
    gain, active = intensities(of.brain, count, generator)
    level = of.voxels[of.brain].mean()
    task = (np.arange(count) // 10) % 2
    index = np.indices(of.voxels.shape).reshape(3, -1)
    to_voxel = np.linalg.inv(of.affine)
    volumes = np.empty((*of.voxels.shape, count), np.float32)
    task_spline = ndimage.spline_filter(of.voxels * (1 + active), order=5, mode="mirror")

    def moved(n: int) -> np.ndarray:
        back = to_voxel @ np.linalg.inv(found[n]) @ of.affine
        at = back[:3, :3] @ index + back[:3, 3:]
        coefficients = task_spline if task[n] else of.spline
        return ndimage.map_coordinates(coefficients, at, order=5, mode="mirror", prefilter=False)

    with ThreadPoolExecutor() as pool:
        for n, still in enumerate(pool.map(moved, range(count))):
            signal = np.maximum(still, 0).reshape(of.voxels.shape) * gain[n]
            noise = generator.normal(0, NOISE * level, (2, *signal.shape))
            volumes[..., n] = np.hypot(signal + noise[0], noise[1])
    return volumes, found


def write(volumes: np.ndarray, affine: np.ndarray, to: Path) -> Path:
    """Write volumes as 16-bit integers, as scanners do."""
    image = nib.Nifti1Image(np.round(volumes).astype(np.int16), affine)
    image.header.set_zooms((*nib.affines.voxel_sizes(affine), REPETITION_S)[: volumes.ndim])
    image.header.set_xyzt_units("mm", "sec")
    nib.save(image, to)
    return to
