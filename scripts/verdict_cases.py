#!/usr/bin/env python3
"""Make registrations that are right or wrong, and tabulate the measures of their verdicts with their errors.

verdict_cases.py DATA OUT [--seed N] [--count N] [--program PROGRAM] [--device DEVICE] [--jobs N] [--minutes M]
verdict_cases.py DATA OUT --prepare

DATA is a folder like the project's data sets (scripts/verdict/sources.py names the files). Each case is a pair of
images with a disturbance: none, a header that is turned, a wrong start without a search, a wrong cost, a part that is
cut off, another species, noise, a phantom, a mirror image. The program registers it. The error is the mean distance
between where the result and the truth map the points of the fixed object, as a share of the object's extent. The truth
is known for images of one person. For two people it is the result from the right headers, if two costs agree on it
within a hundredth of the extent. OUT/cases.csv gets a row for each case; scripts/verdict_fit.py reads it. `--prepare`
only writes copies of the images with voxels of 2 mm to OUT, which are small enough to be carried to another machine.

NumPy is the only package that is needed.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import os
import shutil
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import environment

# The help is shown without packages.
if importlib.util.find_spec("numpy"):
    import numpy as np
    from verdict import volume
    from verdict.made import Case, Store, extent, make, points, registered
    from verdict.sources import AFFINES, IMAGES

#: Errors up to this share of the extent are good, errors from the second on are failures.
GOOD, FAILED = 0.0075, 0.025


def arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the data sets")
    parser.add_argument("out", type=Path, help="folder of the table")
    parser.add_argument("--prepare", action="store_true", help="only write small copies of the images")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1200, help="number of cases [default: 1200]")
    parser.add_argument("--first", type=int, default=0, help="number of the first case [default: 0]")
    parser.add_argument("--program", default="target/release/antsreg-gpu")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--minutes", type=float, default=1e9, help="start no case after this time")
    parser.add_argument("--coarse", action="store_true", help="use voxels of 4 mm, for machines without a GPU")
    return parser.parse_args()


def prepare(data: Path, out: Path) -> None:
    """Write small copies of all images."""
    store = Store(data)
    for name, (path, _) in IMAGES.items():
        image = store.image(name)
        to = out / f"{path}.nii.gz"
        to.parent.mkdir(parents=True, exist_ok=True)
        scaled = image.with_voxels(np.round(image.voxels / max(image.voxels.max(), 1e-9) * 4000))
        volume.write(to, scaled)
    for path in AFFINES.values():
        shutil.copy(data / path, out / path)


def reference(program: str, case: Case, folder: Path, place: list[str]) -> np.ndarray | None:
    """Return where the fixed points lie in the moving image by the result from the right headers; `None` if in doubt."""
    model = case.options[case.options.index("-t") + 1]
    found = []
    for cost in ("cr", "nmi"):
        right = Case(case.number, case.kind, case.names, case.fixed, case.moving.moved(np.linalg.inv(case.header)), [], None)
        model_ = ["-t", "syn" if model == "syn-only" else model, "--cost", cost]
        result = registered(program, right, folder, [*model_, *place])
        if result is None:
            return None
        found.append(result[1])
    if np.linalg.norm(found[0] - found[1], axis=1).mean() > 0.01 * extent(case.fixed):
        return None
    return found[0] @ case.header[:3, :3].T + case.header[:3, 3]


def one(number: int, typed: argparse.Namespace, stop: float) -> dict | None:
    """Make, run and score one case."""
    if time.monotonic() > stop:
        return None
    store = STORES.setdefault(str(typed.data), Store(typed.data))
    case = make(store, number, typed.seed)
    if typed.coarse:
        case.fixed, case.moving = (volume.halved(image, 0.0) for image in (case.fixed, case.moving))
    place = ["--device", typed.device, "--threads", "1"]
    with tempfile.TemporaryDirectory() as folder:
        result = registered(typed.program, case, Path(folder), [*case.options, *place])
        if result is None:
            return None
        record, at = result
        error = 1.0
        if not case.kind.nonsense:
            if case.truth is not None:
                world = case.fixed.to_world
                fixed = points(case.fixed) @ world[:3, :3].T + world[:3, 3]
                truth = case.header @ case.truth
                expected = fixed @ truth[:3, :3].T + truth[:3, 3]
            else:
                expected = reference(typed.program, case, Path(folder), place)
            if expected is None:
                return None
            error = float(np.linalg.norm(at - expected, axis=1).mean() / extent(case.fixed))
    verdict = record["verdict"]
    people = sorted({IMAGES[name][1] for name in case.names})
    label = "good" if error <= GOOD else "failed" if error >= FAILED else "between"
    row = {
        "case": number,
        "kind": case.kind.name,
        "fixed": case.names[0],
        "moving": case.names[1],
        "people": "+".join(people),
        "options": " ".join(case.options),
        "note": case.note,
        "error": f"{error:.5f}",
        "label": label,
        "verdict": verdict["judgement"],
        "probability": f"{verdict['probability']:.4f}",
    }
    return {**row, **{name: f"{value:.5g}" for name, value in (verdict.get("measures") or {}).items()}}


STORES: dict[str, Store] = {}


def main() -> None:
    """Make the table."""
    typed = arguments()
    if not importlib.util.find_spec("numpy"):
        environment.enter()
    if typed.prepare:
        prepare(typed.data, typed.out)
        return
    typed.out.mkdir(parents=True, exist_ok=True)
    stop = time.monotonic() + 60 * typed.minutes
    began = time.monotonic()
    numbers = range(typed.first, typed.first + typed.count)
    rows = []
    with ProcessPoolExecutor(typed.jobs) as pool, (typed.out / "cases.csv").open("w", newline="") as file:
        writer = None
        waiting = [pool.submit(one, number, typed, stop) for number in numbers]
        for number, future in zip(numbers, waiting, strict=True):
            try:
                row = future.result()
            except (ValueError, OSError, KeyError) as error:
                print(f"case {number}: {error!r}")
                continue
            if row is None or "information" not in row:
                continue
            if writer is None:
                writer = csv.DictWriter(file, list(row), lineterminator="\n")
                writer.writeheader()
            writer.writerow(row)
            file.flush()
            rows.append(row)
    for label in ("good", "between", "failed"):
        kinds = [row["kind"] for row in rows if row["label"] == label]
        print(f"{label}: {len(kinds)}", {kind: kinds.count(kind) for kind in sorted(set(kinds))})
    print(f"{len(rows)} of {typed.count} cases in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
