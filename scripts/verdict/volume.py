"""Read and write NIfTI volumes with NumPy alone, so that the cases can be made on machines without other packages."""

from __future__ import annotations

import gzip
import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

#: NumPy's types by NIfTI's numbers.
TYPES = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2", 768: "u4"}


@dataclass(frozen=True)
class Volume:
    """Voxels (x, y, z) and the map from voxel indices to world mm (RAS), 4 × 4."""

    voxels: np.ndarray
    to_world: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Voxel sizes along the axes, mm."""
        return np.linalg.norm(self.to_world[:3, :3], axis=0)

    def moved(self, world: np.ndarray) -> Volume:
        """Return the volume with another header: `world` (4 × 4) moves it in the world."""
        return replace(self, to_world=world @ self.to_world)

    def with_voxels(self, voxels: np.ndarray) -> Volume:
        """Return other voxels on the same grid."""
        return replace(self, voxels=voxels)


def by_quaternion(header: bytes, sizes: tuple[float, ...]) -> np.ndarray:
    """Return the map that the qform of a header describes."""
    b, c, d, x, y, z = struct.unpack_from("<6f", header, 256)
    a = np.sqrt(max(0.0, 1 - b * b - c * c - d * d))
    turn = np.array([
        [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
        [2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)],
        [2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c],
    ])
    sign = -1.0 if sizes[0] < 0 else 1.0
    to_world = np.eye(4)
    to_world[:3, :3] = turn * np.array([sizes[1], sizes[2], sign * sizes[3]])
    to_world[:3, 3] = x, y, z
    return to_world


def read(path: Path) -> Volume:
    """Read a volume; its voxels are single precision. A displacement field has a fourth axis for the components."""
    raw = path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    dimensions = struct.unpack_from("<8h", raw, 40)
    shape = [n for n in dimensions[1 : dimensions[0] + 1]]
    kind = TYPES[struct.unpack_from("<h", raw, 70)[0]]
    sizes = struct.unpack_from("<8f", raw, 76)
    offset, slope, intercept = struct.unpack_from("<3f", raw, 108)
    values = np.frombuffer(raw, f"<{kind}", int(np.prod(shape)), int(offset)).reshape(shape, order="F")
    values = values.astype(np.float32)
    if slope not in (0.0, 1.0) or (slope == 1.0 and intercept != 0.0):
        values = values * np.float32(slope) + np.float32(intercept)
    while values.ndim > 3 and values.shape[3] == 1:
        values = values.squeeze(3)
    if struct.unpack_from("<h", raw, 254)[0] > 0:
        to_world = np.eye(4)
        to_world[:3] = np.array(struct.unpack_from("<12f", raw, 280)).reshape(3, 4)
    else:
        to_world = by_quaternion(raw, sizes)
    return Volume(values, to_world)


def write(path: Path, volume: Volume) -> None:
    """Write a volume in single precision, compressed if the name says so. Its orientation is in the sform."""
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, *volume.voxels.shape, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 16, 32)
    struct.pack_into("<8f", header, 76, 1, *volume.sizes, 1, 1, 1, 1)
    struct.pack_into("<3f", header, 108, 352, 1, 0)
    header[123] = 2
    struct.pack_into("<2h", header, 252, 0, 2)
    struct.pack_into("<12f", header, 280, *volume.to_world[:3].ravel())
    header[344:348] = b"n+1\x00"
    raw = bytes(header) + volume.voxels.astype("<f4").tobytes(order="F")
    path.write_bytes(gzip.compress(raw, 1) if path.suffix == ".gz" else raw)


def halved(volume: Volume, least_mm: float) -> Volume:
    """Return means of 2 voxels along each axis whose voxels are shorter than `least_mm`."""
    voxels, to_world = volume.voxels, volume.to_world.copy()
    for axis in range(3):
        if volume.sizes[axis] >= least_mm:
            continue
        count = voxels.shape[axis] // 2 * 2
        pairs = np.moveaxis(voxels, axis, 0)[:count]
        voxels = np.moveaxis(0.5 * (pairs[0::2] + pairs[1::2]), 0, axis)
        to_world[:3, 3] += 0.5 * to_world[:3, axis]
        to_world[:3, axis] *= 2
    return Volume(voxels, to_world)


def resampled(volume: Volume, turn: np.ndarray) -> Volume:
    """Return the volume read on its own grid after a move of the world (4 × 4, from new points to old ones)."""
    shape = volume.voxels.shape
    map_ = np.linalg.inv(volume.to_world) @ turn @ volume.to_world
    out = np.zeros(shape, np.float32)
    grid = np.stack(np.meshgrid(*[np.arange(n, dtype=np.float32) for n in shape], indexing="ij"))
    at = np.tensordot(map_[:3, :3].astype(np.float32), grid, 1) + map_[:3, 3].astype(np.float32)[:, None, None, None]
    low = np.floor(at).astype(np.int32)
    share = at - low
    for corner in np.ndindex(2, 2, 2):
        index = [low[axis] + corner[axis] for axis in range(3)]
        inside = np.all([(index[axis] >= 0) & (index[axis] < shape[axis]) for axis in range(3)], axis=0)
        weight = np.prod([share[axis] if corner[axis] else 1 - share[axis] for axis in range(3)], axis=0)
        clipped = [np.clip(index[axis], 0, shape[axis] - 1) for axis in range(3)]
        out += np.where(inside, weight * volume.voxels[tuple(clipped)], 0)
    return volume.with_voxels(out)


def smooth_noise(rng: np.random.Generator, shape: tuple[int, ...], cells: int) -> np.ndarray:
    """Return a smooth random image from 0 to 1: random values at `cells` points along each axis, interpolated."""
    image = rng.random((cells, cells, cells), dtype=np.float32)
    for axis in range(3):
        at = np.linspace(0, cells - 1, shape[axis])
        low = np.minimum(at.astype(int), cells - 2)
        share = (at - low).astype(np.float32).reshape([-1 if a == axis else 1 for a in range(3)])
        image = np.take(image, low, axis) * (1 - share) + np.take(image, low + 1, axis) * share
    return image
