#!/usr/bin/env python3
"""Compare N4BiasFieldCorrection of antsreg-gpu with that of ANTs (from the package antspyx) on given images.

For every image the script prints the mean relative differences of corrected images and of fields inside the mask, and
the processor times of both programs on two threads. With --truth, each image that has a mask is first multiplied by
five known fields of up to ±40 %, and the remaining error of each program is printed: the coefficient of variation of
found field / true field in the mask. The script fails if the mean difference of the fields is above 1 %, or if the
remaining error is larger than that of ANTs.

ANTs samples every fourth voxel, from a position that is often half-way between two voxels. ITK's rounding errors decide
which voxel is sampled, and N4BiasFieldCorrection of antsreg-gpu has the same rounding errors. With --upright, both
programs get the voxels with axes along those of the world, where such errors are rare.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import environment

try:
    import nibabel as nib
    import numpy as np
except ImportError:  # Those of the environment that main() enters.
    pass

REQUIREMENTS = environment.SCRIPTS / "clients" / "requirements.txt"
THREADS = "2"
ARGUMENTS = ["-d", "3", "-s", "4", "-b", "[200]", "-c", "[50x50x50x50,1e-7]", "-r", "0"]
ANTS = "import sys; from ants.internal import get_lib_fn; get_lib_fn('N4BiasFieldCorrection')(sys.argv[1:])"
# Limits of the comparison of the bias fields of antsreg-gpu and ANTs: the largest accepted mean relative difference,
# and the number of digits to which the remaining errors of both programs are compared.
MOST, DIGITS = 0.01, 4


def read(path):
    return np.asarray(nib.load(path).dataobj, dtype=np.float64).squeeze()


def upright(path, folder, kind):
    """Write a copy of an image with axes along those of the world. Returns its path."""
    image = nib.squeeze_image(nib.load(path))
    copy = folder / f"{kind}_{Path(path).name}"
    axes = np.diag([*np.array(image.header.get_zooms()[:3], dtype=float), 1.0])
    nib.save(nib.Nifti1Image(np.asarray(image.dataobj), axes), copy)
    return copy


def shadings(shape, mask):
    x, y, z = np.meshgrid(*[np.linspace(-1, 1, n) for n in shape], indexing="ij")
    logarithms = [
        0.3 * x + 0.2 * y**2 - 0.25 * x * z,
        np.cos(2 * x + y) - 0.5 * z,
        np.sin(2 * y) + 0.5 * z**2,
        np.exp(-((x - 0.4) ** 2 + (y + 0.3) ** 2 + z**2) / 0.5) - 0.25 * y,
        np.sin(3 * x * y) + z,
    ]
    for logarithm in logarithms:
        logarithm = logarithm - (logarithm[mask].max() + logarithm[mask].min()) / 2
        yield np.exp(logarithm * np.log(1.4) / np.abs(logarithm[mask]).max())


def run(command, image, mask, folder, name):
    outputs = [folder / f"{name}.nii.gz", folder / f"{name}_field.nii.gz"]
    masked = ["-x", str(mask)] if mask else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    environment_of = dict(os.environ, NSLOTS=THREADS, ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS=THREADS, ANTSREG_DEVICE="cpu")
    arguments = [*ARGUMENTS, "-i", str(image), "-o", f"[{outputs[0]},{outputs[1]}]", *masked]
    subprocess.run([*command, *arguments], check=True, env=environment_of, stdout=subprocess.DEVNULL)
    return *(read(path) for path in outputs), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def compare(program, image, mask, folder, truth=None):
    own = run([program, "as", "N4BiasFieldCorrection"], image, mask, folder, "own")
    ants = run([sys.executable, "-c", ANTS], image, mask, folder, "ants")
    inside = read(image) > 0
    if mask:
        inside &= read(mask) > 0
    corrected, field = (np.mean(np.abs(o[inside] / a[inside] - 1)) for o, a in zip(own[:2], ants[:2]))
    line = f"images {corrected:.4f}, fields {field:.4f}; seconds {own[2]:.1f} and {ants[2]:.1f}"
    good = field <= MOST
    if truth is not None:
        left = [np.std(found[1][inside] / truth[inside]) / np.mean(found[1][inside] / truth[inside]) for found in (own, ants)]
        line += f"; left {left[0]:.4f} and {left[1]:.4f}"
        good = good and round(left[0], DIGITS) <= round(left[1], DIGITS)
    return good, line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the program antsreg-gpu")
    parser.add_argument("images", nargs="+", metavar="IMAGE[=MASK]")
    parser.add_argument("--truth", action="store_true", help="multiply images that have masks by known fields first")
    parser.add_argument("--upright", action="store_true", help="give the images axes along those of the world")
    arguments = parser.parse_args()
    environment.enter(REQUIREMENTS)
    good = True
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for given in arguments.images:
            image, _, mask = given.partition("=")
            if arguments.upright:
                image, mask = upright(image, folder, "image"), upright(mask, folder, "mask") if mask else ""
            fine, line = compare(arguments.program, image, mask, folder)
            print(f"{Path(image).name}: {line}", flush=True)
            good = good and fine
            if not (arguments.truth and mask):
                continue
            original, inside = nib.load(image), read(mask) > 0
            for number, truth in enumerate(shadings(inside.shape, inside), 1):
                shaded = folder / "shaded.nii.gz"
                nib.save(nib.Nifti1Image((read(image) * truth * inside).astype(np.float32), original.affine), shaded)
                fine, line = compare(arguments.program, shaded, mask, folder, truth)
                print(f"{Path(image).name}, field {number}: {line}", flush=True)
                good = good and fine
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
