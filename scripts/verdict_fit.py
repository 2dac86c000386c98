#!/usr/bin/env python3
"""Fit the model of the verdict to made cases, and print how it judges people that it was not fitted on.

verdict_fit.py CASES.csv [--write MODEL.json] [--check]

CASES.csv is the table of scripts/verdict_cases.py. Cases between good and failed do not count; mirrored cases only give
the threshold of the mirror image. A logistic regression with a quadratic penalty is fitted to the measures, each as
its distance from the mean of good results in units of their standard deviation, clipped to ±6, and to the products of
any two of them. For each person, head or
animal, the model is also fitted without the cases that show it, and judges those: these figures are printed, with
Wilson's 95 % intervals. The thresholds of `sound` and `wrong` come from the probabilities of left-out cases: `sound`
is the probability that 1.5 % of the failures exceed, `wrong` the one below which 0.5 % of the good results lie.
`--check` only compares MODEL.json with what the table gives, and fails if they differ.

NumPy is the only package that is needed.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import importlib.util
import json
import re
import sys
from pathlib import Path

import environment

# The help is shown without packages.
if importlib.util.find_spec("numpy"):
    import numpy as np

MEASURES = [
    "information", "explained", "local", "local_warped", "overlap", "overlap_warped", "covered", "gain", "local_gain",
    "moved", "settled", "apart", "sharpness", "scale", "stretch", "structure", "deformable", "jacobian",
]  # fmt: skip
CLIP = 6.0
#: Weight of the quadratic penalty on the coefficients, of terms with a standard deviation of 1.
PENALTY = 3.0


def terms(distances: np.ndarray) -> np.ndarray:
    """Return the distances and the products of any two of them, a row for each case."""
    first, second = np.triu_indices(distances.shape[1])
    return np.hstack([distances, distances[:, first] * distances[:, second]])


def fit(measures: np.ndarray, good: np.ndarray) -> dict:
    """Fit a model to the cases; good results and failures have the same weight in total."""
    model = {"centre": measures[good].mean(0), "scale": measures[good].std(0) + 1e-3}
    found = terms(distances(model, measures))
    spread = found.std(0) + 1e-9
    found = np.hstack([np.ones((len(good), 1)), found / spread])
    weight = np.where(good, 0.5 / good.mean(), 0.5 / (1 - good.mean()))
    penalty = PENALTY * np.diag([0.0, *np.ones(len(spread))])
    beta = np.zeros(found.shape[1])
    for _ in range(100):
        probability = 1 / (1 + np.exp(-(found @ beta).clip(-30, 30)))
        gradient = found.T @ (weight * (good - probability)) - penalty @ beta
        curvature = (found * (weight * probability * (1 - probability))[:, None]).T @ found + penalty
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(beta)), gradient)
        beta += step
        if np.abs(step).max() < 1e-8:
            break
    beta[1:] /= spread
    return {**model, "beta": beta}


def distances(model: dict, measures: np.ndarray) -> np.ndarray:
    """Return the clipped distances of measures from the mean of good results."""
    return ((measures - model["centre"]) / model["scale"]).clip(-CLIP, CLIP)


def probabilities(model: dict, measures: np.ndarray) -> np.ndarray:
    """Return the probability that each result is right."""
    odds = model["beta"][0] + terms(distances(model, measures)) @ model["beta"][1:]
    return 1 / (1 + np.exp(-odds.clip(-30, 30)))


def interval(count: int, of: int) -> str:
    """Return a share in per cent with Wilson's 95 % interval."""
    if of == 0:
        return "-"
    z, share = 1.96, count / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * np.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    low, high = 100 * max(0.0, middle - half), 100 * min(1.0, middle + half)
    return f"{100 * share:.1f} % ({low:.1f} to {high:.1f}) of {of}"


def read(path: Path) -> list[dict]:
    """Read the table of cases."""
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
    with opened as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Fit, judge left-out people, write the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--write", type=Path, help="file of the model")
    parser.add_argument("--check", type=Path, help="file of the model, which is compared")
    typed = parser.parse_args()
    if not importlib.util.find_spec("numpy"):
        environment.enter()
    rows = read(typed.cases)
    mirrored = [row for row in rows if row["kind"] == "mirrored"]
    rows = [row for row in rows if row["kind"] != "mirrored" and row["label"] != "between"]
    measures = np.array([[float(row[name]) for name in MEASURES] for row in rows])
    good = np.array([row["label"] == "good" for row in rows])
    people = [set(row["people"].split("+")) for row in rows]
    left_out = np.full(len(rows), np.nan)
    for person in sorted(set().union(*people)):
        mine = np.array([person in shown for shown in people])
        model = fit(measures[~mine], good[~mine])
        # A case that shows two people is judged twice; the worse judgement counts.
        found = probabilities(model, measures[mine])
        worse = np.where(good[mine], np.fmin, np.fmax)
        left_out[mine] = [w(a, b) for w, a, b in zip(worse, left_out[mine], found, strict=True)]
    sound = float(np.quantile(left_out[~good], 0.985))
    wrong = float(min(np.quantile(left_out[good], 0.005), sound))
    model = fit(measures, good)
    of_good = np.array([float(row["mirror"]) for row in rows])[good]
    mirror = float(np.quantile(of_good, 0.995))
    print(f"{good.sum()} good results, {(~good).sum()} failures; each person left out in turn:")
    print(f"failures not called sound: {interval(int((left_out[~good] < sound).sum()), int((~good).sum()))}")
    print(f"good results called wrong: {interval(int((left_out[good] < wrong).sum()), int(good.sum()))}")
    look = (left_out[good] < sound) & (left_out[good] >= wrong)
    print(f"good results called look: {interval(int(look.sum()), int(good.sum()))}")
    for person in sorted(set().union(*people)):
        mine = np.array([person in shown for shown in people])
        missed = interval(int((left_out[mine & ~good] >= sound).sum()), int((mine & ~good).sum()))
        alarms = interval(int((left_out[mine & good] < sound).sum()), int((mine & good).sum()))
        print(f"  {person}: failures called sound {missed}; good results not called sound {alarms}")
    for kind in sorted({row["kind"] for row in rows}):
        mine = np.array([row["kind"] == kind for row in rows])
        missed = interval(int((left_out[mine & ~good] >= sound).sum()), int((mine & ~good).sum()))
        alarms = interval(int((left_out[mine & good] < sound).sum()), int((mine & good).sum()))
        print(f"  {kind}: failures called sound {missed}; good results not called sound {alarms}")
    found = sum(float(row["mirror"]) > mirror for row in mirrored)
    print(f"mirrored images found: {interval(found, len(mirrored))}; threshold {mirror:.3f}")
    listed = [
        {
            "name": name,
            "centre": float(f"{model['centre'][n]:.6g}"),
            "scale": float(f"{model['scale'][n]:.6g}"),
            "coefficient": float(f"{model['beta'][n + 1]:.6g}"),
            "usual": [float(f"{value:.4g}") for value in np.quantile(measures[good][:, n], [0.01, 0.99])],
        }
        for n, name in enumerate(MEASURES)
    ]
    of_products = iter(model["beta"][1 + len(MEASURES) :])
    count = len(MEASURES)
    rows_of_products = [[float(f"{next(of_products):.6g}") for _ in range(count - n)] for n in range(count)]
    text = (
        f"scripts/verdict_fit.py on {good.sum()} good results and {(~good).sum()} failures of {len(set().union(*people))} "
        "people, templates and animals, made by scripts/verdict_cases.py (cases.csv.gz)"
    )
    written = {
        "provenance": text,
        "intercept": float(f"{model['beta'][0]:.6g}"),
        "terms": listed,
        "products": rows_of_products,
        "sound": float(f"{sound:.4g}"),
        "wrong": float(f"{wrong:.4g}"),
        "mirror": float(f"{mirror:.4g}"),
    }
    # A list of numbers stands on one line.
    one_line = re.compile(r"\[[^\[\]{}]*\]")
    as_text = one_line.sub(lambda found: " ".join(found[0].split()), json.dumps(written, indent=2)) + "\n"
    if typed.write:
        typed.write.write_text(as_text)
    if typed.check and typed.check.read_text() != as_text:
        sys.exit(f"{typed.check}: not what {typed.cases} gives; run with --write")


if __name__ == "__main__":
    main()
