//! Tests of the subcommand `undistort`.

use antsreg_core::io::nifti;
use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::{Matrix3, Point3, Vector3};

/// Voxel size, mm.
const SIZE_MM: f64 = 4.0;
/// Total readout time of the made images, seconds.
const READOUT_S: f64 = 0.05;
/// Largest median error of a displacement, mm: an eighth of a voxel. The edges of the synthetic brain are steps, which
/// such voxels cannot represent.
const TOLERANCE_MM: f64 = 0.5;

fn own_grid() -> Grid {
    grid(SIZE_MM, [5.0, -3.0, 2.0], Matrix3::identity())
}

/// A made field in Hz: a bump.
fn hertz(grid: &Grid) -> Volume {
    let [nx, ny, _] = grid.shape;
    let centre = grid.centre() + Vector3::new(0.0, 25.0, 5.0);
    let value = |n: usize| {
        let index = Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / nx / ny) as f64);
        let away = (grid.voxel_to_world().apply(&index) - centre).norm() / 25.0;
        (30.0 * (-0.5 * away * away).exp()) as f32
    };
    Volume { grid: grid.clone(), voxels: (0..grid.len()).map(value).collect() }
}

/// An image with the distortion of a field along y, as a scanner makes it: the signal of each line of voxels is moved,
/// and its parts are added where they arrive.
fn distorted(truth: &Volume, hertz: &Volume, sign: f64) -> Volume {
    const PARTS: usize = 32;
    let [nx, ny, nz] = truth.grid.shape;
    let mut voxels = vec![0.0_f32; truth.voxels.len()];
    let at = |x: usize, y: usize, z: usize| (z * ny + y) * nx + x;
    for (z, x) in (0..nz).flat_map(|z| (0..nx).map(move |x| (z, x))) {
        for part in 0..ny * PARTS {
            let y = (part as f64 + 0.5) / PARTS as f64 - 0.5;
            let near = (y.max(0.0) as usize).min(ny - 2);
            let share = (y - near as f64).clamp(0.0, 1.0) as f32;
            let shift = (1.0 - share) * hertz.voxels[at(x, near, z)] + share * hertz.voxels[at(x, near + 1, z)];
            let arrives = (y + sign * f64::from(shift) * READOUT_S).round();
            if arrives >= 0.0 && arrives < ny as f64 {
                let signal = truth.voxels[at(x, y.round().max(0.0) as usize, z)];
                voxels[at(x, arrives as usize, z)] += signal / PARTS as f32;
            }
        }
    }
    Volume { grid: truth.grid.clone(), voxels }
}

/// A folder with the images `plus.nii.gz` and `minus.nii.gz`, their field `hz.nii.gz` and the image `truth.nii.gz`.
fn place() -> Workplace {
    let place = Workplace::new();
    let truth = Brain::moved(&AffineTransform::identity()).image(&own_grid());
    let hz = hertz(&truth.grid);
    for (name, volume) in [
        ("truth", &truth),
        ("hz", &hz),
        ("plus", &distorted(&truth, &hz, 1.0)),
        ("minus", &distorted(&truth, &hz, -1.0)),
    ] {
        nifti::write_volume(&place.path(&format!("{name}.nii.gz")), volume).expect("written");
    }
    place
}

fn read(place: &Workplace, name: &str) -> Volume {
    nifti::read_volume(&place.path(name)).expect("read")
}

/// The median absolute difference of two images in the brain.
fn apart(a: &Volume, b: &Volume, truth: &Volume) -> f64 {
    let most = truth.range().expect("values").1;
    let all = a.voxels.iter().zip(&b.voxels).zip(&truth.voxels).filter(|(_, truth)| **truth > 0.1 * most);
    let mut apart: Vec<f32> = all.map(|((a, b), _)| (a - b).abs()).collect();
    apart.sort_by(f32::total_cmp);
    f64::from(apart[apart.len() / 2])
}

#[test]
fn a_known_field_is_found_and_removed() {
    let place = place();
    let run = place.succeed(
        "undistort -i plus.nii.gz --phase-encoding j -i minus.nii.gz --phase-encoding j- --readout-time 0.05 -o u_",
    );
    assert!(run.stderr.contains("wrote u_FieldHz.nii.gz"), "{}", run.stderr);
    let (truth, hz) = (read(&place, "truth.nii.gz"), read(&place, "hz.nii.gz"));
    let mm_per_hz = READOUT_S * SIZE_MM;
    let error = mm_per_hz * apart(&read(&place, "u_FieldHz.nii.gz"), &hz, &truth);
    assert!(error < TOLERANCE_MM, "{error} mm");
    let shown = read(&place, "u_Displacement.nii.gz").voxels;
    for (mm, hz) in shown.iter().zip(&read(&place, "u_FieldHz.nii.gz").voxels) {
        assert!((f64::from(*mm) - mm_per_hz * f64::from(*hz)).abs() < 1e-3, "{mm} mm, {hz} Hz");
    }
    for (n, before) in [(1, "plus"), (2, "minus")] {
        let after = apart(&read(&place, &format!("u_Undistorted{n}.nii.gz")), &truth, &truth);
        let before = apart(&read(&place, &format!("{before}.nii.gz")), &truth, &truth);
        assert!(after < 0.6 * before, "image {n}: {after}, before {before}");
    }
    // `apply` takes the warp. The corrected image is the warped one, multiplied by the Jacobian.
    place.succeed("apply -i plus.nii.gz -r plus.nii.gz -t u_1Warp.nii.gz -n bspline -o w.nii.gz");
    let [warped, jacobian, corrected] =
        ["w.nii.gz", "u_1Jacobian.nii.gz", "u_Undistorted1.nii.gz"].map(|name| read(&place, name).voxels);
    let most = corrected.iter().fold(0.0, |most: f32, value| most.max(value.abs()));
    for ((warped, jacobian), corrected) in warped.iter().zip(&jacobian).zip(&corrected) {
        assert!((warped * jacobian - corrected).abs() < 1e-3 * most, "{warped} × {jacobian}, found {corrected}");
    }
}

#[test]
fn directions_and_times_are_read_from_json_files() {
    let place = place();
    for (name, direction) in [("plus", "j"), ("minus", "j-")] {
        let json = format!("{{\"PhaseEncodingDirection\": \"{direction}\", \"TotalReadoutTime\": 0.05}}");
        std::fs::write(place.path(&format!("{name}.json")), json).expect("written");
    }
    place.succeed("undistort -i plus.nii.gz -i minus.nii.gz -o u_");
    place.succeed("undistort -i minus.nii.gz -i plus.nii.gz -o v_");
    let [hz, back] = ["u_FieldHz.nii.gz", "v_FieldHz.nii.gz"].map(|name| read(&place, name));
    let error = READOUT_S * SIZE_MM * apart(&hz, &back, &read(&place, "truth.nii.gz"));
    assert!(error < 0.1, "the order of the images changes the field by {error} mm");
    let message =
        place.refuse(1, "undistort -i plus.nii.gz --phase-encoding i -i minus.nii.gz --phase-encoding i- -o w_");
    assert!(message.contains("plus.json: PhaseEncodingDirection is j, but i was given"), "{message}");
    std::fs::write(place.path("minus.json"), "{\"PhaseEncodingDirection\": \"AP\"}").expect("written");
    let message = place.refuse(1, "undistort -i plus.nii.gz -i minus.nii.gz -o w_");
    assert!(message.contains("minus.json: PhaseEncodingDirection is \"AP\", expected"), "{message}");
}

#[test]
fn a_field_map_corrects_one_image() {
    let place = place();
    place.succeed(
        "undistort -i minus.nii.gz --phase-encoding j- --readout-time 0.05 --field-map hz.nii.gz -o f_ --quiet",
    );
    let truth = read(&place, "truth.nii.gz");
    let after = apart(&read(&place, "f_Undistorted1.nii.gz"), &truth, &truth);
    let before = apart(&read(&place, "minus.nii.gz"), &truth, &truth);
    assert!(after < 0.6 * before, "{after}, before {before}");
    let message = place.refuse(1, "undistort -i minus.nii.gz --phase-encoding j- --field-map hz.nii.gz -o g_");
    assert!(message.contains("the total readout time is not known"), "{message}");
}

#[test]
fn images_that_cannot_be_combined_are_refused() {
    let place = place();
    let mut other = read(&place, "truth.nii.gz");
    other.grid.origin.x += 9.0;
    nifti::write_volume(&place.path("other.nii.gz"), &other).expect("written");
    for (line, expected) in [
        ("-i plus.nii.gz --phase-encoding j", "expected at least two with opposite directions"),
        (
            "-i plus.nii.gz --phase-encoding j -i minus.nii.gz --phase-encoding j",
            "all images are encoded in the direction j",
        ),
        ("-i plus.nii.gz --phase-encoding j -i minus.nii.gz --phase-encoding k-", "expected one axis"),
        ("-i plus.nii.gz -i minus.nii.gz", "the direction of the phase encoding is not known"),
        ("-i plus.nii.gz --phase-encoding j -i minus.nii.gz", "found 1 values of --phase-encoding for 2 images"),
        ("-i plus.nii.gz --phase-encoding j -i other.nii.gz --phase-encoding j-", "expected the grid of plus.nii.gz"),
        ("-i plus.nii.gz --phase-encoding j -i missing.nii.gz --phase-encoding j-", "missing.nii.gz"),
    ] {
        let message = place.refuse(1, &format!("undistort {line} -o r_"));
        assert!(message.contains(expected), "{line}: {message}");
    }
    let message = place.refuse(2, "undistort -i plus.nii.gz --phase-encoding AP -o r_");
    assert!(message.contains("expected i, i-, j, j-, k or k-"), "{message}");
    let left = std::fs::read_dir(place.path(".")).expect("a folder");
    let written =
        left.filter(|entry| entry.as_ref().is_ok_and(|e| e.file_name().to_string_lossy().starts_with("r_")));
    assert_eq!(written.count(), 0);
    let run = place.succeed("undistort -i plus.nii.gz --phase-encoding j -i minus.nii.gz --phase-encoding j- -o n_");
    assert!(run.stderr.contains("no readout time is known") && !run.stderr.contains("Hz.nii.gz"), "{}", run.stderr);
}
