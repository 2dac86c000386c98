"""Compares antsRegistrationSyN.sh and antsRegistrationSyNQuick.sh with antsreg-gpu.

The real scripts run with antsreg-gpu's commands, and antsreg-gpu also runs in place of the scripts.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import nibabel as nib
import numpy as np

from clients import data

SCRIPTS = ("antsRegistrationSyN.sh", "antsRegistrationSyNQuick.sh")
AFFINE, WARP = "0GenericAffine.mat", ["1Warp.nii.gz", "1InverseWarp.nii.gz"]
BOTH = [AFFINE, *WARP]
#: Options of the scripts, and the transform files that real ANTs writes for them. With `-t so` the first output is the
#: identity as the initial transform. The option -r is the radius of cross-correlation in antsRegistrationSyN.sh, and
#: the number of histogram bins in antsRegistrationSyNQuick.sh.
CASES = {
    "-t t": [AFFINE],
    "-t r": [AFFINE],
    "-t a": [AFFINE],
    "-t s": BOTH,
    "-t sr": BOTH,
    "-t so": BOTH,
    "-t so -r 8": BOTH,
    "-t so -r 16 -p f -j 1": BOTH,
    "-t sr -y 1 -e 7 -g 0.15 -n 2": BOTH,
    "-t r -x MASK": [AFFINE],
    "-t so -x MASK,MASK": BOTH,
    "-t r -i [FIXED,MOVING,0]": [AFFINE],
    "-t a -z 0": ["0DerivedInitialMovingTranslation.mat", "1Rigid.mat", "2Affine.mat"],
}


def check(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Run both scripts of ANTs with the commands of antsreg-gpu, and run antsreg-gpu in place of the scripts.

    Names of files must be those of real ANTs, and both ways must write the same files.
    """
    images = data.pair(folder)
    fixed = nib.load(images.fixed)
    inside = (fixed.get_fdata() > 0.1 * fixed.get_fdata().max()).astype(np.uint8)
    mask = data.save(inside, fixed.affine, folder / "data" / "mask.nii.gz")
    faults = []
    for options, transforms in CASES.items():
        wanted = sorted(f"o_{name}" for name in [*transforms, "Warped.nii.gz", "InverseWarped.nii.gz"])
        filled = options.replace("MASK", mask).replace("FIXED", images.fixed).replace("MOVING", images.moving)
        for script in SCRIPTS:
            if typed.only not in f"{script} {options}":
                continue
            outputs = {}
            for way, command in {"real": ["bash", typed.scripts / script], "here": [script]}.items():
                place = folder / f"{script}_{options}_{way}".replace("/", "_").replace(" ", "")
                place.mkdir(parents=True, exist_ok=True)
                words = [*command, "-d", "3", "-f", images.fixed, "-m", images.moving, *filled.split(), "-o", "o_"]
                done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
                found = outputs[way] = {path.name: path.read_bytes() for path in place.iterdir()}
                if done.returncode or sorted(found) != wanted:
                    why = f"exit {done.returncode}, expected {wanted}, found {sorted(found)}; {done.stderr[-300:]}"
                    faults.append(f"{script} {options}, {way}: {why}")
            same = outputs["real"] == outputs["here"]
            print(f"{script} {options}: {len(wanted)} files, {'the same' if same else 'DIFFERENT'} both ways", flush=True)
            if not same:
                faults.append(f"{script} {options}: the real script and this program write different files")
    return faults
