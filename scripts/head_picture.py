#!/usr/bin/env python3
"""Register a raw head to the built-in template and draw docs/images/normalised.png.

    cargo build --release
    python3 scripts/head_picture.py HEAD

Left: the unprocessed head with the outline of the extracted brain. Right: the head without shading in the template's
space, with the outline of the same brain. The picture in docs shows Colin27 (ch2.nii.gz of Debian's package
mricron-data).
"""

import argparse
from pathlib import Path

import environment

PROGRAM = environment.REPOSITORY / "target" / "release" / "antsreg-gpu"

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("head", type=Path, metavar="HEAD", help="a whole head, T1-weighted")
parser.add_argument("--program", type=Path, default=PROGRAM)
typed = parser.parse_args()
if not typed.program.exists():
    parser.error(f"{typed.program} is missing: cargo build --release")
environment.enter()

import subprocess  # noqa: E402  (everything below exists only inside the environment)
import tempfile  # noqa: E402

import matplotlib.pyplot as plt  # noqa: E402
import nibabel as nib  # noqa: E402
import numpy as np  # noqa: E402

import palette  # noqa: E402

OUTPUT = environment.REPOSITORY / "docs" / "images" / "normalised.png"
#: Positions of the slices, as shares of the extent of the brain along the axis.
SAGITTAL, AXIAL = 0.46, 0.56
MARGIN_MM = 22
LINE = "#ff8a3d"


def load(path: Path | str) -> nib.Nifti1Image:
    """Load an image and reorder its axes to RAS."""
    return nib.as_closest_canonical(nib.load(path))


def slices(head: nib.Nifti1Image, mask: nib.Nifti1Image) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """A sagittal and an axial slice of head and mask around the brain, and the aspect ratio of a pixel.

    The aspect ratio is the height of a pixel divided by its width.
    """
    voxels, inside = head.get_fdata(dtype=np.float32), mask.get_fdata() > 0.5
    size = np.array(head.header.get_zooms()[:3])
    occupied = np.argwhere(inside)
    first, last = occupied.min(axis=0), occupied.max(axis=0)
    margin = np.rint(MARGIN_MM / size).astype(int)
    low, high = np.maximum(first - margin, 0), np.minimum(last + margin + 1, inside.shape)
    x, y, z = (slice(start, stop) for start, stop in zip(low, high, strict=True))
    i = int(first[0] + SAGITTAL * (last[0] - first[0]))
    k = int(first[2] + AXIAL * (last[2] - first[2]))
    return [
        (voxels[i, y, z].T, inside[i, y, z].T, size[2] / size[1]),
        (voxels[x, y, k].T, inside[x, y, k].T, size[1] / size[0]),
    ]


def main() -> None:
    """Normalise the head and draw it before and after normalisation."""
    with tempfile.TemporaryDirectory() as folder:
        start = f"{folder}/head_"
        subprocess.run([typed.program, "normalise", typed.head, "--prefix", start, "--no-report"], check=True)
        space = f"{start}space-MNI152NLin2009cAsym_desc-"
        rows = {
            "raw, and the brain found": slices(load(typed.head), load(f"{start}desc-brain_mask.nii.gz")),
            "normalised": slices(load(f"{space}preproc_T1w.nii.gz"), load(f"{space}brain_mask.nii.gz")),
        }
    plt.rcParams.update({"font.size": 9, "figure.facecolor": "black", "text.color": "white"})
    figure, axes = plt.subplots(1, 4, figsize=(9.6, 2.9))
    for n, (title, parts) in enumerate(rows.items()):
        white = np.percentile(np.concatenate([part.ravel() for part, _, _ in parts]), 99.5)
        for panel, (part, inside, aspect) in zip(axes[2 * n : 2 * n + 2], parts, strict=True):
            panel.imshow(part, cmap="gray", origin="lower", vmin=0, vmax=white, aspect=aspect, interpolation="bilinear")
            panel.contour(inside, levels=[0.5], colors=LINE, linewidths=0.8)
            panel.axis("off")
        axes[2 * n].set_title(title, color="white", pad=5, loc="left")
    figure.subplots_adjust(left=0, right=1, bottom=0, top=0.91, wspace=0.02)
    palette.save(figure, OUTPUT, dpi=100)


if __name__ == "__main__":
    main()
