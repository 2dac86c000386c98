#!/usr/bin/env python3
"""Measure settings of the SyN stage by four measures at once, and draw the front of overlap against smoothness.

    cargo build --release
    scripts/front.py DATA --device cuda                     the presets, on the pairs of the figures
    scripts/front.py DATA --device cuda --draw 40 --seed 1  also settings drawn at random
    scripts/front.py --picture                              draws docs/images/front.svg from docs/front.json

DATA holds oasis/ and landmarks/ as docs/benchmarks.md says. The measures are those of files alone: mean Jaccard of the
common labels, standard deviation of log J in the brain, share of the brain with J < 0.5 or J > 2, landmark error (TRE), and
folded voxels. Results are added to docs/front.json, each with commit, device and date. Figures of other programs there are
quoted, with their source.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import environment
from environment import REPOSITORY

FRONT = REPOSITORY / "docs" / "front.json"
PICTURE = REPOSITORY / "docs" / "images" / "front.svg"
#: Fixed and moving person of each pair: the four pairs of the benchmark, then the six of three people with landmarks.
PAIRS = [("1000", "1001"), ("1000", "1002"), ("1002", "1006"), ("1007", "1104")] + [
    (fixed, moving) for fixed in ("1003", "1006", "1013") for moving in ("1003", "1006", "1013") if fixed != moving
]
#: Pairs that no setting was chosen on.
LEFT_OUT = [("1104", "1000"), ("1001", "1007"), ("1007", "1002"), ("1003", "1104"), ("1104", "1006"), ("1013", "1001")]
PRESETS = ["default", "best", "smooth", "fast"]
#: Values of options that --draw chooses from.
DRAWN = {
    "update-variance": [1.5, 2, 2.5, 3, 4],
    "total-variance": [0, 0.1, 0.2, 0.3, 0.4, 0.6],
    "reinvert-every": ["1", "1x1x2x2", "1x1x4x4"],
    "gradient-step": [0.2, 0.3, 0.4, 0.5, 0.6],
    "noise": [0.005, 0.01, 0.02, 0.03, 0.05],
    "edge-weight": [0, 0.2, 0.4, 0.6],
    "boundary-contrast": [0, 0.2, 0.35, 0.5],
    "cc-radius": [2, 3, 4],
    "iterations": ["100x70x50x20", "50x40x60x20", "50x40x120x60"],
    "cost": ["cr", "nmi"],
}


def main() -> int:
    """Measure or draw, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, help="folder of the volumes")
    parser.add_argument("--program", type=Path, default=REPOSITORY / "target" / "release" / "antsreg-gpu")
    parser.add_argument("--device", default="auto", help="device of the registrations [default: auto]")
    parser.add_argument("--presets", nargs="*", default=PRESETS, help=f"presets to measure [default: {' '.join(PRESETS)}]")
    parser.add_argument("--draw", type=int, default=0, help="number of settings drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="another seed draws other settings")
    parser.add_argument("--left-out", action="store_true", help="measure on pairs that no setting was chosen on")
    parser.add_argument("--jobs", type=int, default=4, help="registrations at once [default: 4]")
    parser.add_argument("--commit", help="commit of the program [default: that of this repository]")
    parser.add_argument("--out", type=Path, default=FRONT, help="results [default: docs/front.json]")
    parser.add_argument("--picture", action="store_true", help="draw the picture of the results")
    typed = parser.parse_args()
    if any(importlib.util.find_spec(name) is None for name in ("nibabel", "scipy", "matplotlib")):
        environment.enter()
    if typed.data:
        if not typed.program.exists():
            parser.error(f"{typed.program} is missing: cargo build --release")
        measure_all(typed)
    elif not typed.picture:
        parser.error("give DATA, or --picture")
    if typed.picture:
        draw(json.loads(typed.out.read_text()))
    return 0


def measure_all(typed: argparse.Namespace) -> None:
    """Measure every setting and add it to the file of results."""
    settings = {name: ["--preset", name] for name in typed.presets}
    chance = random.Random(typed.seed)
    for _ in range(typed.draw):
        words = [word for name, values in DRAWN.items() for word in (f"--{name}", str(chance.choice(values)))]
        settings[" ".join(words)] = words
    commit = typed.commit or subprocess.check_output(["git", "describe", "--always", "--dirty"], text=True).strip()
    pairs = LEFT_OUT if typed.left_out else PAIRS
    results = json.loads(typed.out.read_text()) if typed.out.exists() else []
    with ProcessPoolExecutor(typed.jobs) as pool:
        for name, words in settings.items():
            jobs = [(typed.program.resolve(), typed.device, typed.data, pair, words) for pair in pairs]
            found = list(pool.map(measure, jobs))
            row = {"setting": name, "pairs": "left out" if typed.left_out else "chosen on"}
            for key in ("jaccard", "sd_log_j", "outside", "tre"):
                values = [one[key] for one in found if key in one]
                if values:
                    row[key] = round(sum(values) / len(values), 4)
            row["folds"] = sum(one["folds"] for one in found)
            row |= {"commit": commit, "device": found[0]["device"], "date": str(datetime.date.today())}
            print(json.dumps(row), flush=True)
            same = ("setting", "pairs", "device")
            results = [one for one in results if [one.get(key) for key in same] != [row[key] for key in same]] + [row]
            typed.out.write_text("[\n" + ",\n".join(json.dumps(one) for one in results) + "\n]\n")


def measure(job: tuple[Path, str, Path, tuple[str, str], list[str]]) -> dict:
    """Register one pair and measure its warp."""
    import numpy as np
    from benchmark.data import Data
    from benchmark.images import read_image, read_labels, read_mapping, transform
    from benchmark.scores import carried_jaccard, jacobian_determinant

    program, device, folder, (fixed, moving), words = job
    data = Data(folder)
    with tempfile.TemporaryDirectory() as work:
        prefix = f"{work}/p_"
        images = ["-f", data.t1(fixed), "-m", data.t1(moving), "-o", prefix]
        outputs = ["--no-warped", "--no-inverse", "--quiet"]
        subprocess.run([program, "register", "--device", device, *images, *outputs, *words], check=True)
        mapping = read_mapping(prefix)
        used = json.loads(Path(f"{prefix}record.json").read_text())["device"]
    brain = read_image(data.t1(fixed)).brain()
    for axis in range(3):
        np.moveaxis(brain, axis, 0)[[0, -1]] = False
    inside = jacobian_determinant(mapping.warp)[brain]
    labels = [read_labels(data.labels(person)) for person in (fixed, moving)]
    found = {
        "jaccard": carried_jaccard(*labels, mapping, data.common_labels()),
        "sd_log_j": float(np.log(inside.clip(1e-3)).std()),
        "outside": float(((inside < 0.5) | (inside > 2)).mean()),
        "folds": int((inside <= 0).sum()),
        "device": used.get("name", "processor"),
    }
    people = json.loads((folder / "landmarks" / "oasis_afids.json").read_text())["people"]
    if fixed in people and moving in people:
        names = sorted(people[fixed].keys() & people[moving].keys(), key=int)
        points, truth = (np.array([people[person][name] for name in names]) for person in (fixed, moving))
        mapped = transform(mapping.affine, points + mapping.warp.at(points))
        found["tre"] = float(np.linalg.norm(mapped - truth, axis=1).mean())
    return found


def draw(results: list[dict]) -> None:
    """Draw overlap against smoothness: presets and other programs by name, other settings as dots."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    shown = [row for row in results if row.get("pairs") == "chosen on"]
    drawn = [row for row in shown if row["setting"].startswith("--")]
    axes.scatter([row["sd_log_j"] for row in drawn], [row["jaccard"] for row in drawn], s=12, color="0.6", label="other settings")
    for row in shown:
        if row not in drawn:
            colour = "tab:orange" if row.get("quoted") else "tab:blue"
            axes.scatter(row["sd_log_j"], row["jaccard"], color=colour)
            axes.annotate(row["setting"], (row["sd_log_j"], row["jaccard"]), xytext=(5, -10), textcoords="offset points")
    axes.set(xlabel="standard deviation of log J (smoother to the left)", ylabel="mean Jaccard")
    axes.grid(alpha=0.3)
    if drawn:
        axes.legend()
    figure.savefig(PICTURE, metadata={"Date": None})
    print(PICTURE)


if __name__ == "__main__":
    sys.exit(main())
