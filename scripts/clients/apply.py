"""Compares antsApplyTransforms with that of real ANTs on random command lines: success, files, headers and values."""

from __future__ import annotations

import argparse
import random
import subprocess
from pathlib import Path

from clients import comparison, shapes
from clients.oracle import Oracle

INTERPOLATIONS = [
    "Linear", "NearestNeighbor", "BSpline", "BSpline[1]", "BSpline[2]", "BSpline[4]", "BSpline[5]", "Gaussian",
    "Gaussian[1.2]", "Gaussian[1x2x1.5,2]", "CosineWindowedSinc", "WelchWindowedSinc", "HammingWindowedSinc",
    "LanczosWindowedSinc", "BlackmanWindowedSinc", "linear", "nearestNeighbor", "lanczosWindowedSinc",
]  # fmt: skip
OF_LABELS = ["NearestNeighbor", "MultiLabel", "MultiLabel[1.5,3]", "GenericLabel", "GenericLabel[Linear]"]
TYPES = ["char", "uchar", "short", "int", "float", "double", "default", "other"]
KINDS = [
    *["scalar"] * 6, "labels", "series", "series", "vector", "tensor", "slice", "field", "affine", "inverse",
    "composite", "wrong",
]  # fmt: skip
WRONG = [
    ("-t", "nosuch.mat"), ("-n", "cubic"), ("-e", "9"), ("--nosuch", "1"), ("-i", "series.nii.gz"),
    ("-t", "[warp.nii.gz,1]"), ("-f", "abc"), ("-n", "BSpline[7]"), ("-d", "7"),
]  # fmt: skip
STEPS = ["a.txt", "[a.txt,1]", "[ rigid.mat, 0 ]", "[rigid.tfm,1]", "identity"]
FIELDS = ["warp.nii.gz", "warp2.nii.gz", "both.h5"]
LONG = {
    "-d": "--dimensionality", "-i": "--input", "-r": "--reference-image", "-n": "--interpolation",
    "-e": "--input-image-type", "-u": "--output-data-type",
}  # fmt: skip


def check(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Run every command line with antsreg-gpu and with real ANTs, and compare the outputs."""
    inputs = folder / "inputs"
    inputs.mkdir()
    shapes.make(inputs)
    generator, real = random.Random(typed.seed), Oracle()
    faults, succeeded = [], 0
    for number in range(typed.count):
        kind, words, output = line(generator)
        places = [folder / f"{number}{which}" for which in ("ours", "theirs")]
        done, said = [], ""
        for place in places:
            place.mkdir()
            own = [
                str(place / output) if word == output else word.replace(output, str(place / output)) for word in words
            ]
            if place is places[0]:
                ours = subprocess.run(
                    ["antsApplyTransforms", *own], cwd=inputs, capture_output=True, text=True, check=False
                )
                done.append(ours.returncode == 0)
                said = ours.stderr.strip()
            else:
                done.append(real.run(["antsApplyTransforms", *own], inputs))
        succeeded += done[1] and any(places[1].iterdir())
        chosen = kind == "labels" or any(word.lower().startswith("nearest") for word in words)
        found = comparison.folders(*places, done, comparison.BORDER if chosen else 0.0)
        if ours.returncode not in (0, 1, 2):
            found = f"ends with {ours.returncode}"
        if found:
            faults.append(f"{number} ({kind}): antsApplyTransforms {' '.join(words)}: {found}; {said}")
            print(faults[-1], flush=True)
    print(f"{typed.count} command lines, {succeeded} with an output of ANTs, {len(faults)} that differ")
    return faults if succeeded else [*faults, "ANTs wrote nothing at all"]


def line(generator: random.Random) -> tuple[str, list[str], str]:
    """Make a random command line of antsApplyTransforms. Returns its kind (such as `labels`), words and output file."""
    choose, chance = generator.choice, generator.random
    kind = choose(KINDS)
    words = {"-d": "3", "-r": choose(["ref.nii.gz", "fine.nii.gz", "a.nii.gz", "codes.nii.gz"])}
    words["-i"] = choose(["a.nii.gz", "short.nii", "codes.nii.gz"])
    chain = generator.choices(STEPS + FIELDS, k=generator.randint(0, 3))
    interpolation = choose(INTERPOLATIONS)
    output = shown = "out.nii.gz" if chance() < 0.8 else "out.nii"
    if kind == "labels":
        words["-i"], interpolation = "labels.nii.gz", choose(OF_LABELS)
    elif kind == "series":
        words |= {"-i": "series.nii.gz", "-e": choose(["3", "time-series"])}
        if chance() < 0.3:
            words["--time-index"] = "2"
    elif kind == "vector":
        words |= {"-i": "vectors.nii.gz", "-e": choose(["1", "vector"])}
    elif kind == "tensor":
        words |= {"-i": "tensors.nii.gz", "-e": "2"}
        interpolation = choose(["Linear", "NearestNeighbor"])
    elif kind == "slice":
        words |= {"-d": "2", "-i": "slice.nii.gz", "-r": "slice_ref.nii.gz"}
        chain = generator.choices(["slice.txt", "[slice.txt,1]", "identity"], k=generator.randint(0, 2))
        interpolation = choose(["Linear", "NearestNeighbor", "BSpline[2]", "HammingWindowedSinc", "Gaussian"])
    elif kind == "field":
        shown = choose([f"[{output},1]", f"[ {output}, 1 ]", f"DisplacementField[{output}]"])
    elif kind in ("affine", "inverse"):
        chain = generator.choices(STEPS, k=generator.randint(1, 3))
        output = choose(["out.mat", "out.txt"])
        shown = f"Linear[{output},{int(kind == 'inverse')}]"
        del words["-i"]
    elif kind == "composite":
        output = "out.h5"
        shown = f"CompositeTransform[{output}]"
        chain = generator.choices(STEPS[:4] + FIELDS[:2], k=generator.randint(1, 3))
        del words["-i"]
    elif kind == "wrong":
        flag, value = choose(WRONG)
        words |= {"-n": interpolation} | {flag: value}
    if "-i" in words and "-n" not in words and chance() < 0.8:
        words["-n"] = interpolation
    if kind in ("scalar", "series", "vector") and chance() < 0.5:
        words["-u"] = choose(TYPES)
    if chance() < 0.3:
        words["--float"] = choose(["0", "1"])
    if chance() < 0.3 and kind != "tensor" and "-f" not in words:
        words[choose(["-f", "--default-value"])] = choose(["0", "3", "17.5", "-2"])
    pairs = [*words.items(), ("-o", shown)]
    generator.shuffle(pairs)
    arguments = []
    for flag, value in pairs:
        arguments += [LONG.get(flag, flag) if chance() < 0.3 else flag, *value.split(" ")]
    for step in chain:
        arguments += [choose(["-t", "--transform"]), *step.split(" ")]
    return kind, arguments, output
