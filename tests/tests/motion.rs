//! Tests of the subcommand `motion`.

use antsreg_core::io::itk;
use antsreg_core::io::nifti::{self, Series, Timing};
use antsreg_core::{AffineTransform, Volume};
use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

/// Largest error of a volume's transform, mm: a twentieth of a voxel of 5 mm. The edges of the synthetic brain are
/// steps, which such voxels cannot represent.
const TOLERANCE_MM: f64 = 0.25;

/// True motion of each of five volumes: transform from the reference to the volume, RAS mm. The middle volume does not
/// move.
fn motions() -> Vec<AffineTransform> {
    let motion = |degrees: [f64; 3], shift: [f64; 3]| {
        let [x, y, z] = degrees.map(f64::to_radians);
        AffineTransform {
            matrix: Rotation3::from_euler_angles(x, y, z).into_inner(),
            translation: Vector3::from(shift),
        }
    };
    vec![
        motion([1.0, 0.0, -0.5], [0.5, -0.2, 0.3]),
        motion([-4.0, 3.0, 2.0], [3.0, -2.0, 2.5]),
        AffineTransform::identity(),
        motion([0.3, 0.3, 0.3], [0.0, 0.4, -0.1]),
        motion([0.0, -1.0, 0.0], [-0.6, 0.1, 0.0]),
    ]
}

fn volumes() -> Vec<Volume> {
    let own = grid(5.0, [5.0, -3.0, 2.0], Matrix3::identity());
    motions().iter().map(|motion| Brain::moved(motion).image(&own)).collect()
}

/// Makes a folder with the simulated series `s.nii.gz`.
fn place_with(volumes: Vec<Volume>) -> Workplace {
    let place = Workplace::new();
    let timing = Timing { start: 0.0, step: 2.0, unit: 8 };
    nifti::write_series(&place.path("s.nii.gz"), &Series { volumes, timing }).expect("written");
    place
}

/// The mean distance between the two points to which two transforms map a point of a head, mm.
fn apart(a: &AffineTransform, b: &AffineTransform) -> f64 {
    let corners = (0..8)
        .map(|n| Point3::from(Vector3::new(n & 1, n >> 1 & 1, n >> 2).map(|side| 80.0 * f64::from(side) - 40.0)));
    corners.map(|point| (a.apply(&point) - b.apply(&point)).norm()).sum::<f64>() / 8.0
}

#[test]
fn the_motion_is_found_and_taken_back() {
    let place = place_with(volumes());
    let run = place.succeed("motion -i s.nii.gz -o m --fsl");
    assert!(
        run.stderr.contains("wrote 5 matrices of FSL to mmotion.mat") && !run.stderr.contains("MAT_"),
        "{}",
        run.stderr
    );
    let found = itk::read_affines(&place.path("mmotion.txt")).expect("transforms");
    assert_eq!(found.len(), 5);
    for (n, (found, truth)) in found.iter().zip(motions()).enumerate() {
        assert!(apart(found, &truth) < TOLERANCE_MM, "volume {n}: {}", apart(found, &truth));
    }
    let table = String::from_utf8(place.read("mmotion.tsv")).expect("text");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[0][..7].join(" "), "trans_x trans_y trans_z rot_x rot_y rot_z framewise_displacement");
    assert_eq!(rows[1][6..], ["n/a"; 4]);
    let displacement: f64 = rows[2][6].parse().expect("a number");
    // Framewise displacement is the sum of absolute changes: of three shifts (mm) and of three rotations (arcs on a
    // sphere with a radius of 50 mm). Only a range is expected: the simulated rotations are about the origin, but the
    // measured shifts are those of the reference's centre.
    assert!((10.0..25.0).contains(&displacement), "{displacement}");
    let corrected = nifti::read_series(&place.path("mcorrected.nii.gz")).expect("a series");
    assert_eq!(corrected.timing.step, 2.0);
    let difference = |a: &Volume, b: &Volume| -> f64 {
        a.voxels.iter().zip(&b.voxels).map(|(a, b)| f64::from((a - b).abs())).sum::<f64>() / a.voxels.len() as f64
    };
    let before = volumes();
    assert!(difference(&corrected.volumes[1], &before[2]) < 0.35 * difference(&before[1], &before[2]));
    for n in 0..5 {
        assert!(place.path(&format!("mmotion.mat/MAT_{n:04}")).is_file());
    }
    assert!(place.path("mmean.nii.gz").is_file());
    assert_eq!(place.record("mrecord.json")["volumes"], 5);
}

#[test]
fn one_interpolation_is_the_composed_chain_of_each_volume() {
    let all = volumes();
    let place = place_with(all.clone());
    place.succeed("motion -i s.nii.gz -o m --no-corrected");
    assert!(!place.path("mcorrected.nii.gz").exists());
    Brain::standard().write_image(&grid(8.0, [0.0; 3], Matrix3::identity()), &place.path("f.nii.gz"));
    place.file(
        "shift.txt",
        b"#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n\
          Parameters: 1 0.1 0 -0.1 1 0 0 0 1 4 -7 3\nFixedParameters: 0 0 0\n",
    );
    place.succeed("apply -i s.nii.gz -r f.nii.gz -t shift.txt --motion m -n bspline -o once.nii.gz");
    let once = nifti::read_series(&place.path("once.nii.gz")).expect("a series");
    let motion = String::from_utf8(place.read("mmotion.txt")).expect("text");
    let each: Vec<&str> = motion.split("#Transform ").skip(1).collect();
    assert_eq!(each.len(), all.len());
    for (n, volume) in all.iter().enumerate() {
        nifti::write_volume(&place.path("v.nii.gz"), volume).expect("written");
        // The transform of this volume is copied as text from `mmotion.txt`, so that both runs of `apply` read the same
        // digits.
        let text = format!("#Insight Transform File V1.0\n#Transform {}", each[n]);
        place.file("v.txt", text.as_bytes());
        place.succeed("apply -i v.nii.gz -r f.nii.gz -t shift.txt -t v.txt -n bspline -o alone.nii.gz");
        let alone = nifti::read_volume(&place.path("alone.nii.gz")).expect("a volume");
        assert!(once.volumes[n].voxels == alone.voxels, "volume {n} differs");
    }
    let message = place.refuse(2, "apply -i f.nii.gz -r f.nii.gz --motion mmotion.txt -o x.nii.gz");
    assert!(message.contains("--motion has no effect"), "{message}");
}

#[test]
fn the_page_shows_the_motion_and_makes_no_request() {
    let mut some = volumes();
    some[1].voxels.fill(f32::NAN);
    let place = place_with(some);
    let run = place.run("motion -i s.nii.gz -o m --report --keep-going --reference mean");
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let page = String::from_utf8(place.read("mreport.html")).expect("text");
    for part in
        ["Translations", "Rotations", "Framewise displacement", "DVARS", "Carpet plot", "Mean before", "Mean after"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("volume 1, counted from 0") && page.contains("mmotion.tsv"));
    assert!(!page.contains("src=\"http") && !page.contains("href=\"http"), "a request");
    assert!(page.len() < 2_500_000, "{} bytes", page.len());
    let other = place_with(volumes());
    other.succeed("motion -i s.nii.gz -o m --report=page.html --no-corrected");
    assert!(other.path("page.html").is_file() && !other.path("mreport.html").exists());
}

#[test]
fn contrasts_that_change_are_aligned_by_other_costs() {
    // As in a diffusion series, the first volume has another contrast than the other volumes.
    let mut some = volumes();
    for volume in &mut some[3..] {
        let bright = volume.voxels.iter().copied().fold(0.0, f32::max);
        volume.voxels.iter_mut().for_each(|value| *value = 0.6 * *value * (1.4 - *value / bright));
    }
    let place = place_with(some);
    // The transforms of a histogram cost (`nmi`) may be wrong by 1.25 mm, a quarter of a voxel. With few voxels, such
    // costs prefer positions at which voxels of both images coincide.
    for (cost, tolerance) in [("cr", 2.0 * TOLERANCE_MM), ("nmi", 5.0 * TOLERANCE_MM)] {
        place.succeed(&format!("motion -i s.nii.gz -o {cost} --cost {cost} --no-corrected"));
        let found = itk::read_affines(&place.path(&format!("{cost}motion.txt"))).expect("transforms");
        for (n, (found, truth)) in found.iter().zip(motions()).enumerate() {
            assert!(apart(found, &truth) < tolerance, "{cost}, volume {n}: {}", apart(found, &truth));
        }
    }
}

#[test]
fn damaged_volumes_are_named_and_left_out_where_asked() {
    let mut some = volumes();
    some[1].voxels.fill(f32::NAN);
    some[4].voxels.fill(f32::INFINITY);
    // A single voxel without data does no harm.
    some[3].voxels[7] = f32::NAN;
    let place = place_with(some);
    let message = place.refuse(1, "motion -i s.nii.gz -o m");
    assert!(message.contains("s.nii.gz") && message.contains("volume 1, counted from 0: every voxel"), "{message}");
    let run = place.run("motion -i s.nii.gz -o m --keep-going");
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    for volume in ["volume 1, counted from 0", "volume 4, counted from 0"] {
        assert!(run.stderr.contains(volume), "{}", run.stderr);
    }
    let found = itk::read_affines(&place.path("mmotion.txt")).expect("transforms");
    assert_eq!((found[1], found[4]), (found[0], found[3]));
    assert!(apart(&found[3], &motions()[3]) < TOLERANCE_MM);

    // A truncated file, compressed or not, is refused instead of read as a shorter series.
    let timing = Timing { start: 0.0, step: 2.0, unit: 8 };
    nifti::write_series(&place.path("t.nii"), &Series { volumes: volumes(), timing }).expect("written");
    let (plain, packed) = (place.read("t.nii"), place.read("s.nii.gz"));
    place.file("t.nii", &plain[..plain.len() / 2]);
    place.file("t.nii.gz", &packed[..packed.len() / 2]);
    for name in ["t.nii", "t.nii.gz"] {
        for keep_going in ["", " --keep-going"] {
            let message = place.refuse(1, &format!("motion -i {name} -o h{keep_going}"));
            assert!(message.contains(name), "{message}");
        }
    }
    assert!(!place.names().iter().any(|name| name.starts_with('h')), "{:?}", place.names());
}

#[test]
fn what_is_no_series_or_cannot_be_aligned_is_named() {
    let mut some = volumes();
    some[3].voxels.fill(0.0);
    let place = place_with(some);
    let message = place.refuse(1, "motion -i s.nii.gz -o m");
    assert!(message.contains("volume 3, counted from 0: every voxel of the volume has the same value"), "{message}");
    assert_eq!(place.names(), ["s.nii.gz"]);
    let run = place.run("motion -i s.nii.gz -o m --keep-going");
    assert_eq!(run.code, Some(3));
    assert!(
        run.stderr.contains("volume 3, counted from 0: every voxel of the volume has the same value"),
        "{}",
        run.stderr
    );
    let found = itk::read_affines(&place.path("mmotion.txt")).expect("transforms");
    assert_eq!(found[3], found[2]);
    assert!(apart(&found[4], &motions()[4]) < TOLERANCE_MM);

    let place = place_with(volumes());
    let message = place.refuse(1, "motion -i s.nii.gz -o m --reference 99 --fsl");
    assert!(message.contains("no volume 99, counted from 0: the series has 5"), "{message}");
    let one = volumes().swap_remove(0);
    nifti::write_volume(&place.path("one.nii.gz"), &one).expect("written");
    let message = place.refuse(1, "motion -i one.nii.gz -o m");
    assert!(message.contains("one.nii.gz: expected a series of volumes"), "{message}");
    for (code, line) in [
        (2, "motion -i s.nii.gz -o m --dof 5"),
        (2, "motion -i s.nii.gz -o m --smoothing-sigmas-mm 4x-1"),
        (2, "motion -i s.nii.gz -o a/."),
        (1, "motion -i s.nii.gz -o missing/m"),
    ] {
        place.refuse(code, line);
    }
    assert_eq!(place.names(), ["one.nii.gz", "s.nii.gz"]);
}
