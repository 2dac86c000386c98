#!/usr/bin/env python3
"""Measure how far an image of another contrast is normalised from the T1 image of the same head.

    scripts/contrast_bars.py DATA [--only NAME] [--device DEVICE] [--program PROGRAM] [--options OPTION ...]

`normalise` runs on the T1 of each head in DATA, and on its PD, T2 or FLAIR alone. The script prints how far the two
results put points of the template's brain from each other, in mm: mean and 95th percentile. For comparison it prints
the same for the T1 by default and by `--cost nmi --metric mattes`. The limits are 2.0 mm for the mean and 5.0 mm for the
percentile, or 1.3 times the distances of the comparison if these are larger. The exit code is 1 if one is exceeded.
--options are further options of `normalise` for the images that are not T1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import environment

# Name of the case, T1 and other image in DATA, BIDS suffix of the other image, and ITK transform that resamples the T1
# on the other image. An empty name means exactly aligned images; None means that the program finds a rigid transform.
CASES = [
    ("head_a_PD", "heads/head_a_t1", "heads/head_a_pd", "PDw", None),
    ("p04_FLAIR", "heads/p04_t1", "heads/p04_flair", "FLAIR", "heads/p04_t1_to_flair.txt"),
    ("p12_FLAIR", "heads/p12_t1", "heads/p12_flair", "FLAIR", "heads/p12_t1_to_flair.txt"),
    ("sri24_T2", "sri24/spgr", "sri24/late", "T2w", ""),
    ("sri24_PD", "sri24/spgr", "sri24/erly", "PDw", ""),
]
MEAN_MM, MOST_MM, OF_COMPARISON = 2.0, 5.0, 1.3
ANOTHER_WAY = ["--cost", "nmi", "--metric", "mattes"]


def written(typed: argparse.Namespace, name: str, suffix: str, folder: Path) -> Path:
    """Write an image of DATA as a volume whose name ends in its BIDS suffix. Returns its path."""
    import nibabel as nib
    from nibabel.processing import resample_to_output

    path = folder / f"{Path(name).name}_{suffix}.nii"
    if not path.exists():
        image = nib.squeeze_image(nib.load(typed.data / f"{name}.nii.gz"))
        nib.save(resample_to_output(image, typed.spacing, order=1) if typed.spacing > 0 else image, path)
    return path


def run(command: list) -> None:
    """Run a program without its output."""
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)


def normalised(typed: argparse.Namespace, scan: Path, name: str, options: list[str], folder: Path) -> Path:
    """Normalise a scan. Returns the transform that maps points of the template to points of the scan."""
    prefix = folder / f"{scan.stem}_{name}_"
    suffix = scan.stem.rsplit("_", 1)[1]
    made = sorted(folder.glob(f"{prefix.name}from-{suffix}_to-*_xfm.h5"))
    if not made:
        command = [typed.program, "normalise", scan, "--prefix", prefix, "--device", typed.device]
        run([*command, "--no-report", "--quiet", *options])
        made = sorted(folder.glob(f"{prefix.name}from-{suffix}_to-*_xfm.h5"))
    return made[0]


def rigid(typed: argparse.Namespace, one: Path, other: Path, given: str | None, folder: Path) -> list:
    """Transforms that map points of one image to points of another image of the same head."""
    if given is not None:
        return [f"[{typed.data / given},1]"] if given else []
    prefix = folder / f"{one.stem}_{other.stem}_"
    affine = prefix.with_name(prefix.name + "0GenericAffine.mat")
    if not affine.exists():
        command = [typed.program, "register", "-f", one, "-m", other, "-o", prefix, "--device", typed.device]
        run([*command, "--preset", "multimodal", "--brain", "none", "--no-warped", "--quiet"])
    return [affine]


def mapped(typed: argparse.Namespace, points, transforms: list, folder: Path):
    """Map points, RAS mm, by transforms, of which the first acts first."""
    import numpy as np

    table, out = folder / "points.csv", folder / "mapped.csv"
    rows = [",".join(f"{value:.6f}" for value in row) for row in points * [-1, -1, 1]]
    table.write_text("\n".join(["x,y,z", *rows]) + "\n")
    command = [typed.program, "apply", "--points", table, "-o", out]
    for transform in transforms:
        command += ["-t", transform]
    run(command)
    return np.loadtxt(out, delimiter=",", skiprows=1)[:, :3] * [-1, -1, 1]


def template_points(typed: argparse.Namespace):
    """Points of the template's brain, RAS mm."""
    import nibabel as nib
    import numpy as np

    image = nib.load(typed.data / "heads" / "mni2009c_2mm_brainmask.nii.gz")
    index = np.argwhere(np.asanyarray(image.dataobj) > 0)[::29]
    return index @ image.affine[:3, :3].T + image.affine[:3, 3]


def main() -> None:
    """Normalise all cases and report distances above the limits."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("data", type=Path, metavar="DATA", help="folder with the folders heads and sri24")
    made.add_argument("--only", help="measure only cases whose names contain this text")
    made.add_argument("--spacing", type=float, default=0, metavar="MM", help="voxel size [default: as it is]")
    made.add_argument("--device", default="auto", help="device [default: auto]")
    program = environment.REPOSITORY / "target" / "release" / "antsreg-gpu"
    made.add_argument("--program", type=Path, default=program, help="the program")
    made.add_argument("--folder", type=Path, help="folder for the results, which are kept [default: temporary]")
    made.add_argument("--name", default="alone", help="name of these options in the folder of kept results")
    made.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="further options of normalise")
    typed = made.parse_args()
    environment.enter()
    import numpy as np

    def apart(a, b) -> tuple[float, float]:
        distances = np.linalg.norm(a - b, axis=1)
        return float(distances.mean()), float(np.percentile(distances, 95))

    faults, all_figures = [], {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = typed.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        points = template_points(typed)
        for name, t1_name, other_name, suffix, between in CASES:
            if typed.only and typed.only not in name:
                continue
            t1, other = written(typed, t1_name, "T1w", folder), written(typed, other_name, suffix, folder)
            to_other = rigid(typed, t1, other, between, folder)
            ways = [normalised(typed, t1, "usual", [], folder), normalised(typed, t1, "other", ANOTHER_WAY, folder)]
            alone = normalised(typed, other, typed.name, typed.options, folder)
            of_t1, another = (mapped(typed, points, [way, *to_other], folder) for way in ways)
            mean, most = apart(of_t1, mapped(typed, points, [alone], folder))
            own_mean, own_most = apart(of_t1, another)
            all_figures[name] = {"mean_mm": mean, "p95_mm": most, "t1_mean_mm": own_mean, "t1_p95_mm": own_most}
            line = f"{name}: {mean:.2f} mm, 95 % {most:.2f}; the T1 two ways: {own_mean:.2f}, 95 % {own_most:.2f}"
            print(line, flush=True)
            limits = max(MEAN_MM, OF_COMPARISON * own_mean), max(MOST_MM, OF_COMPARISON * own_most)
            faults += [line] if mean > limits[0] or most > limits[1] else []
        (folder / f"{typed.name}.json").write_text(json.dumps(all_figures, indent=1) + "\n")
    if faults:
        sys.exit("above the limits:\n" + "\n".join(faults))


if __name__ == "__main__":
    main()
