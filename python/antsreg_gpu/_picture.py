"""Small pictures of images for notebooks."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Height of a picture, pixels.
_HEIGHT = 160


def picture(array: NDArray[Any], affine: ArrayLike) -> str:
    """An HTML image of the middle slices of a volume side by side, or of a slice; right is right, up is up."""
    volume = np.asarray(array, dtype=np.float32)
    world = np.asarray(affine, dtype=np.float64)
    if volume.ndim == 2:
        shown = [_view(volume, np.linalg.norm(world[:2, :2], axis=0))]
    else:
        volume, sizes = _upright(volume, world)
        middle = [length // 2 for length in volume.shape]
        shown = [
            _view(np.take(volume, middle[axis], axis), np.delete(sizes, axis)) for axis in range(3)
        ]
    low, high = np.percentile(volume[np.isfinite(volume)], (1, 99.5)) if np.isfinite(volume).any() else (0.0, 1.0)
    scaled = np.clip((np.hstack(shown) - low) / max(high - low, 1e-12), 0, 1)
    encoded = base64.b64encode(_png(np.asarray(255 * np.nan_to_num(scaled), dtype=np.uint8))).decode("ascii")
    return f'<img alt="slices" src="data:image/png;base64,{encoded}">'


def _upright(volume: NDArray[np.float32], world: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """The volume with axes that point right, forward and up as far as possible, and its voxel sizes, mm."""
    turned = world[:3, :3] / np.linalg.norm(world[:3, :3], axis=0)
    order: list[int] = []
    for row in range(3):
        free = [axis for axis in range(3) if axis not in order]
        order.append(max(free, key=lambda axis: abs(turned[row, axis])))
    upright = volume.transpose(order)
    for row, axis in enumerate(order):
        upright = np.flip(upright, row) if turned[row, axis] < 0 else upright
    return upright, np.linalg.norm(world[:3, :3], axis=0)[order]


def _view(plane: NDArray[np.float32], sizes: NDArray[np.float64]) -> NDArray[np.float32]:
    """A slice as rows from top to bottom, resampled to square pixels at the height of a picture."""
    rows = np.flip(plane.T, 0)
    width = max(1, round(_HEIGHT * plane.shape[0] * sizes[0] / (plane.shape[1] * sizes[1])))
    at_row = np.arange(_HEIGHT) * rows.shape[0] // _HEIGHT
    at_column = np.arange(width) * rows.shape[1] // width
    return rows[np.ix_(at_row, at_column)]


def _png(pixels: NDArray[np.uint8]) -> bytes:
    """A grey picture as PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = pixels.shape
    # Every row begins with the number of its filter, 0 for none.
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
