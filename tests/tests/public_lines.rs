//! Command lines of ANTs and FSL from public scripts and packages: nearly all are accepted, and the others are refused
//! before anything is written.

use std::ffi::OsString;

use antsreg_core::io::itk;
use antsreg_core::io::nifti::{self, Planes, PlanesFile, Series, Stored, Timing};
use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::{Matrix3, Point3, Vector3};

/// The command lines, with `f` and `m` for the fixed and the moving image and further names of files.
const LINES: &str = include_str!("public_lines.txt");

/// Commands that are fast enough to be run here. Lines of other commands are parsed and converted to stages.
const FAST: [&str; 6] = [
    "antsApplyTransforms",
    "isct_antsApplyTransforms",
    "antsApplyTransformsToPoints",
    "convert_xfm",
    "c3d_affine_tool",
    "N4BiasFieldCorrection",
];

/// Makes a folder with all files that the lines name.
fn place() -> Workplace {
    let place = Workplace::new();
    let onto = grid(16.0, [0.0; 3], Matrix3::identity());
    let image = Brain::standard().image(&onto);
    for name in ["f", "m", "fb", "mb"] {
        nifti::write_volume(&place.path(&format!("{name}.nii.gz")), &image).expect("written");
    }
    for name in ["fm", "mm", "l"] {
        Brain::standard().write_labels(&onto, &place.path(&format!("{name}.nii.gz")));
    }
    let timing = Timing { start: 0.0, step: 1.0, unit: Timing::SECONDS };
    let series = Series { volumes: vec![image.clone(), image.clone()], timing };
    nifti::write_series(&place.path("s.nii.gz"), &series).expect("written");
    for (name, count, planes) in [("t", 6, Planes::Tensors), ("v", 3, Planes::Vectors)] {
        let file = PlanesFile { grid: &onto, count, planes, stored: Stored::Float32 };
        let plane = |index| Ok(Volume::filled(onto.clone(), if [0, 2, 5].contains(&index) { 1.0 } else { 0.1 }));
        file.write::<antsreg_core::io::Error>(&place.path(&format!("{name}.nii.gz")), plane).expect("written");
    }
    for name in ["f2", "m2"] {
        let mut slice = Volume::filled(Grid::axis_aligned([9, 8, 1], [4.0; 3]), 1.0);
        slice.voxels[30] = 9.0;
        nifti::write_volume(&place.path(&format!("{name}.nii.gz")), &slice).expect("written");
    }
    let affine = AffineTransform { translation: Vector3::new(3.0, 1.0, 0.0), ..AffineTransform::identity() };
    for name in ["a.mat", "a.txt"] {
        itk::write_affine(&place.path(name), &affine, Point3::origin()).expect("written");
    }
    place.file("i.mat", b"1 0.1 0 3\n-0.1 1 0 0\n0 0 1 2\n0 0 0 1\n");
    place.file("p.csv", b"x,y,z,t\n1,2,3,0\n");
    place.succeed("as antsApplyTransforms -d 3 -r f.nii.gz -t a.mat -o [w.nii.gz,1]");
    place.succeed("as antsApplyTransforms -d 3 -r f.nii.gz -t a.mat -t w.nii.gz -o CompositeTransform[c.h5]");
    place
}

#[test]
fn nearly_all_public_lines_are_accepted_and_the_others_refused() {
    let place = place();
    // Names of files on the lines are relative to this folder. This test is alone in its process.
    std::env::set_current_dir(place.path("")).expect("a folder");
    let lines: Vec<&str> = LINES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let (refused, accepted): (Vec<&str>, Vec<&str>) = lines.iter().partition(|line| line.starts_with('!'));
    assert!(lines.len() >= 140 && accepted.len() * 100 >= lines.len() * 95, "{} of {}", accepted.len(), lines.len());
    for line in accepted {
        let words: Vec<&str> = line.split_whitespace().collect();
        if FAST.contains(&words[0]) {
            place.succeed(&format!("as {line}"));
        } else {
            let understood = antsreg_cli::understands(words.iter().map(OsString::from).collect());
            assert!(understood, "{line}\n{}", place.run(&format!("as {line}")).stderr);
        }
    }
    for line in refused {
        let message = place.refuse(2, &format!("as {}", line.trim_start_matches('!')));
        assert!(message.contains("ANTSREG_FALLBACK=1"), "{line}\n{message}");
    }
}
