#!/usr/bin/env python3
"""Run nipype's interfaces of the commands that apply transforms, unchanged, on antsreg-gpu, and read its composites.

Each interface must find its outputs where it looks for them, and they must say what they should. Composite transforms
written here are read by ANTs (antspyx), SimpleITK and nitransforms; one of ANTs is read here.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import environment

if __name__ == "__main__":
    environment.enter()

import apply_parity as data  # noqa: E402
import nibabel as nib  # noqa: E402
import nitransforms  # noqa: E402
import numpy as np  # noqa: E402
import SimpleITK as sitk  # noqa: E402
from nipype.interfaces import ants, c3, fsl  # noqa: E402


def array(path):
    return np.asarray(nib.load(path).dataobj).astype(float)


def close(a, b, share=1e-3):
    assert np.abs(a - b).max() <= share * np.ptp(b), f"{np.abs(a - b).max()} of {np.ptp(b)}"


def resampled(image, reference, transform):
    """By SimpleITK, linearly."""
    return sitk.GetArrayFromImage(
        sitk.Resample(sitk.ReadImage(image, sitk.sitkFloat64), sitk.ReadImage(reference), transform, sitk.sitkLinear, 0.0)
    ).T


def apply_transforms():
    done = ants.ApplyTransforms(
        input_image="a.nii.gz", reference_image="ref.nii.gz", transforms=["warp.nii.gz", "a.txt"],
        invert_transform_flags=[False, True], interpolation="Linear", output_image="applied.nii.gz", default_value=0,
    ).run()  # fmt: skip
    field = sitk.DisplacementFieldTransform(sitk.ReadImage("warp.nii.gz", sitk.sitkVectorFloat64))
    chain = sitk.CompositeTransform([sitk.ReadTransform("a.txt").GetInverse(), field])
    close(array(done.outputs.output_image), resampled("a.nii.gz", "ref.nii.gz", chain))
    series = ants.ApplyTransforms(
        input_image="series.nii.gz", input_image_type=3, reference_image="ref.nii.gz", transforms="identity",
        dimension=3, float=True,
    ).run()  # fmt: skip
    found = nib.load(series.outputs.output_image)
    assert found.shape == (10, 12, 9, 4) and found.get_data_dtype() == np.float32, found.header
    composed = ants.ApplyTransforms(
        input_image="a.nii.gz", reference_image="ref.nii.gz", transforms=["warp.nii.gz", "a.txt"],
        print_out_composite_warp_file=True, output_image="composed.nii.gz",
    ).run()  # fmt: skip
    assert nib.load(composed.outputs.output_image).shape == (10, 12, 9, 1, 3)
    for interpolation, parameters in [("BSpline", (5,)), ("MultiLabel", (1.5, 3)), ("Gaussian", (1.0, 1.5))]:
        ants.ApplyTransforms(
            input_image="labels.nii.gz", reference_image="ref.nii.gz", transforms="a.txt", interpolation=interpolation,
            interpolation_parameters=parameters,
        ).run()  # fmt: skip


def apply_to_points():
    Path("points.csv").write_text("x,y,z,t,label\n1,2,3,0,7\n-4.5,5,6,0,8\n")
    done = ants.ApplyTransformsToPoints(dimension=3, input_file="points.csv", transforms=["a.txt"], invert_transform_flags=[False]).run()
    found = np.loadtxt(done.outputs.output_file, delimiter=",", skiprows=1)
    transform = sitk.ReadTransform("a.txt")
    expected = [(*transform.TransformPoint(p[:3]), *p[3:]) for p in ((1.0, 2.0, 3.0, 0, 7), (-4.5, 5.0, 6.0, 0, 8))]
    assert np.allclose(found, expected, atol=1e-5), found


def flirt():
    """A known matrix is applied; a registration finds it again; it goes to ITK and back."""
    angle = np.radians(6)
    matrix = np.eye(4)
    matrix[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    matrix[:3, 3] = [3, -2, 1.5]
    np.savetxt("known.mat", matrix)
    Path("head.nii.gz").unlink(missing_ok=True)
    grid = np.stack(np.meshgrid(*(np.linspace(-1, 1, n) for n in (48, 56, 44)), indexing="ij"))
    head = (np.sum((grid / [[[[0.7]]], [[[0.8]]], [[[0.6]]]]) ** 2, 0) < 1) * (100 + 60 * grid[0] - 40 * grid[1])
    head += 90 * (np.sum(((grid - 0.2) / 0.25) ** 2, 0) < 1) - 50 * (np.sum(((grid + 0.3) / 0.2) ** 2, 0) < 1)
    data.save("head.nii.gz", head.astype(np.float32), data.affine([4, 4, 4], [-90, -100, -80]))
    moved = fsl.ApplyXFM(in_file="head.nii.gz", reference="head.nii.gz", in_matrix_file="known.mat", apply_xfm=True, out_file="moved.nii.gz").run()
    assert Path(moved.outputs.out_file).exists() and nib.load(moved.outputs.out_file).get_data_dtype() == np.float32
    found = fsl.FLIRT(in_file="head.nii.gz", reference="moved.nii.gz", dof=6, cost="corratio", searchr_x=[-30, 30], out_file="flirted.nii.gz", out_matrix_file="found.mat").run()
    apart = np.abs(np.loadtxt(found.outputs.out_matrix_file) - matrix).max()
    assert apart < 0.5, apart
    assert Path(found.outputs.out_file).exists()
    fsl.FLIRT(in_file="head.nii.gz", reference="moved.nii.gz", apply_isoxfm=8, in_matrix_file="found.mat", out_file="coarse.nii.gz").run()
    assert nib.load("coarse.nii.gz").shape == (24, 28, 22), nib.load("coarse.nii.gz").shape
    inverse = fsl.ConvertXFM(in_file="found.mat", invert_xfm=True, out_file="inverse.mat").run().outputs.out_file
    both = fsl.ConvertXFM(in_file="found.mat", in_file2=inverse, concat_xfm=True, out_file="both.mat").run().outputs.out_file
    assert np.allclose(np.loadtxt(both), np.eye(4), atol=1e-9)
    c3.C3dAffineTool(reference_file="moved.nii.gz", source_file="head.nii.gz", transform_file="known.mat", fsl2ras=True, itk_transform="known.txt").run()
    close(resampled("head.nii.gz", "moved.nii.gz", sitk.ReadTransform("known.txt")), array("moved.nii.gz"), 0.02)


def jacobian():
    done = ants.CreateJacobianDeterminantImage(imageDimension=3, deformationField="warp.nii.gz", outputImage="jacobian.nii.gz").run()
    assert data.by_ants(["3", "warp.nii.gz", "by_ants.nii.gz", "0", "0"], "CreateJacobianDeterminantImage")
    close(array(done.outputs.jacobian_image), array("by_ants.nii.gz"))


def image_math():
    done = ants.ImageMath(dimension=3, operation="TruncateImageIntensity", op1="a.nii.gz", op2="0.05 0.95 256", output_image="cut.nii.gz").run()
    low, high = np.quantile(array("a.nii.gz"), [0.05, 0.95])
    close(array(done.outputs.output_image), np.clip(array("a.nii.gz"), low, high))


def composites(program):
    """A composite of ours by ANTs, SimpleITK and nitransforms; one of SimpleITK's by us is in apply_parity.py."""
    subprocess.run([program, "apply", "-t", "warp.nii.gz", "-t", "a.txt", "-o", "ours.h5"], check=True, capture_output=True)
    field = sitk.DisplacementFieldTransform(sitk.ReadImage("warp.nii.gz", sitk.sitkVectorFloat64))
    expected = resampled("a.nii.gz", "ref.nii.gz", sitk.CompositeTransform([sitk.ReadTransform("a.txt"), field]))
    close(resampled("a.nii.gz", "ref.nii.gz", sitk.ReadTransform("ours.h5")), expected)
    assert data.by_ants(["-d", "3", "-i", "a.nii.gz", "-r", "ref.nii.gz", "-t", "ours.h5", "-o", "by_ants.nii.gz"])
    close(array("by_ants.nii.gz"), expected)
    chain = nitransforms.manip.load("ours.h5", fmt="itk", reference="ref.nii.gz", moving="a.nii.gz")
    moved = nitransforms.resampling.apply(chain, "a.nii.gz", reference="ref.nii.gz", order=1, mode="constant")
    # Its splines treat the border otherwise.
    inner = np.abs(np.asarray(moved.dataobj) - expected)[2:-2, 2:-2, 2:-2]
    assert np.quantile(inner, 0.9) < 1e-3 * np.ptp(expected), np.quantile(inner, [0.5, 0.9, 1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="target/debug/antsreg-gpu", help="the program [default: %(default)s]")
    program = str(Path(parser.parse_args().program).resolve())
    checks = [apply_transforms, apply_to_points, flirt, jacobian, image_math, lambda: composites(program)]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        subprocess.run([program, "links", "bin"], check=True, capture_output=True)
        os.environ["PATH"] = f"{folder}/bin{os.pathsep}{os.environ['PATH']}"
        os.environ |= {"FSLOUTPUTTYPE": "NIFTI_GZ", "ANTSREG_DEVICE": "cpu"}
        data.make_data()
        failed = 0
        for check in checks:
            name = getattr(check, "__name__", "").replace("<lambda>", "composites")
            try:
                check()
                print(f"{name}: runs", flush=True)
            except Exception as error:
                failed += 1
                print(f"{name}: FAILED: {type(error).__name__}: {error}", flush=True)
        os.chdir("/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
