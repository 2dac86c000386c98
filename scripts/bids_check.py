#!/usr/bin/env python3
"""Normalise a simulated BIDS dataset and check names and metadata of dataset and derivatives.

    cargo build --release
    scripts/bids_check.py --program target/release/antsreg-gpu

The dataset has four subjects with sessions and runs, simulated from a brain in examples/. The registrations are short.
bids-validator must find no error in the dataset and in its derivatives, and pybids must find every derivative by its
BIDS entities. Both tools are installed from PyPI into the virtual environment .venv/bids.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import environment

REQUIREMENTS = environment.SCRIPTS / "bids" / "requirements.txt"
EXAMPLES = environment.REPOSITORY / "examples"
SPACE = "MNI152NLin2009cAsym"
#: Quick registrations.
OPTIONS = [
    *("--shrink-factors", "3x2x1", "--smoothing-sigmas", "1x0x0", "--iterations", "10x10x2"),
    *("--finest-mm", "4", "--search-degrees", "30"),
]
#: For each simulated subject: its sessions, runs, and image suffixes in addition to T1w.
SUBJECTS = {
    "01": [({}, ["T2w"])],
    "02": [({"session": "a"}, []), ({"session": "b"}, ["FLAIR"])],
    "03": [({"run": "1"}, []), ({"run": "2"}, [])],
    "04": [({"session": "a", "acquisition": "x", "run": "1"}, [])],
}
SHORT = {"session": "ses", "acquisition": "acq", "run": "run"}


def scans() -> list[tuple[str, dict[str, str], str]]:
    """Subject, BIDS entities and suffix of every scan."""
    return [
        (subject, entities, suffix)
        for subject, of_subject in SUBJECTS.items()
        for entities, others in of_subject
        for suffix in ["T1w", *others]
    ]


def make(folder: Path) -> None:
    """Write the raw BIDS dataset."""
    import nibabel as nib
    import numpy as np

    folder.mkdir(parents=True)
    (folder / "dataset_description.json").write_text(json.dumps({"Name": "Made heads", "BIDSVersion": "1.9.0"}))
    (folder / "README").write_text("Made heads, of the brain in examples/, for a check of names.\n")
    brain = nib.load(EXAMPLES / "colin27_t1_2mm.nii.gz")
    values = np.asarray(brain.dataobj, dtype=np.float32)[::2, ::2, ::2]
    for number, (subject, entities, suffix) in enumerate(scans()):
        affine = brain.affine @ np.diag([2, 2, 2, 1])
        affine[:3, 3] += 2 * number
        session = entities.get("session")
        place = folder / f"sub-{subject}" / (f"ses-{session}" if session else "") / "anat"
        place.mkdir(parents=True, exist_ok=True)
        named = "".join(f"_{SHORT[key]}-{value}" for key, value in entities.items())
        noise = np.random.default_rng(number).normal(0, 1, values.shape) * (values > 0)
        image = nib.Nifti1Image((values + noise.astype(np.float32)).astype(np.int16), affine)
        image.header.set_xyzt_units("mm", "sec")
        nib.save(image, place / f"sub-{subject}{named}_{suffix}.nii.gz")


def judge(folder: Path) -> list[str]:
    """The errors that bids-validator reports for a dataset."""
    validator = Path(sys.prefix) / "bin" / "bids-validator-deno"
    done = subprocess.run([validator, folder, "--json"], capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["issues"]["issues"]
    except (ValueError, KeyError):
        return [f"{folder.name}: bids-validator gave no verdict: {done.stderr.strip()[-500:]}"]
    errors = [issue for issue in found if issue.get("severity") == "error"]
    return [f"{folder.name}: {issue['code']} {issue.get('subCode', '')} {issue.get('location', '')}" for issue in errors]


def find(raw: Path, derivatives: Path) -> list[str]:
    """The scans whose derivatives pybids does not find by their BIDS entities."""
    from bids import BIDSLayout

    layout = BIDSLayout(raw, derivatives=derivatives, validate=False)
    wrong = []
    for subject, entities, suffix in scans():
        own = {"subject": subject, "scope": "derivatives", **entities, "return_type": "file"}
        # A further image of a session has the entities of the scan to which it is registered.
        wanted = [{"suffix": suffix, "desc": "preproc", "extension": ".nii.gz", "space": space} for space in (None, SPACE)]
        if suffix == "T1w":
            wanted += [{"suffix": "mask", "desc": "brain", "extension": ".nii.gz", "space": space} for space in (None, SPACE)]
            wanted += [{"suffix": "xfm", "extension": ".h5", "from": one, "to": other}
                       for one, other in (("T1w", SPACE), (SPACE, "T1w"))]  # fmt: skip
        for entity in wanted:
            filters = {key: value for key, value in entity.items() if value is not None}
            found = layout.get(**own, **filters)
            if "space" in entity and entity["space"] is None:
                found = [name for name in found if "space-" not in Path(name).name]
            if len(found) != 1:
                wrong.append(f"pybids finds {len(found)} files for {own | filters}")
    return wrong


def main() -> int:
    """Write the dataset, normalise its scans, and check the derivatives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=environment.REPOSITORY / "target" / "release" / "antsreg-gpu")
    parser.add_argument("--folder", type=Path, help="folder to work in, which stays [default: a temporary one]")
    arguments = parser.parse_args()
    environment.enter(REQUIREMENTS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.folder or Path(temporary)).resolve()
        raw, derivatives = folder / "raw", folder / "derivatives"
        make(raw)
        command = [arguments.program.resolve(), "normalise", raw, "-o", derivatives, *OPTIONS]
        subprocess.run([*command, "--device", "cpu", "--quiet"], check=True)
        wrong = [*judge(raw), *judge(derivatives), *find(raw, derivatives)]
        count = sum(1 for path in derivatives.rglob("*") if path.is_file())
    print("\n".join(wrong) if wrong else f"{len(scans())} images, {count} derivatives: no errors, all found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
