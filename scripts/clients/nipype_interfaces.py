"""Tests with nipype's unmodified interfaces of the commands of ANTs and FSL. Nipype checks that output files exist."""

from __future__ import annotations

import argparse
from pathlib import Path

import nibabel as nib
import numpy as np
import SimpleITK as sitk
from nipype.interfaces import ants, c3, fsl
from nipype.interfaces.ants.base import Info

from clients import data, shapes
from clients.oracle import Oracle
from clients.running import run

STAGES = {
    "dimension": 3,
    "transforms": ["Affine", "SyN"],
    "transform_parameters": [(0.1,), (0.2, 3.0, 0.0)],
    "metric": ["Mattes", "CC"],
    "metric_weight": [1, 1],
    "radius_or_number_of_bins": [32, 2],
    "number_of_iterations": [[50, 20], [10, 5]],
    "shrink_factors": [[2, 1], [2, 1]],
    "smoothing_sigmas": [[1, 0], [1, 0]],
    "sigma_units": ["mm", "vox"],
}


def check(typed: argparse.Namespace, folder: Path) -> list[str]:
    """Check nipype's interfaces for commands of ANTs and FSL.

    Interfaces for registration must run. Interfaces that apply or convert transforms must also give correct values.
    """
    faults = [] if str(Info.version()).startswith("2.") else [f"nipype reads the version {Info.version()}"]
    images = data.pair(folder)
    for name, interface in registrations(images).items():
        if typed.only in name:
            outcome, why = run(interface)
            report(name, outcome, why, faults)
    shapes.make(folder)
    for outcome_of in (apply_transforms, apply_to_points, flirt, mcflirt, jacobian, image_math, bias, joint_fusion):
        if typed.only in outcome_of.__name__:
            try:
                outcome_of(folder)
                report(outcome_of.__name__, "ran", "", faults)
            except Exception as error:
                report(outcome_of.__name__, "wrong", f"{type(error).__name__}: {error}", faults)
    return faults


def report(name: str, outcome: str, why: str, faults: list[str]) -> None:
    """Print the result of a check, and store it if the check failed."""
    print(f"{outcome:8} {name} {why}", flush=True)
    if outcome != "ran":
        faults.append(f"{name}: {why}")


def registrations(images: data.Images) -> dict[str, object]:
    """Make nipype's interfaces that register a pair of images."""
    pair = {"fixed_image": images.fixed, "moving_image": images.moving}
    lists = {side: [image] for side, image in pair.items()}
    return {
        "AffineInitializer": ants.AffineInitializer(**pair),
        "AI": ants.AI(
            **pair, metric=("Mattes", 32, "Regular", 0.25), transform=("Rigid", 0.1), search_factor=(20, 0.12)
        ),
        "Registration": ants.Registration(
            **STAGES,
            **lists,
            output_warped_image=True,
            output_inverse_warped_image=True,
            output_transform_prefix="plain",
        ),
        "Registration, composite": ants.Registration(**STAGES, **lists, write_composite_transform=True),
        "Registration, not collapsed": ants.Registration(
            **STAGES,
            **lists,
            collapse_output_transforms=False,
            initial_moving_transform_com=1,
            output_transform_prefix="apart",
        ),
    } | {
        f"RegistrationSynQuick {kind}": ants.RegistrationSynQuick(
            **lists, transform_type=kind, output_prefix=f"quick_{kind}"
        )
        for kind in ("s", "sr", "a", "r", "t")
    }


def array(path: Path | str) -> np.ndarray:
    """The voxels of an image in double precision."""
    return np.asarray(nib.load(path).dataobj).astype(float)


def close(found: np.ndarray, expected: np.ndarray, share: float = 1e-3) -> None:
    """Fail if two arrays differ by more than `share` of the expected value range."""
    apart = np.abs(found - expected).max()
    assert apart <= share * np.ptp(expected), f"apart by {apart} of {np.ptp(expected)}"


def resampled(image: str, reference: str, transform: sitk.Transform) -> np.ndarray:
    """An image resampled on a reference's grid by SimpleITK."""
    moving, fixed = sitk.ReadImage(image, sitk.sitkFloat64), sitk.ReadImage(reference)
    return sitk.GetArrayFromImage(sitk.Resample(moving, fixed, transform, sitk.sitkLinear, 0.0)).T


def apply_transforms(folder: Path) -> None:
    """ApplyTransforms: a sequence of transforms, an image series, a composed warp, and interpolators with parameters."""
    to_reference = {"input_image": "a.nii.gz", "reference_image": "ref.nii.gz"}
    done = ants.ApplyTransforms(
        **to_reference,
        transforms=["warp.nii.gz", "a.txt"],
        invert_transform_flags=[False, True],
        interpolation="Linear",
        output_image="applied.nii.gz",
        default_value=0,
    ).run()
    chain = sitk.CompositeTransform([sitk.ReadTransform("a.txt").GetInverse(), shapes.field(folder)])
    close(array(done.outputs.output_image), resampled("a.nii.gz", "ref.nii.gz", chain))
    series = ants.ApplyTransforms(
        input_image="series.nii.gz",
        input_image_type=3,
        reference_image="ref.nii.gz",
        transforms="identity",
        dimension=3,
        float=True,
    ).run()
    found = nib.load(series.outputs.output_image)
    assert found.shape == (10, 12, 9, 4) and found.get_data_dtype() == np.float32, found.header
    composed = ants.ApplyTransforms(
        **to_reference,
        transforms=["warp.nii.gz", "a.txt"],
        print_out_composite_warp_file=True,
        output_image="composed.nii.gz",
    ).run()
    assert nib.load(composed.outputs.output_image).shape == (10, 12, 9, 1, 3)
    for interpolation, parameters in [("BSpline", (5,)), ("MultiLabel", (1.5, 3)), ("Gaussian", (1.0, 1.5))]:
        ants.ApplyTransforms(
            input_image="labels.nii.gz",
            reference_image="ref.nii.gz",
            transforms="a.txt",
            interpolation=interpolation,
            interpolation_parameters=parameters,
        ).run()


def apply_to_points(_: Path) -> None:
    """ApplyTransformsToPoints: points are mapped, and further columns of the table are kept."""
    Path("points.csv").write_text("x,y,z,t,label\n1,2,3,0,7\n-4.5,5,6,0,8\n")
    done = ants.ApplyTransformsToPoints(
        dimension=3, input_file="points.csv", transforms=["a.txt"], invert_transform_flags=[False]
    ).run()
    found = np.loadtxt(done.outputs.output_file, delimiter=",", skiprows=1)
    transform = sitk.ReadTransform("a.txt")
    expected = [(*transform.TransformPoint(p[:3]), *p[3:]) for p in ((1.0, 2.0, 3.0, 0, 7), (-4.5, 5.0, 6.0, 0, 8))]
    assert np.allclose(found, expected, atol=1e-5), found


def flirt(folder: Path) -> None:
    """FLIRT, ApplyXFM, ConvertXFM, C3dAffineTool: a known matrix is applied, found, inverted, and converted to ITK."""
    matrix = np.eye(4)
    cosine, sine = np.cos(np.radians(6)), np.sin(np.radians(6))
    matrix[:2, :2], matrix[:3, 3] = [[cosine, -sine], [sine, cosine]], [3, -2, 1.5]
    np.savetxt("known.mat", matrix)
    grid = np.stack(np.meshgrid(*(np.linspace(-1, 1, n) for n in (48, 56, 44)), indexing="ij"))
    voxels = (np.sum((grid / [[[[0.7]]], [[[0.8]]], [[[0.6]]]]) ** 2, 0) < 1) * (100 + 60 * grid[0] - 40 * grid[1])
    voxels += 90 * (np.sum(((grid - 0.2) / 0.25) ** 2, 0) < 1) - 50 * (np.sum(((grid + 0.3) / 0.2) ** 2, 0) < 1)
    data.save(voxels.astype(np.float32), shapes.turned([4, 4, 4], [-90, -100, -80], (0, 0, 0)), folder / "head.nii.gz")
    head = {"in_file": "head.nii.gz"}
    moved = fsl.ApplyXFM(
        **head, reference="head.nii.gz", in_matrix_file="known.mat", apply_xfm=True, out_file="moved.nii.gz"
    ).run()
    assert nib.load(moved.outputs.out_file).get_data_dtype() == np.float32
    to_moved = head | {"reference": "moved.nii.gz"}
    search = {"dof": 6, "cost": "corratio", "searchr_x": [-30, 30]}
    found = fsl.FLIRT(**to_moved, **search, out_file="flirted.nii.gz", out_matrix_file="found.mat").run()
    apart = np.abs(np.loadtxt(found.outputs.out_matrix_file) - matrix).max()
    assert apart < 0.5 and Path(found.outputs.out_file).exists(), apart
    # Expected grid: along each axis, the number of whole voxels of the new size that fit into the original grid of
    # 48×56×44 voxels of 4 mm.
    for size_mm, shape in ((8, (24, 28, 22)), (5, (38, 44, 35))):
        coarse = fsl.FLIRT(**to_moved, apply_isoxfm=size_mm, in_matrix_file="found.mat", out_file="coarse.nii.gz").run()
        assert nib.load(coarse.outputs.out_file).shape == shape
    inverse = fsl.ConvertXFM(in_file="found.mat", invert_xfm=True, out_file="inverse.mat").run().outputs.out_file
    both = fsl.ConvertXFM(in_file="found.mat", in_file2=inverse, concat_xfm=True, out_file="both.mat").run()
    assert np.allclose(np.loadtxt(both.outputs.out_file), np.eye(4), atol=1e-9)
    c3.C3dAffineTool(
        reference_file="moved.nii.gz",
        source_file="head.nii.gz",
        transform_file="known.mat",
        fsl2ras=True,
        itk_transform="known.txt",
    ).run()
    close(resampled("head.nii.gz", "moved.nii.gz", sitk.ReadTransform("known.txt")), array("moved.nii.gz"), 0.02)


def mcflirt(folder: Path) -> None:
    """MCFLIRT: output files exist where nipype expects them, and matrices and parameters equal the known motion."""
    from clients.functional import VOLUMES, series
    from series import errors

    bold, reference, motions, of = series(folder)
    done = fsl.MCFLIRT(
        in_file=str(bold),
        ref_file=str(reference),
        interpolation="spline",
        save_mats=True,
        save_plots=True,
        save_rms=True,
        smooth=1.0,
    ).run()
    outputs = done.outputs
    matrices = [np.loadtxt(file) for file in outputs.mat_file]
    # FSL's coordinates are voxel indices times voxel sizes. The first axis is reversed if the affine has a positive
    # determinant.
    flip = np.diag([-1.0, 1, 1, 1]) if np.linalg.det(of.affine) > 0 else np.eye(4)
    sizes = nib.affines.voxel_sizes(of.affine)
    flip[0, 3] = (of.voxels.shape[0] - 1) * sizes[0] if flip[0, 0] < 0 else 0
    to_world = of.affine @ np.linalg.inv(flip @ np.diag([*sizes, 1]))
    found = [np.linalg.inv(to_world @ matrix @ np.linalg.inv(to_world)) for matrix in matrices]
    apart = errors.between(np.array(found), motions, VOLUMES // 2, of.points)
    assert apart.worst < 0.1, str(apart)
    parameters = np.loadtxt(outputs.par_file)
    assert parameters.shape == (VOLUMES, 6), parameters.shape
    for matrix, (x, y, z, *_) in zip(matrices, parameters, strict=True):
        small = np.eye(3) + np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])
        assert np.abs(matrix[:3, :3] - small).max() < 3e-3, (matrix, x, y, z)
    absolute, relative = (np.loadtxt(file) for file in outputs.rms_files)
    assert absolute.shape == (VOLUMES,) and relative.shape == (VOLUMES - 1,), (absolute.shape, relative.shape)
    assert absolute[VOLUMES // 2] < 0.05 < absolute.max(), absolute
    for which in ("abs", "rel"):
        assert Path(f"{outputs.out_file}_{which}_mean.rms").is_file()
    before, after = array(bold), array(outputs.out_file)
    middle = before[..., VOLUMES // 2]
    apart = [np.abs(series - middle[..., None]).mean() for series in (before, after)]
    assert apart[1] < 0.7 * apart[0], apart
    to_mean = fsl.MCFLIRT(in_file=str(bold), mean_vol=True, stats_imgs=True, cost="leastsquares", out_file="to_mean.nii.gz")
    images = to_mean.run().outputs
    assert Path(images.mean_img).is_file()
    close(array(images.std_img) ** 2, array(images.variance_img))


def jacobian(folder: Path) -> None:
    """CreateJacobianDeterminantImage: the image must agree with that of real ANTs."""
    for logarithm in (0, 1):
        done = ants.CreateJacobianDeterminantImage(
            imageDimension=3, deformationField="warp.nii.gz", outputImage="jacobian.nii.gz", doLogJacobian=logarithm
        ).run()
        words = ["CreateJacobianDeterminantImage", "3", "warp.nii.gz", "by_ants.nii.gz", str(logarithm), "0"]
        assert Oracle().run(words, folder), "real ANTs fails"
        close(array(done.outputs.jacobian_image), array("by_ants.nii.gz"))


def image_math(folder: Path) -> None:
    """ImageMath: TruncateImageIntensity, as smriprep's workflow calls it, must agree with real ANTs.

    ANTs takes the quantiles from a histogram, so they differ from those of the sorted intensities. The intensities here
    are positive: real ANTs runs as its library's TruncateIntensity, which also counts those that are not.
    """
    image = nib.load("a.nii.gz")
    data.save(array("a.nii.gz").astype(np.float32) + 5, image.affine, folder / "positive.nii.gz")
    limits = ["0.05", "0.95", "256"]
    done = ants.ImageMath(
        dimension=3,
        operation="TruncateImageIntensity",
        op1="positive.nii.gz",
        op2=" ".join(limits),
        output_image="cut.nii.gz",
    ).run()
    words = ["iMath", "3", "by_ants.nii.gz", "TruncateIntensity", "positive.nii.gz", *limits]
    assert Oracle().run(words, folder), "real ANTs fails"
    close(array(done.outputs.output_image), array("by_ants.nii.gz"), 1e-6)


def bias(folder: Path) -> None:
    """N4BiasFieldCorrection as brain extraction workflows call it: image and field compared with real ANTs."""
    images = data.pair(folder)
    brain = nib.load(images.moving)
    place = np.stack(np.meshgrid(*(np.linspace(-1, 1, n) for n in brain.shape), indexing="ij"))
    voxels = brain.get_fdata()
    shaded = data.save(
        (voxels * np.exp(0.3 * place[0] + 0.2 * place[1] ** 2)).astype(np.float32), brain.affine, folder / "shaded.nii.gz"
    )
    inside = voxels > 0.1 * voxels.max()
    mask = data.save(inside.astype(np.uint8), brain.affine, folder / "inside.nii.gz")
    # The shrink factor of N4 is odd: with an even factor ANTs may choose other voxels, because of rounding at one half.
    common = {"input_image": shaded, "dimension": 3, "save_bias": True, "copy_header": True, "shrink_factor": 3}
    cases = {
        "plain": {},
        "as niworkflows": {
            "n_iterations": [50] * 3,
            "convergence_threshold": 1e-7,
            "bspline_fitting_distance": 200,
            "rescale_intensities": True,
        },
        "masked": {"mask_image": mask, "weight_image": mask, "n_iterations": [20, 20], "bspline_fitting_distance": 100},
    }
    for name, more in cases.items():
        n4 = ants.N4BiasFieldCorrection(**common, **more)
        words = n4.cmdline.replace("[ ", "[").replace(", ", ",").replace(" ]", "]").split()
        done = n4.run().outputs
        found = [array(path) for path in (done.output_image, done.bias_image)]
        assert Oracle().run(words, folder), f"{name}: real ANTs fails"
        for what, ours, path in zip(("image", "field"), found, (done.output_image, done.bias_image), strict=True):
            apart = np.abs(ours[inside] / array(path)[inside] - 1).mean()
            assert apart < 0.005, f"{name}: the {what} is apart by {apart:.2%}"


def joint_fusion(folder: Path) -> None:
    """JointFusion: labels and intensities fused from two atlases."""
    generator = np.random.default_rng(2)
    labels = np.zeros((14, 15, 16), np.uint8)
    labels[4:9, 5:10, 6:12] = 3
    for name in ("one", "two", "three"):
        data.save((50 * labels + generator.normal(0, 5, labels.shape)).astype(np.float32), np.eye(4), folder / f"{name}.nii")
        data.save(labels, np.eye(4), folder / f"{name}_labels.nii")
    done = ants.JointFusion(
        target_image=["one.nii"],
        atlas_image=[["two.nii"], ["three.nii"]],
        atlas_segmentation_image=["two_labels.nii", "three_labels.nii"],
        dimension=3,
        patch_radius=[1, 1, 1],
        search_radius=[2],
        out_label_fusion="joint.nii.gz",
        out_intensity_fusion_name_format="joint_%d.nii.gz",
    ).run()
    assert (array(done.outputs.out_label_fusion) == labels).mean() > 0.99
    apart = np.abs(array("joint_1.nii.gz") - array("one.nii"))
    assert apart.mean() < 10, apart.mean()
