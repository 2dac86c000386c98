//! Tests of the cost functions of the affine stage, by the command line.

use antsreg_core::AffineTransform;
use antsreg_core::io::itk;
use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};
use serde_json::Value;

/// Voxel size of the synthetic brains, mm. It is coarse, so that a registration takes a second.
const SPACING: f64 = 4.0;

fn truth() -> AffineTransform {
    let matrix = Rotation3::from_euler_angles(0.15, -0.1, 0.25).into_inner();
    AffineTransform { matrix, translation: Vector3::new(9.0, -14.0, 21.0) }
}

/// Makes a folder with a brain, and the same brain moved by `truth`.
fn pair() -> Workplace {
    let place = Workplace::new();
    let on_fixed = grid(SPACING, [0.0; 3], Matrix3::identity());
    let on_moving = grid(SPACING, [9.0, -14.0, 21.0], Matrix3::identity());
    Brain::standard().write_image(&on_fixed, &place.path("f.nii.gz"));
    Brain::moved(&truth()).write_image(&on_moving, &place.path("m.nii.gz"));
    place
}

#[test]
fn every_cost_is_recorded_and_finds_the_brain() {
    let place = pair();
    for (cost, histogram, bins) in [
        ("cr", None, Some(256)),
        ("mi", Some("partial-volume"), Some(64)),
        ("nmi", Some("trilinear"), Some(40)),
        ("ncc", None, None),
        ("lsq", None, None),
    ] {
        let mut line =
            format!("register -f f.nii.gz -m m.nii.gz -o p -t rigid --no-warped --device cpu --cost {cost}");
        if cost == "nmi" {
            line += " --histogram trilinear --bins 40";
        }
        place.succeed(&line);
        let record: Value = serde_json::from_slice(&place.read("precord.json")).expect("the record is JSON");
        let linear = &record["parameters"]["options"]["stages"][0]["linear"];
        assert_eq!(linear["cost"], cost);
        // The JSON record must contain the histogram options also for costs that do not use a histogram.
        assert!(histogram.is_none_or(|histogram| linear["histogram"] == histogram), "{linear}");
        assert!(bins.is_none_or(|bins| linear["bins"] == bins), "{linear}");
        let found = itk::read_affine(&place.path("p0GenericAffine.mat")).expect("the affine");
        let corner = Point3::new(45.0, 55.0, 40.0);
        let error = (found.apply(&corner) - truth().apply(&corner)).norm();
        // The found and the true affine must map a point close to the brain's surface to points less than 1 mm apart, a
        // quarter of a voxel.
        assert!(error < 1.0, "{error} mm by {cost}");
    }
}

#[test]
fn what_a_cost_has_no_use_for_is_refused() {
    let place = pair();
    for (options, reason) in [
        ("--cost ncc --bins 64", "--bins has no effect with --cost ncc"),
        ("-t rigid --white-matter f.nii.gz", "--white-matter has no effect with --cost cr"),
        ("-t rigid --cost mi --bbr-type unsigned", "--bbr-type has no effect with --cost mi"),
        ("--cost lsq --histogram trilinear", "--histogram has no effect with --cost lsq"),
        ("--histogram partial-volume", "--histogram has no effect with --cost cr"),
        ("--cost mi --bins 1", "expected a whole number from 2 to 1024, found `1`"),
        ("--cost nmi --bins 1025", "expected a whole number from 2 to 1024, found `1025`"),
        ("--transform syn-only --cost mi", "--cost has no effect with --transform syn-only"),
    ] {
        let run = place.run(&format!("register -f f.nii.gz -m m.nii.gz -o p --device cpu {options}"));
        assert_eq!(run.code, Some(2), "{options}: {}", run.stderr);
        assert!(run.stderr.contains(reason), "{options}: {}", run.stderr);
    }
}
