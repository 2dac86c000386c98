"""Compares commands on single images and transforms with real ANTs, or with their definitions computed by numpy."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import nibabel as nib
import numpy as np
import SimpleITK as sitk
from scipy import ndimage

from clients import comparison, data, shapes
from clients.oracle import Oracle

#: Largest accepted difference, as a share of the range of the values.
SHARE = 1e-5

REAL = Oracle()

#: Operations of ImageMath that real ANTs offers as `iMath` too, with their arguments after the image.
OPERATIONS = [
    ("MD", "2"), ("ME", "1"), ("MO", "1"), ("MC", "2"), ("GD", "1"), ("GE", "1"), ("GO", "1"), ("GC", "1"),
    ("GetLargestComponent", "20"), ("FillHoles", "2"), ("Laplacian", "1.5 0"), ("Grad", "1.5 0"),
    ("MaurerDistance", "1"), ("Normalize", ""), ("Sharpen", ""),
    ("PropagateLabelsThroughMask", "labels.nii.gz 100 0"),
]  # fmt: skip

#: Command lines of ANTs, with OUT for the output. Outputs of ours and of real ANTs must agree to the share: of the range,
#: and for the classes of Atropos of the voxels, as the limits of k-means differ slightly (docs/drop-in.md).
LINES = [
    ("ThresholdImage 3 a.nii.gz OUT 30 60 2 1", SHARE),
    ("ThresholdImage 3 a.nii.gz OUT Otsu 3", SHARE),
    ("ResampleImage 3 a.nii.gz OUT 3x3x3 0 0", SHARE),
    ("ResampleImage 3 a.nii.gz OUT 20x20x20 1 1", SHARE),
    ("DenoiseImage -d 3 -i a.nii.gz -o OUT", 1e-4),
    ("Atropos -d 3 -a a.nii.gz -x mask.nii.gz -i KMeans[3] -c [3,0] -m [0.1,1x1x1] -o OUT", 5e-3),
]


def check(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Run all comparisons, and print a table of the largest differences."""
    shapes.make(folder)
    mask = nib.load("a.nii.gz").get_fdata() > 25
    data.save(mask.astype(np.uint8), nib.load("a.nii.gz").affine, folder / "mask.nii.gz")
    faults: list[str] = []
    for compare in (operations, lines, geometry, tensors, series, filters, transforms, warps):
        if typed.only in compare.__name__:
            for name, apart, most in compare(folder):
                print(f"{name:62} {apart:.2g}", flush=True)
                if not apart <= most:
                    faults.append(f"{name}: apart by {apart:.2g}, expected at most {most:g}")
    return faults


def ours(line: str) -> str:
    """Run a command of antsreg-gpu and return what it prints."""
    done = subprocess.run(line.split(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{line}: exit {done.returncode}, {done.stderr}")
    return done.stdout


def theirs(line: str, folder: Path) -> None:
    """Run a command of real ANTs."""
    if not REAL.run(line.split(), folder):
        raise RuntimeError(f"{line}: real ANTs fails")


def voxels(path: str) -> np.ndarray:
    """The voxels of an image in double precision."""
    return np.asarray(nib.load(path).dataobj).astype(float)


def apart(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference as a share of the range of the expected values; infinite for other shapes."""
    if found.shape != expected.shape:
        return np.inf
    return float(np.abs(found - expected).max() / (np.ptp(expected) or 1))


def operations(folder: Path) -> list[tuple[str, float, float]]:
    """Operations of ImageMath beside those of real ANTs' library."""
    rows = []
    for name, rest in OPERATIONS:
        image = "mask.nii.gz" if name.startswith(("M", "Get", "Fill", "Prop")) else "a.nii.gz"
        ours(f"ImageMath 3 ours.nii.gz {name} {image} {rest}")
        theirs(f"iMath 3 theirs.nii.gz {name} {image} {rest}", folder)
        found, expected = voxels("ours.nii.gz"), voxels("theirs.nii.gz")
        if name.startswith("Prop"):
            # Where two labels arrive at the same time, either may win.
            rows.append((f"ImageMath {name} {rest}: share of voxels", float((found != expected).mean()), 1e-3))
        else:
            rows.append((f"ImageMath {name} {rest}", apart(found, expected), SHARE))
    return rows


def lines(folder: Path) -> list[tuple[str, float, float]]:
    """Whole command lines beside real ANTs."""
    rows = []
    for line, most in LINES:
        ours(line.replace("OUT", "ours.nii.gz"))
        theirs(line.replace("OUT", "theirs.nii.gz"), folder)
        found, expected = voxels("ours.nii.gz"), voxels("theirs.nii.gz")
        classes = line.startswith("Atropos")
        rows.append((line, float((found != expected).mean()) if classes else apart(found, expected), most))
    return rows


def geometry(folder: Path) -> list[tuple[str, float, float]]:
    """LabelGeometryMeasures of a volume and of a slice, beside real ANTs."""
    slice_labels = sitk.Cast(sitk.ReadImage("slice.nii.gz") / 25, sitk.sitkUInt8)
    sitk.WriteImage(slice_labels, "slice_labels.nii.gz")
    rows = []
    for line in ("3 labels.nii.gz a.nii.gz", "3 labels.nii.gz none", "2 slice_labels.nii.gz slice.nii.gz"):
        ours(f"LabelGeometryMeasures {line} ours.csv")
        theirs(f"LabelGeometryMeasures {line} theirs.csv", folder)
        heads = [Path(name).read_text().splitlines()[0] for name in ("ours.csv", "theirs.csv")]
        assert heads[0] == heads[1], heads
        found, expected = (np.loadtxt(name, delimiter=",", skiprows=1) for name in ("ours.csv", "theirs.csv"))
        # Values are written with six digits after the point.
        far = np.abs(found - expected) / np.maximum(np.abs(expected), 1)
        rows.append((f"LabelGeometryMeasures {line}", float(far.max()), SHARE))
    return rows


def tensors(_: Path) -> list[tuple[str, float, float]]:
    """Measures of tensors beside their definitions."""
    lower = voxels("tensors.nii.gz")[..., 0, :]
    full = np.empty((*lower.shape[:3], 3, 3))
    for part, (i, j) in enumerate([(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)]):
        full[..., i, j] = full[..., j, i] = lower[..., part]
    values = np.linalg.eigvalsh(full)
    mean = values.mean(-1)
    anisotropy = np.sqrt(1.5 * ((values - mean[..., None]) ** 2).sum(-1) / (values**2).sum(-1))
    rows = []
    for name, expected in (("TensorFA", anisotropy), ("TensorMeanDiffusion", mean)):
        ours(f"ImageMath 3 ours.nii.gz {name} tensors.nii.gz")
        rows.append((f"ImageMath {name}", apart(voxels("ours.nii.gz"), expected), SHARE))
    return rows


def series(_: Path) -> list[tuple[str, float, float]]:
    """A series taken apart and put together again."""
    whole = voxels("series.nii.gz")
    ours("ImageMath 4 part.nii.gz TimeSeriesDisassemble series.nii.gz")
    ours("ImageMath 4 some.nii.gz TimeSeriesSubset series.nii.gz 2")
    parts = [f"part{1000 + n}.nii.gz" for n in range(whole.shape[3])]
    ours(f"ImageMath 4 again.nii.gz TimeSeriesAssemble 2.5 0 {' '.join(parts)}")
    step = nib.load("again.nii.gz").header.get_zooms()[3]
    some = np.stack([voxels(f"some{number}.nii.gz") for number in (100, 101)], -1)
    ours("antsMotionCorr -d 3 -a series.nii.gz -o mean.nii.gz")
    return [
        ("ImageMath TimeSeriesDisassemble, TimeSeriesAssemble", apart(voxels("again.nii.gz"), whole), 0),
        ("ImageMath TimeSeriesAssemble: step of the series", abs(step - 2.5), 0),
        ("ImageMath TimeSeriesSubset", apart(some, whole[..., [0, 2]]), 0),
        ("antsMotionCorr -a", apart(voxels("mean.nii.gz"), whole.mean(-1)), 1e-6),
    ]


def filters(folder: Path) -> list[tuple[str, float, float]]:
    """Convolution beside scipy's."""
    kernel = np.random.default_rng(5).random((3, 5, 1)).astype(np.float32)
    data.save(kernel, np.eye(4), folder / "kernel.nii.gz")
    ours("ImageMath 3 ours.nii.gz Convolve a.nii.gz kernel.nii.gz")
    expected = ndimage.convolve(voxels("a.nii.gz"), kernel / kernel.sum(dtype=float), mode="nearest")
    return [("ImageMath Convolve", apart(voxels("ours.nii.gz"), expected), 1e-6)]


def transforms(folder: Path) -> list[tuple[str, float, float]]:
    """Composed and converted transforms beside real ANTs and SimpleITK."""
    ours("ComposeMultiTransform 3 ours.nii.gz -R ref.nii.gz warp.nii.gz -i a.txt")
    theirs("antsApplyTransforms -d 3 -r ref.nii.gz -t warp.nii.gz -t [a.txt,1] -o [theirs.nii.gz,1] --float 1", folder)
    rows = [("ComposeMultiTransform to a warp", apart(voxels("ours.nii.gz"), voxels("theirs.nii.gz")), SHARE)]
    ours("ComposeMultiTransform 3 ours.mat -R a.txt rigid.tfm -i a.txt")
    theirs("antsApplyTransforms -d 3 -r ref.nii.gz -t rigid.tfm -t [a.txt,1] -o Linear[theirs.mat]", folder)
    assert not (found := comparison.transforms(Path("ours.mat"), Path("theirs.mat"))), found
    centre = sitk.ReadTransform("ours.mat").GetFixedParameters()
    rows.append(("ComposeMultiTransform to an affine: centre", float(np.abs(np.subtract(centre, [1, 2, 3])).max()), 0))
    ours("ConvertTransformFile 3 rigid.tfm ours.mat --convertToAffineType")
    assert not (found := comparison.transforms(Path("ours.mat"), Path("rigid.tfm"))), found
    rigid = sitk.ReadTransform("rigid.tfm")
    origin = np.array(rigid.TransformPoint((0.0, 0.0, 0.0)))
    columns = [np.array(rigid.TransformPoint(tuple(axis))) - origin for axis in np.eye(3)]
    matrix = np.vstack([np.column_stack([*columns, origin]), [0, 0, 0, 1]])
    turn = np.diag([-1.0, -1, 1, 1])
    for flags, expected in (("--hm", matrix), ("--hm --RAS", turn @ matrix @ turn), ("-m", matrix[:3, :3])):
        ours(f"ConvertTransformFile 3 rigid.tfm ours.txt {flags}")
        # ANTs writes six digits.
        far = np.abs(np.loadtxt("ours.txt") - expected) / np.maximum(1, np.abs(expected))
        rows.append((f"ConvertTransformFile {flags}", float(far.max()), SHARE))
    return rows


def scaled(image: nib.Nifti1Image) -> np.ndarray:
    """The matrix from voxels to FSL's coordinates, whose first axis is reversed if the affine is right-handed."""
    sizes = nib.affines.voxel_sizes(image.affine)
    matrix = np.diag([*sizes, 1.0])
    if np.linalg.det(image.affine) > 0:
        matrix[0, 0], matrix[0, 3] = -sizes[0], (image.shape[0] - 1) * sizes[0]
    return matrix


def warps(folder: Path) -> list[tuple[str, float, float]]:
    """FSL's warps beside their definition: a point of the reference passes postmat⁻¹, the warp, and premat⁻¹.

    The displacements are linear, so that trilinear interpolation gives them exactly.
    """
    reference, moving = nib.load("ref.nii.gz"), nib.load("a.nii.gz")
    index = np.stack(np.meshgrid(*map(np.arange, reference.shape), indexing="ij"), -1).reshape(-1, 3)
    points = nib.affines.apply_affine(scaled(reference), index)
    generator = np.random.default_rng(4)
    pre, post, bend = np.eye(4), np.eye(4), np.eye(4)
    for matrix, shift in ((pre, (2, -1, 0.5)), (post, (0.4, 0.6, -0.3)), (bend, (0.7, -0.2, 0.5))):
        matrix[:3, :3] += 0.03 * generator.standard_normal((3, 3))
        matrix[:3, 3] = shift
    np.savetxt("pre.mat", pre)
    np.savetxt("post.mat", post)
    bent = nib.affines.apply_affine(bend, points)
    for name, vectors in (("relative", bent - points), ("absolute", bent)):
        shape = (*reference.shape, 3)
        data.save(vectors.reshape(shape).astype(np.float32), reference.affine, folder / f"{name}.nii.gz")
    before = nib.affines.apply_affine(np.linalg.inv(post), points)
    inside = nib.affines.apply_affine(np.linalg.inv(scaled(reference)), before)
    at = nib.affines.apply_affine(np.linalg.inv(scaled(moving)) @ np.linalg.inv(pre) @ bend, before)
    expected = ndimage.map_coordinates(voxels("a.nii.gz"), at.T, order=1, cval=np.nan)
    # Outside its grid a warp moves no point.
    known = ~np.isnan(expected) & np.all((inside >= 0) & (inside <= np.subtract(reference.shape, 1)), axis=1)
    assert known.mean() > 0.2, known.mean()
    ours("convertwarp -r ref.nii.gz --premat=pre.mat --warp1=absolute --postmat=post.mat -o both")
    rows = []
    for line in (
        "-w relative --premat=pre.mat --postmat=post.mat -o out",
        "--warp=absolute.nii.gz --abs --premat=pre.mat --postmat=post.mat --out=out --interp=trilinear",
        "-w both --rel -o out",
    ):
        ours(f"applywarp -i a.nii.gz -r ref.nii.gz {line}")
        rows.append((f"applywarp {line}", apart(voxels("out.nii.gz").ravel()[known], expected[known]), SHARE))
    ours("invwarp -w relative -r ref.nii.gz -o inverse --noconstraint")
    back = nib.affines.apply_affine(np.linalg.inv(bend), points)
    within = nib.affines.apply_affine(np.linalg.inv(scaled(reference)), back)
    known = np.all((within >= 0) & (within <= np.subtract(reference.shape, 1)), axis=1)
    found = voxels("inverse.nii.gz").reshape(-1, 3) + points
    rows.append(("invwarp, mm", float(np.abs(found - back)[known].max()), 1e-3))
    ours("convertwarp -r ref.nii.gz --warp1=relative -o copy --absout --jacobian=determinant")
    rows.append(("convertwarp --absout", apart(voxels("copy.nii.gz").reshape(-1, 3), bent), 1e-6))
    determinant = voxels("determinant.nii.gz") - np.linalg.det(bend[:3, :3])
    rows.append(("convertwarp --jacobian", float(np.abs(determinant).max()), 1e-5))
    return rows
