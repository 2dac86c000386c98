"""Replacements for FreeSurfer's mri_coreg and lta_convert, which fMRIPrep calls, without FreeSurfer.

    freesurfer.py mri_coreg --mov IMAGE --ref IMAGE --lta FILE …
    freesurfer.py lta_convert --inlta FILE --outfsl FILE
    freesurfer.py lta_convert --infsl FILE --src IMAGE --trg IMAGE --outlta FILE

mri_coreg runs the rigid registration of antsreg-gpu; lta_convert uses nitransforms. `install` writes commands of these
names.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import nibabel as nib
import nitransforms as nt
import numpy as np
from nitransforms.io.lta import FSLinearTransform


def install(folder: Path, program: Path) -> None:
    """Write the commands mri_coreg and lta_convert into a folder on PATH. `program` is the path of antsreg-gpu."""
    for name in ("mri_coreg", "lta_convert"):
        command = folder / name
        command.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).resolve()} {name} --program {program} "$@"\n')
        command.chmod(0o755)


def mri_coreg(typed: argparse.Namespace) -> None:
    """Register two images rigidly and write the transform."""
    prefix = Path(typed.lta).resolve().with_suffix("")
    words = [typed.program, "register", "-f", typed.ref, "-m", typed.mov, "-o", f"{prefix}_", "-t", "rigid"]
    subprocess.run([*words, "--cost", "nmi", "--no-warped", "--quiet"], check=True)
    text = f"{prefix}.txt"
    subprocess.run([typed.program, "convert", f"{prefix}_0GenericAffine.mat", text], check=True)
    found = nt.linear.load(text, fmt="itk", reference=typed.ref, moving=typed.mov)
    found.to_filename(typed.lta, fmt="fs", moving=typed.mov)


def image(geometry: np.ndarray) -> nib.Nifti1Image:
    """An empty image on the grid that a transform file (LTA) gives for its source or target volume."""
    shape = tuple(int(extent) for extent in geometry["volume"].ravel())
    return nib.Nifti1Image(np.zeros(shape, np.uint8), geometry.as_affine())


def lta_convert(typed: argparse.Namespace) -> None:
    """Convert a transform between the formats of FreeSurfer and FSL."""
    if typed.infsl:
        found = nt.linear.load(typed.infsl, fmt="fsl", reference=typed.trg, moving=typed.src)
        found.to_filename(typed.outlta, fmt="fs", moving=typed.src)
        return
    stored = FSLinearTransform.from_filename(typed.inlta)
    moving, reference = image(stored["src"]), image(stored["dst"])
    found = nt.linear.load(typed.inlta, fmt="fs", reference=reference, moving=moving)
    found.to_filename(typed.outfsl, fmt="fsl", moving=moving)


def main() -> None:
    """Run the replacement of mri_coreg or lta_convert that the first argument names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    for option in ("program", "mov", "ref", "lta", "inlta", "infsl", "outlta", "outfsl", "src", "trg"):
        parser.add_argument(f"--{option}")
    typed, _ = parser.parse_known_args()
    {"mri_coreg": mri_coreg, "lta_convert": lta_convert}[typed.command](typed)


if __name__ == "__main__":
    main()
