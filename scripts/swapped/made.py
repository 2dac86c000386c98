"""Makes pairs of images of one head, with a known transform between both, in which the overlap is easily lost.

The first image of a pair is the head as it was scanned. The second image is made from the first: turned, shifted, with
other contrasts, and often with a smaller field of view.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import nibabel as nib
import numpy as np
from nibabel.processing import resample_to_output
from scipy import ndimage
from scipy.spatial.transform import Rotation

#: Voxel size of all images, mm.
MM = 2.0
#: Angle between both images, degrees.
TURN_DEGREES = 20.0
#: Extent of the second image across its slices, mm.
WIDTH_MM = 220.0
#: Intensities of a CT-like image: scalp, brain and skull, and its noise.
SCALP, BRAIN, SKULL, NOISE = 40.0, 60.0, 1000.0, 5.0
#: Least and largest distance of the skull from the brain, mm. The skull of "ct" is the dark part in between.
SKULL_MM = {"ct": (1.0, 12.0), "shell": (3.0, 9.0)}
#: Factor of the first image's intensities in a skull of even thickness.
SKULL_SHARE = 0.1
#: Share of the brain's median intensity below which a voxel is dark.
DARK = 0.5


@dataclass(frozen=True)
class Kind:
    """How the second image of a pair is made."""

    name: str
    #: Contrast: "ct" (bright skull, flat brain, air 0), "shell" (as "ct", with a skull of even thickness, which is dark
    #: in the first image) or "grey" (grey matter brightest, fat and bone dark).
    contrast: str
    #: Extent of the second image along its slices' normal, mm.
    coverage_mm: float
    #: Distance of its centre from the centre of the brain along this normal, mm.
    offset_mm: float = 0.0
    #: Extent of the first image above and below the brain's centre, mm; None for the whole head.
    first_mm: tuple[float, float] | None = None
    #: Whether both images show the brain alone.
    brain_only: bool = False


KINDS = (
    Kind("CT 60 mm", "ct", 60),
    Kind("CT 60 mm, high", "ct", 60, 20),
    Kind("CT 100 mm", "ct", 100),
    Kind("CT, two slabs", "ct", 100, 25, (60, 25)),
    Kind("grey 60 mm", "grey", 60),
    Kind("shell 60 mm", "shell", 60),
    Kind("grey brain", "grey", 300, brain_only=True),
    Kind("grey, two slabs", "grey", 100, 25, (60, 25)),
)


@dataclass(frozen=True)
class Head:
    """A head and its brain on one grid."""

    name: str
    voxels: np.ndarray
    brain: np.ndarray
    #: Voxel to world coordinates, RAS mm.
    affine: np.ndarray
    head: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        """Find the head: all that is brighter than the air, and the holes in it."""
        smooth = ndimage.gaussian_filter(self.voxels, 1.5)
        bright = smooth > 0.15 * np.percentile(self.voxels[self.brain], 50)
        labels, _ = ndimage.label(bright | self.brain)
        head = labels == np.bincount(labels[self.brain]).argmax()
        for axis in range(3):
            closed = [ndimage.binary_fill_holes(np.take(head, n, axis)) for n in range(head.shape[axis])]
            head = head | np.stack(closed, axis)
        object.__setattr__(self, "head", head)


@dataclass(frozen=True)
class Pair:
    """Two images, the transform between both and the points at which transforms are compared."""

    name: str
    first: Path
    second: Path
    #: First world to second world, RAS mm, 4×4.
    truth: np.ndarray
    #: Points of the brain that both images show, world of the first image, RAS mm.
    points: np.ndarray


def head(image: Path, mask: Path) -> Head:
    """Read a head and the mask of its brain, on an isotropic grid."""
    scan = nib.as_closest_canonical(nib.squeeze_image(nib.load(image)))
    inside = nib.as_closest_canonical(nib.squeeze_image(nib.load(mask)))
    voxels = resample_to_output(nib.Nifti1Image(scan.get_fdata(dtype=np.float32), scan.affine), MM, order=1)
    brain = resample_to_output(nib.Nifti1Image(inside.get_fdata(dtype=np.float32), inside.affine), MM, order=1)
    to_mask = np.linalg.inv(brain.affine) @ voxels.affine
    on_grid = ndimage.affine_transform(
        brain.get_fdata(), to_mask[:3, :3], to_mask[:3, 3], output_shape=voxels.shape, order=1
    )
    return Head(image.name.partition(".")[0], voxels.get_fdata(), on_grid > 0.5, voxels.affine)


def pair(head: Head, kind: Kind, number: int, folder: Path) -> Pair:
    """Make the pair of this kind from a head and write both images."""
    random = np.random.default_rng(number)
    axis = random.normal(size=3)
    turn = Rotation.from_rotvec(np.radians(TURN_DEGREES) * axis / np.linalg.norm(axis)).as_matrix()
    centre = nib.affines.apply_affine(head.affine, np.argwhere(head.brain)).mean(axis=0)
    truth = np.eye(4)
    truth[:3, :3] = turn
    truth[:3, 3] = random.uniform(-30, 30, 3) - turn @ centre
    first, own_grid = first_image(head, kind, centre)
    shape = np.array([WIDTH_MM, WIDTH_MM, kind.coverage_mm]) / MM
    shape = np.round(shape).astype(int)
    grid = np.diag([MM, MM, MM, 1.0])
    middle = nib.affines.apply_affine(truth, centre) + np.array([0, 0, kind.offset_mm])
    grid[:3, 3] = middle - MM * (shape - 1) / 2
    second = moved(contrast(head, kind, random), np.linalg.inv(head.affine) @ np.linalg.inv(truth) @ grid, shape)
    name = f"{head.name}, {kind.name}"
    stem = "".join(letter if letter.isalnum() else "_" for letter in name)
    paths = folder / f"{stem}_first.nii", folder / f"{stem}_second.nii"
    for path, voxels, affine in ((paths[0], first, own_grid), (paths[1], second, grid)):
        nib.save(nib.Nifti1Image(voxels.astype(np.float32), affine), path)
    points = nib.affines.apply_affine(head.affine, np.argwhere(head.brain)[::29])
    seen = within(np.linalg.inv(own_grid), first.shape, points)
    seen &= within(np.linalg.inv(grid) @ truth, second.shape, points)
    return Pair(name, *paths, truth, points[seen])


def first_image(head: Head, kind: Kind, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first image of a pair, and its grid."""
    voxels = head.voxels * head.brain if kind.brain_only else head.voxels
    if kind.contrast == "shell":
        voxels = np.where(skull(head, kind), SKULL_SHARE * voxels, voxels)
    if kind.first_mm is None:
        return voxels, head.affine
    middle = np.linalg.inv(head.affine)[2] @ [*centre, 1.0]
    low, high = (round(middle + side * mm / MM) for side, mm in zip((-1, 1), kind.first_mm, strict=True))
    low = max(low, 0)
    grid = head.affine.copy()
    grid[:3, 3] += head.affine[:3, 2] * low
    return voxels[:, :, low:high], grid


def contrast(head: Head, kind: Kind, random: np.random.Generator) -> np.ndarray:
    """The head in the contrast of the second image."""
    inside = head.brain if kind.brain_only else head.head
    if kind.contrast in SKULL_MM:
        voxels = np.where(head.brain, BRAIN, np.where(skull(head, kind), SKULL, SCALP))
        noise = NOISE
    else:
        top = np.percentile(head.voxels[head.brain], 99)
        voxels = np.clip(head.voxels / top, 0, 1)
        voxels = 100 * np.sin(np.pi * voxels)
        noise = 3.0
    voxels = voxels + random.normal(scale=noise, size=voxels.shape)
    return np.where(inside, np.clip(voxels, 0, None), 0)


def skull(head: Head, kind: Kind) -> np.ndarray:
    """The skull in a CT-like image."""
    distance = ndimage.distance_transform_edt(~head.brain, sampling=MM)
    least, most = SKULL_MM[kind.contrast]
    between = (distance > least) & (distance < most)
    dark = head.voxels < DARK * np.median(head.voxels[head.brain])
    return between & dark if kind.contrast == "ct" else between


def moved(voxels: np.ndarray, back: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Read an image at the voxels of another grid; `back` maps indices of this grid to indices of the image."""
    return ndimage.affine_transform(voxels, back[:3, :3], back[:3, 3], output_shape=tuple(shape), order=1)


def within(to_voxel: np.ndarray, shape: tuple[int, ...], points: np.ndarray) -> np.ndarray:
    """Which points lie in a field of view."""
    at = nib.affines.apply_affine(to_voxel, points)
    return np.all((at >= 0) & (at <= np.array(shape) - 1), axis=1)
