#!/usr/bin/env python3
"""Compare antsApplyTransforms of antsreg-gpu with ANTs' own, out of the antspyx wheel, on generated command lines.

Both run every line. They must agree in success or failure, in the files that appear, in the headers of images, and in
their values to 0.1 % of the range. Labels at the border of two regions may differ where both have the same weight: one
voxel in a thousand.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import environment

if __name__ == "__main__":
    environment.enter()

import nibabel as nib  # noqa: E402
import numpy as np  # noqa: E402
import SimpleITK as sitk  # noqa: E402
from ants.internal import get_lib_fn  # noqa: E402

INTERPOLATIONS = [
    "Linear", "NearestNeighbor", "BSpline", "BSpline[1]", "BSpline[2]", "BSpline[4]", "BSpline[5]", "Gaussian",
    "Gaussian[1.2]", "Gaussian[1x2x1.5,2]", "CosineWindowedSinc", "WelchWindowedSinc", "HammingWindowedSinc",
    "LanczosWindowedSinc", "BlackmanWindowedSinc", "linear", "nearestNeighbor", "lanczosWindowedSinc",
]  # fmt: skip
OF_LABELS = ["NearestNeighbor", "MultiLabel", "MultiLabel[1.5,3]", "GenericLabel", "GenericLabel[Linear]"]
TYPES = ["char", "uchar", "short", "int", "float", "double", "default", "other"]


def affine(spacing, origin, angles=(0, 0, 0), flip=()):
    matrix = np.eye(3)
    for axis, angle in enumerate(angles):
        c, s = np.cos(angle), np.sin(angle)
        turn = np.eye(3)
        i, j = [(1, 2), (0, 2), (0, 1)][axis]
        turn[i, i], turn[j, j], turn[i, j], turn[j, i] = c, c, -s, s
        matrix = matrix @ turn
    for axis in flip:
        matrix[:, axis] *= -1
    whole = np.eye(4)
    whole[:3, :3], whole[:3, 3] = matrix @ np.diag(spacing), origin
    return whole


def save(name, array, to_world, codes=(1, 1), intent=None, second=None):
    image = nib.Nifti1Image(array, to_world)
    image.header.set_qform(to_world if second is None else second, codes[0])
    image.header.set_sform(to_world, codes[1])
    if intent:
        image.header.set_intent(intent)
    nib.save(image, name)


def smooth(rng, shape, scale=100.0):
    """Blobs, so that images have structure at the scale of several voxels."""
    array = rng.random(shape)
    for axis in range(min(3, len(shape))):
        array = (np.roll(array, 1, axis) + 2 * array + np.roll(array, -1, axis)) / 4
    return (scale * (array - array.min()) / np.ptp(array)).astype(np.float32)


def write_transform(name, kind, parameters, fixed):
    join = lambda numbers: " ".join(map(repr, map(float, numbers)))
    Path(name).write_text(
        f"#Insight Transform File V1.0\n#Transform 0\nTransform: {kind}\nParameters: {join(parameters)}\n"
        f"FixedParameters: {join(fixed)}\n"
    )


def make_data():
    rng = np.random.default_rng(7)
    a = affine([2, 2, 2.5], [-20, -30, 5], (0.2, -0.1, 0.3))
    b = affine([3, 3, 3], [-18, -26, 4], (0, 0.2, 0), flip=[0])
    shape = (14, 16, 12)
    save("a.nii.gz", smooth(rng, shape), a)
    save("short.nii", (10 * smooth(rng, shape)).astype(np.int16), a)
    save("codes.nii.gz", smooth(rng, shape), a, (1, 2), second=affine([2, 2, 2.5], [-17, -33, 2], (0.1, 0, 0.3)))
    save("labels.nii.gz", np.floor(smooth(rng, shape) / 20).astype(np.uint8), a)
    save("series.nii.gz", smooth(rng, shape + (4,)), a)
    save("vectors.nii.gz", smooth(rng, shape + (1, 3), 4.0) - 2, a, intent="vector")
    root = rng.random(shape + (3, 3)) * 0.2
    tensor = np.einsum("...ij,...kj->...ik", root, root) + 0.1 * np.eye(3)
    places = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)]
    tensors = np.stack([tensor[..., i, j] for i, j in places], -1)[..., None, :].astype(np.float32)
    save("tensors.nii.gz", tensors, a, intent="symmetric matrix")
    save("ref.nii.gz", smooth(rng, (10, 12, 9)), b)
    save("fine.nii.gz", smooth(rng, (20, 22, 15)), affine([1.5, 1.5, 2], [-19, -28, 6], (0.1, 0, 0)))
    save("warp.nii.gz", smooth(rng, (10, 12, 9, 1, 3), 6.0) - 3, b, intent="vector")
    save("warp2.nii.gz", smooth(rng, shape + (1, 3), 6.0) - 3, a, intent="vector")
    write_transform("a.txt", "AffineTransform_double_3_3",
                    [1.05, 0.1, 0, -0.08, 0.95, 0.02, 0.01, 0, 1.1, 2, -1.5, 0.7], [1, 2, 3])  # fmt: skip
    write_transform("rigid.tfm", "Euler3DTransform_double_3_3", [0.1, -0.05, 0.2, 1, -2, 3], [5, 6, 7, 0])
    sitk.WriteTransform(sitk.ReadTransform("rigid.tfm"), "rigid.mat")
    field = sitk.Cast(sitk.ReadImage("warp.nii.gz", sitk.sitkVectorFloat64), sitk.sitkVectorFloat64)
    both = sitk.CompositeTransform([sitk.ReadTransform("a.txt"), sitk.DisplacementFieldTransform(field)])
    sitk.WriteTransform(both, "both.h5")
    save_slice("slice.nii.gz", smooth(rng, (18, 15)), [2, 2.2])
    save_slice("slice_ref.nii.gz", smooth(rng, (12, 14)), [2.5, 2.1])
    write_transform("slice.txt", "AffineTransform_double_2_2", [1.05, 0.1, -0.08, 0.95, 2, -1.5], [10, 12])


def save_slice(name, array, spacing):
    image = sitk.GetImageFromArray(array.T)
    image.SetSpacing(spacing)
    image.SetOrigin([1.5, -2])
    sitk.WriteImage(image, name)


def line(random):
    """A command line, and the output it names."""
    kind = random.choice(["scalar"] * 6 + ["labels", "series", "series", "vector", "tensor", "slice", "field", "affine",
                                           "inverse", "composite", "wrong"])  # fmt: skip
    words = {"-d": "3", "-r": random.choice(["ref.nii.gz", "fine.nii.gz", "a.nii.gz", "codes.nii.gz"])}
    image = random.choice(["a.nii.gz", "short.nii", "codes.nii.gz"])
    steps = ["a.txt", "[a.txt,1]", "[ rigid.mat, 0 ]", "[rigid.tfm,1]", "identity"]
    fields = ["warp.nii.gz", "warp2.nii.gz", "both.h5"]
    chain = random.choices(steps + fields, k=random.randint(0, 3))
    interpolation = random.choice(INTERPOLATIONS)
    output = "out.nii.gz" if random.random() < 0.8 else "out.nii"
    shown = output
    words["-i"] = image
    if kind == "labels":
        words["-i"], interpolation = "labels.nii.gz", random.choice(OF_LABELS)
    elif kind == "series":
        words |= {"-i": "series.nii.gz", "-e": random.choice(["3", "time-series"])}
        if random.random() < 0.3:
            words["--time-index"] = "2"
    elif kind == "vector":
        words |= {"-i": "vectors.nii.gz", "-e": random.choice(["1", "vector"])}
    elif kind == "tensor":
        words |= {"-i": "tensors.nii.gz", "-e": "2"}
        interpolation = random.choice(["Linear", "NearestNeighbor"])
    elif kind == "slice":
        words |= {"-d": "2", "-i": "slice.nii.gz", "-r": "slice_ref.nii.gz"}
        chain = random.choices(["slice.txt", "[slice.txt,1]", "identity"], k=random.randint(0, 2))
        interpolation = random.choice(["Linear", "NearestNeighbor", "BSpline[2]", "HammingWindowedSinc", "Gaussian"])
    elif kind == "field":
        shown = random.choice([f"[{output},1]", f"[ {output}, 1 ]", f"DisplacementField[{output}]"])
    elif kind in ("affine", "inverse"):
        chain = random.choices(steps, k=random.randint(1, 3))
        output = random.choice(["out.mat", "out.txt"])
        shown = f"Linear[{output},{int(kind == 'inverse')}]"
        del words["-i"]
    elif kind == "composite":
        output = "out.h5"
        shown = f"CompositeTransform[{output}]"
        chain = random.choices(steps[:4] + fields[:2], k=random.randint(1, 3))
        del words["-i"]
    elif kind == "wrong":
        wrong = random.choice([("-t", "nosuch.mat"), ("-n", "cubic"), ("-e", "9"), ("--nosuch", "1"), ("-i", "series.nii.gz"),
                               ("-t", "[warp.nii.gz,1]"), ("-f", "abc"), ("-n", "BSpline[7]"), ("-d", "7")])  # fmt: skip
        words |= {"-n": interpolation} | {wrong[0]: wrong[1]}
    if "-i" in words and "-n" not in words and random.random() < 0.8:
        words["-n"] = interpolation
    if kind in ("scalar", "series", "vector") and random.random() < 0.5:
        words["-u"] = random.choice(TYPES)
    if random.random() < 0.3:
        words[random.choice(["--float"])] = random.choice(["0", "1"])
    if random.random() < 0.3 and kind != "tensor" and "-f" not in words:
        words[random.choice(["-f", "--default-value"])] = random.choice(["0", "3", "17.5", "-2"])
    long = {"-d": "--dimensionality", "-i": "--input", "-r": "--reference-image", "-n": "--interpolation", "-e":
            "--input-image-type", "-u": "--output-data-type"}  # fmt: skip
    pairs = list(words.items()) + [("-o", shown)]
    random.shuffle(pairs)
    arguments = []
    for flag, value in pairs:
        arguments += [long.get(flag, flag) if random.random() < 0.3 else flag, *value.split(" ")]
    for step in chain:
        arguments += [random.choice(["-t", "--transform"]), *step.split(" ")]
    return kind, arguments, output


def by_ants(arguments, command="antsApplyTransforms"):
    """Whether ANTs succeeds; in a process of its own, as it may crash."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            code = get_lib_fn(command)(arguments) or 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def transforms_alike(ours, theirs):
    first, second = (sitk.ReadTransform(str(name)) for name in (ours, theirs))
    points = np.random.default_rng(3).uniform([-15, -20, 5], [5, 5, 25], (50, 3))[:, : first.GetDimension()]
    apart = max(np.linalg.norm(np.subtract(first.TransformPoint(p), second.TransformPoint(p))) for p in points)
    return None if apart < 1e-3 else f"points are {apart:.4g} mm apart"


def images_alike(ours, theirs, kind, arguments):
    first, second = nib.load(ours), nib.load(theirs)
    for name in ("dim", "intent_code"):
        if not np.array_equal(first.header[name], second.header[name]):
            return f"{name}: {first.header[name]} and {second.header[name]}"
    if first.get_data_dtype() != second.get_data_dtype():
        return f"types {first.get_data_dtype()} and {second.get_data_dtype()}"
    if not np.allclose(first.affine, second.affine, atol=1e-4):
        return f"grids\n{first.affine}\n{second.affine}"
    a, b = (np.asarray(image.dataobj).astype(float) for image in (first, second))
    integer = np.issubdtype(second.get_data_dtype(), np.integer)
    # A value that is cut off to a whole number may be on the other side of it by rounding.
    tolerance = max(0.001 * np.ptp(b), 1e-5) + (1.0 if integer else 0.0)
    far = np.abs(a - b) > tolerance
    chosen = kind == "labels" or any(word.lower().startswith(("nearest", "bspline[0")) for word in arguments)
    if far.mean() > (0.001 if chosen else 0.0):
        return f"{far.sum()} of {far.size} voxels differ, at most by {np.abs(a - b).max():.4g} of {np.ptp(b):.4g}"
    return None


def check(program, number, kind, arguments, output):
    """What differs, or None."""
    results = []
    for side in ("ours", "theirs"):
        Path(output).unlink(missing_ok=True)
        if side == "ours":
            done = subprocess.run([program, "as", "antsApplyTransforms", *arguments], capture_output=True, text=True)
            succeeded, message = done.returncode == 0, done.stderr.strip()
            if done.returncode not in (0, 1, 2):
                return f"ended with {done.returncode}: {message}"
        else:
            succeeded = by_ants(arguments)
        exists = Path(output).exists()
        kept = Path(f"{side}_{output}")
        kept.unlink(missing_ok=True)
        if exists:
            shutil.move(output, kept)
        results.append((succeeded, exists))
    if results[0] != results[1]:
        return f"ours: success {results[0][0]}, file {results[0][1]}; ANTs: {results[1][0]}, {results[1][1]}; {message}"
    if not results[0][1]:
        return None
    names = f"ours_{output}", f"theirs_{output}"
    if output.startswith("out.nii"):
        return images_alike(*names, kind, arguments)
    return transforms_alike(*names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="target/debug/antsreg-gpu", help="the program [default: %(default)s]")
    parser.add_argument("--lines", type=int, default=200, help="how many command lines [default: %(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="another seed gives other lines [default: %(default)s]")
    options = parser.parse_args()
    program = str(Path(options.program).resolve())
    failed, succeeded = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_data()
        choice = random.Random(options.seed)
        for number in range(options.lines):
            kind, arguments, output = line(choice)
            wrong = check(program, number, kind, arguments, output)
            succeeded += Path(f"theirs_{output}").exists()
            if wrong:
                failed += 1
                print(f"{number} ({kind}): antsApplyTransforms {' '.join(arguments)}\n    {wrong}", flush=True)
        os.chdir("/")
    print(f"{options.lines} command lines, {succeeded} with an output of ANTs, {failed} that differ")
    return 1 if failed or not succeeded else 0


if __name__ == "__main__":
    sys.exit(main())
