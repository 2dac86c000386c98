#!/usr/bin/env python3
"""Measure the sharpness of templates and the correlations between them, independently of antsreg-gpu."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import environment


def main(folder: Path) -> None:
    """Print the sharpness of the templates, and the correlations between rigidly aligned images."""
    import nibabel
    import numpy as np
    from scipy import ndimage

    def read(path: Path) -> np.ndarray:
        return np.asarray(nibabel.load(path).dataobj, dtype=np.float64)

    template = read(folder / "template.nii")
    # The outermost voxels of the brain are left out: the edge of a skull-stripped brain is steep in any average.
    brain = ndimage.binary_fill_holes(template > 0.5 * template[template > 0].mean())
    inner = ndimage.binary_erosion(brain, iterations=3)

    def sharpness(image: np.ndarray, mask: np.ndarray) -> float:
        gradient = np.sqrt(sum(slope**2 for slope in np.gradient(image)))
        return gradient[mask].mean() / image[mask].mean()

    average = read(folder / "affine_average.nii")
    print("mean gradient magnitude over mean intensity, times that of the affine average: inner brain, whole brain")
    for path in sorted(folder.glob("template*.nii")):
        image = read(path)
        ratios = [sharpness(image, mask) / sharpness(average, mask) for mask in (inner, brain)]
        print(f"  {path.stem}: {ratios[0]:.3f}, {ratios[1]:.3f}")
    print("correlation in the brain after rigid alignment")
    aligned = {path.stem: read(path)[brain] for path in sorted(folder.glob("rigid_*Warped.nii"))}
    aligned = {"default": template[brain]} | aligned
    for (first, a), (second, b) in itertools.combinations(aligned.items(), 2):
        print(f"  {first}, {second}: {np.corrcoef(a, b)[0, 1]:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of the templates that scripts/atlas_bars.sh kept")
    options = parser.parse_args()
    for name in ("template.nii", "affine_average.nii"):
        if not (options.folder / name).is_file():
            parser.error(f"{options.folder} has no {name}")
    environment.enter()
    main(options.folder)
