//! Tests of the whole program with two-dimensional images.

use antsreg_core::compare::Comparison;
use antsreg_core::io::{itk, nifti};
use antsreg_core::{AffineTransform, Grid};
use antsreg_kernels::{Cuda, Error};
use antsreg_tests::{Brain, Workplace};
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

/// The true transform from fixed to moving points: a large rotation about z, and a shift in and across the plane of the
/// slice.
fn truth() -> AffineTransform {
    let turn = Rotation3::from_axis_angle(&Vector3::z_axis(), 2.4).into_inner();
    AffineTransform {
        matrix: turn * Matrix3::new(1.05, 0.04, 0.0, 0.0, 0.94, 0.0, 0.0, 0.0, 1.0),
        translation: Vector3::new(12.0, -20.0, 33.0),
    }
}

/// The grid of a slice with 2 mm pixels around a point of the plane at height z. The first axis runs from right to
/// left.
fn slice(centre: [f64; 2], z: f64) -> Grid {
    let mut grid = Grid::axis_aligned([96, 90, 1], [2.0, 2.0, 4.0]);
    grid.direction[(0, 0)] = -1.0;
    grid.origin = Point3::new(centre[0] + 95.0, centre[1] - 89.0, z);
    grid
}

/// Makes a folder with slices through a brain, at z = 8 mm in the coordinates of the brain.
fn pair(warp_mm: f64) -> Workplace {
    let place = Workplace::new();
    let (fixed, moving) = (Brain { warp_mm, ..Brain::standard() }, Brain::moved(&truth()));
    let (on_fixed, on_moving) = (slice([0.0; 2], 8.0), slice([12.0, -20.0], 41.0));
    place.write_pair((&fixed, &on_fixed), (&moving, &on_moving));
    place
}

/// The devices that the tests use: the CPU, and a GPU if there is one.
fn devices() -> Vec<&'static str> {
    match Cuda::open(0) {
        Ok(_) => vec!["cpu", "cuda"],
        Err(Error::NoDriver { .. } | Error::NoDevice { .. }) => vec!["cpu"],
        Err(error) => panic!("there is a GPU, but {error}"),
    }
}

/// Largest distance, in the plane, between the two points to which two affines map a point of the slice, mm.
fn farthest(a: &AffineTransform, b: &AffineTransform) -> f64 {
    let corners = [[0.0, 0.0], [50.0, 0.0], [-50.0, 0.0], [0.0, 60.0], [0.0, -60.0], [35.0, 40.0]];
    let points = corners.map(|[x, y]| Point3::new(x, y, 8.0));
    points.iter().map(|at| (a.apply(at) - b.apply(at)).xy().norm()).fold(0.0, f64::max)
}

#[test]
fn an_affine_of_slices_is_found_and_applies() {
    let place = pair(0.0);
    place.succeed(
        "register -f f.nii.gz -m m.nii.gz -o p_ -t affine --device cpu --moving-labels ml.nii.gz \
         --fixed-labels fl.nii.gz",
    );
    let bytes = place.read("p_0GenericAffine.mat");
    assert!(String::from_utf8_lossy(&bytes).contains("AffineTransform_double_2_2"), "not ITK's of two dimensions");
    let found = itk::read_affine(&place.path("p_0GenericAffine.mat")).expect("the affine");
    // The found affine must map each point to within 0.4 mm, a fifth of a pixel, of the true position.
    let error = farthest(&found, &truth());
    assert!(error < 0.4, "{error} mm");
    let record = place.record("p_record.json");
    let linear = &record["parameters"]["options"]["stages"][0]["linear"];
    assert_eq!(linear["dof"], "affine");
    assert_eq!(linear["search"]["angles"]["range_degrees"][2], 180.0);
    // The mean Jaccard index need not be 1: labels are read at the nearest pixel, so they may differ at the borders of
    // regions.
    assert!(record["overlap"]["mean_jaccard"].as_f64().is_some_and(|mean| mean > 0.9), "{}", record["overlap"]);
    place.succeed("apply -i m.nii.gz -r f.nii.gz -t p_0GenericAffine.mat -o again.nii.gz");
    let warped = nifti::read_volume(&place.path("p_Warped.nii.gz")).expect("the warped image");
    let again = nifti::read_volume(&place.path("again.nii.gz")).expect("the image applied");
    assert_eq!(warped.grid, again.grid);
    let off = warped.voxels.iter().zip(&again.voxels).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    // Intensities may differ by 0.5 of 1000, because the last digits of the transform change when it is written and
    // read.
    assert!(off < 0.5, "{off} of 1000");
    let compared = place.succeed("compare p_Warped.nii.gz f.nii.gz");
    assert!(compared.stdout.contains("orrelation"), "{}", compared.stdout);
    place.succeed("convert p_0GenericAffine.mat fsl.mat -f f.nii.gz -m m.nii.gz");
    place.succeed("convert fsl.mat back.txt -f f.nii.gz -m m.nii.gz");
    let back = itk::read_affine(&place.path("back.txt")).expect("the affine");
    assert!(farthest(&back, &found) < 1e-6);
}

#[test]
fn every_cost_finds_slices_on_every_device() {
    let place = pair(0.0);
    for cost in ["cr", "mi", "nmi", "ncc", "lsq", "nmi --histogram trilinear"] {
        for device in devices() {
            let options = format!("--no-warped --cost {cost} --device {device}");
            place.succeed(&format!("register -f f.nii.gz -m m.nii.gz -o {device}_ -t affine {options}"));
            let found = itk::read_affine(&place.path(&format!("{device}_0GenericAffine.mat"))).expect("the affine");
            let error = farthest(&found, &truth());
            // The found affine must map each point to within 0.4 mm, a fifth of a pixel, of the true position.
            assert!(error < 0.4, "{cost} on {device}: {error} mm");
        }
    }
}

#[test]
fn slices_are_warped() {
    for device in devices() {
        warp_slices(device);
    }
}

fn warp_slices(device: &str) {
    let place = pair(4.0);
    let options = format!("--fixed-labels fl.nii.gz --moving-labels ml.nii.gz --device {device}");
    place.succeed(&format!("register -f f.nii.gz -m m.nii.gz -o a_ -t affine {options}"));
    place.succeed(&format!("register -f f.nii.gz -m m.nii.gz -o s_ {options}"));
    let overlap = |prefix: &str| {
        place.record(&format!("{prefix}record.json"))["overlap"]["mean_jaccard"].as_f64().expect("a mean")
    };
    let (affine, warped) = (overlap("a_"), overlap("s_"));
    assert!(warped > affine + 0.05, "{warped} after {affine}");
    let warp = itk::read_warp(&place.path("s_1Warp.nii.gz")).expect("the warp");
    assert!(warp.vectors.iter().all(|vector| vector[2] == 0.0) && warp.longest_mm() > 1.0);
    assert_eq!(nifti::inspect(&place.path("s_1Warp.nii.gz")).expect("a header").dim[..6], [5, 96, 90, 1, 1, 2]);
    let jacobian = place.record("s_record.json")["jacobian"].clone();
    assert_eq!(jacobian["warp"]["folded"], 0, "{jacobian}");
    assert_eq!(jacobian["warp"]["corner_folded"], 0, "{jacobian}");
    let printed = place.succeed("jacobian s_1Warp.nii.gz -o j.nii.gz").stdout;
    assert!(printed.contains("0 of 8640 voxels folded") && printed.contains(", 0 voxels folded"), "{printed}");
}

#[test]
fn slices_and_volumes_do_not_mix() {
    let place = pair(0.0);
    Brain::standard().write_image(&Grid::axis_aligned([40, 40, 40], [4.0; 3]), &place.path("v.nii.gz"));
    for (line, expected) in [
        ("register -f v.nii.gz -m m.nii.gz -o p_", "m.nii.gz is a slice, v.nii.gz a volume"),
        ("register -f f.nii.gz -m v.nii.gz -o p_ -t syn-only", "f.nii.gz is a slice, v.nii.gz a volume"),
        ("apply -i m.nii.gz -r v.nii.gz -o o.nii.gz", "m.nii.gz is a slice, v.nii.gz a volume"),
    ] {
        let message = place.refuse(1, line);
        assert!(message.contains(expected), "{message}");
    }
    // Transforms of slices cannot be combined with volumes. A slice and a volume cannot be channels of one image
    // either.
    place.succeed(
        "register -f f.nii.gz -m m.nii.gz -o s_ -t syn-only --shrink-factors 2 --iterations 1 --smoothing-sigmas 0",
    );
    place.succeed(
        "register -f v.nii.gz -m v.nii.gz -o v_ -t syn-only --shrink-factors 2 --iterations 1 --smoothing-sigmas 0",
    );
    place.file(
        "tilted.txt",
        b"#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n\
          Parameters: 1 0 0 0 1 0.1 0 -0.1 1 0 0 0\nFixedParameters: 0 0 0\n",
    );
    for (line, expected) in [
        (
            "apply -i v.nii.gz -r v.nii.gz -o o.nii.gz -t s_1Warp.nii.gz",
            "s_1Warp.nii.gz is a slice, v.nii.gz a volume",
        ),
        (
            "apply -i m.nii.gz -r f.nii.gz -o o.nii.gz -t v_1Warp.nii.gz",
            "f.nii.gz is a slice, v_1Warp.nii.gz a volume",
        ),
        (
            "apply -i v.nii.gz -r v.nii.gz -o o.nii.gz -t s_0GenericAffine.mat",
            "s_0GenericAffine.mat: a two-dimensional transform",
        ),
        (
            "register -f f.nii.gz -m m.nii.gz -o p_ --channel f.nii.gz,v.nii.gz",
            "m.nii.gz is a slice, v.nii.gz a volume",
        ),
        (
            "register -f f.nii.gz -m m.nii.gz -o p_ --initial-transform tilted.txt",
            "tilted.txt: the transform moves points out of the",
        ),
    ] {
        let message = place.refuse(1, line);
        assert!(message.contains(expected), "{message}");
    }
    // A slice of a volume may be resampled through the warp of that volume.
    place.succeed("apply -i v.nii.gz -r f.nii.gz -o o.nii.gz -t v_1Warp.nii.gz");
    let message = place.refuse(2, "register -f f.nii.gz -m m.nii.gz -o p_ --dof 12");
    assert!(
        message.contains("12 degrees of freedom are not possible: slices can have 2, 3, 4, 5 or 6; change --dof"),
        "{message}"
    );
}

#[test]
fn the_multimodal_preset_is_rigid_by_mutual_information() {
    let place = pair(0.0);
    let plan = place.succeed("register -f f.nii.gz -m m.nii.gz -o p_ --preset multimodal --dry-run").stdout;
    for expected in ["--transform rigid", "--cost nmi", "--optimiser flirt"] {
        assert!(plan.contains(expected), "`{expected}` is missing in: {plan}");
    }
    let plan = place.succeed("register -f f.nii.gz -m m.nii.gz -o p_ --preset multimodal -t syn --dry-run").stdout;
    assert!(plan.contains("mattes"), "{plan}");
}

#[test]
fn slices_make_a_template() {
    let place = Workplace::new();
    for (n, name) in ["a", "b", "c"].into_iter().enumerate() {
        let brain = Brain { warp_mm: 4.0 * (n as f64 - 1.0), ..Brain::standard() };
        brain.write_image(&slice([3.0 * n as f64, 0.0], 8.0), &place.path(&format!("{name}.nii.gz")));
    }
    let quick = "--shrink-factors 2x1 --smoothing-sigmas 1x0 --iterations 10x5 --device cpu";
    place.succeed(&format!("atlas a.nii.gz b.nii.gz c.nii.gz -o out --passes 2 {quick}"));
    let template = nifti::read_volume(&place.path("out/template.nii.gz")).expect("the template");
    // The template of slices gets a margin only in the plane of the slice.
    assert!(template.grid.is_slice() && template.grid.shape[0] > 70, "{:?}", template.grid.shape);
    for name in ["a", "b", "c"] {
        let bytes = place.read(&format!("out/subjects/{name}_0GenericAffine.mat"));
        assert!(
            String::from_utf8_lossy(&bytes).contains("AffineTransform_double_2_2"),
            "not ITK's of two dimensions"
        );
        place.succeed(&format!(
            "apply -i {name}.nii.gz -r out/template.nii.gz -n sinc -o again.nii.gz -t out/subjects/{name}_1Warp.nii.gz \
             -t out/subjects/{name}_0GenericAffine.mat"
        ));
        let warped =
            nifti::read_volume(&place.path(&format!("out/subjects/{name}_Warped.nii.gz"))).expect("an image");
        let again = nifti::read_volume(&place.path("again.nii.gz")).expect("an image");
        let mean = warped.voxels.iter().zip(&again.voxels).map(|(a, b)| f64::from((a - b).abs())).sum::<f64>();
        // The mean difference may be 1, where values reach 1000: unlike the registration, `apply` does not clamp the
        // overshoot of a sinc at edges.
        assert!(mean / (warped.voxels.len() as f64) < 1.0, "{name}: {mean}");
        let correlation = Comparison::between(&template, &warped, None).expect("one grid").correlation;
        assert!(correlation > 0.95, "{name}: {correlation}");
    }
    place.succeed("atlas verify out");
}
