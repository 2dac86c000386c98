#!/usr/bin/env python3
"""Register the example pair and draw the result to docs/images/example.png.

    cargo build --release
    python3 scripts/picture.py

Columns: the fixed image, the moving image after the affine, the moving image after SyN. The lines are the fixed image's
tissue borders, the same in all three.
"""

import argparse

import environment

PROGRAM = environment.REPOSITORY / "target" / "release" / "antsreg-gpu"

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.parse_args()
if not PROGRAM.exists():
    parser.error(f"{PROGRAM} is missing: cargo build --release")
environment.enter()

import subprocess  # noqa: E402  (everything below exists only inside the environment)
import tempfile  # noqa: E402

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from scipy.ndimage import gaussian_filter  # noqa: E402

import palette  # noqa: E402
from benchmark.images import Image, Mapping, carry, read_image, read_mapping  # noqa: E402

EXAMPLES = environment.REPOSITORY / "examples"
FIXED, MOVING = EXAMPLES / "icbm152_t1_2mm.nii.gz", EXAMPLES / "colin27_t1_2mm.nii.gz"
OUTPUT = environment.REPOSITORY / "docs" / "images" / "example.png"

#: Positions of the slices in the fixed image, RAS mm: axial through the ventricles, sagittal near the midline.
AXIAL_Z_MM, SAGITTAL_X_MM = 14.0, 10.0
MARGIN_VOXELS = 4
LINE = "#ff8a3d"


def register() -> Mapping:
    """Register the example pair. Returns its affine and warps."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = f"{folder}/example_"
        subprocess.run([PROGRAM, "register", "-f", FIXED, "-m", MOVING, "-o", prefix], check=True)
        return read_mapping(prefix)


def slices(image: Image, voxels: np.ndarray) -> list[np.ndarray]:
    """The axial and the sagittal slice around the brain of an image, with anterior or superior at the top."""
    to_voxel = np.linalg.inv(image.voxel_to_world)
    index = np.rint(to_voxel @ [SAGITTAL_X_MM, 0, AXIAL_Z_MM, 1]).astype(int)
    occupied = np.argwhere(image.brain())
    low = np.maximum(occupied.min(axis=0) - MARGIN_VOXELS, 0)
    x, y, z = (slice(start, stop + 1) for start, stop in zip(low, occupied.max(axis=0) + MARGIN_VOXELS, strict=True))
    return [voxels[x, y, index[2]].T, voxels[index[0], y, z].T]


def main() -> None:
    """Register the pair, resample the images, and draw the figure."""
    fixed, moving = read_image(FIXED), read_image(MOVING)
    mapping = register()
    columns = {
        "fixed: ICBM 152": fixed.voxels.astype(float),
        "moving: Colin27, after the affine": carry(moving, fixed, Mapping(mapping.affine), order=1),
        "after SyN": carry(moving, fixed, mapping, order=1),
    }
    borders = slices(fixed, gaussian_filter(fixed.voxels.astype(float), 0.7))
    brain = fixed.voxels[fixed.voxels > 0]
    levels = [0.25 * np.median(brain), *np.percentile(brain, [30, 68])]
    plt.rcParams.update({"font.size": 9, "figure.facecolor": "black", "text.color": "white"})
    # The height of each row of the figure follows from the shape of its slice, because all columns have the same width.
    heights = [part.shape[0] / part.shape[1] for part in borders]
    width = 7.2
    figure, axes = plt.subplots(2, 3, figsize=(width, width / 3 * sum(heights) + 0.3), height_ratios=heights)
    for column, (title, voxels) in enumerate(columns.items()):
        white = np.percentile(voxels[voxels > 0], 99.5)
        axes[0, column].set_title(title, color="white", pad=6)
        for row, part in enumerate(slices(fixed, voxels)):
            panel = axes[row, column]
            panel.imshow(part, cmap="gray", origin="lower", vmin=0, vmax=white, interpolation="bilinear")
            panel.contour(borders[row], levels=levels, colors=LINE, linewidths=0.55)
            panel.axis("off")
    figure.subplots_adjust(left=0, right=1, bottom=0, top=0.95, wspace=0, hspace=0)
    palette.save(figure, OUTPUT, dpi=110)


if __name__ == "__main__":
    main()
