//! Commands of ANTs and FSL that write their output over one of their inputs.

use antsreg_core::Volume;
use antsreg_core::io::nifti::{self, Series, Timing};
use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::Matrix3;

/// A command line with `IN` for a file that it reads and `OUT` for the file that it writes, and the name of the file.
const LINES: &[(&str, &str)] = &[
    ("antsApplyTransforms -d 3 -i IN -r r.nii.gz -t a.mat -o OUT", "f.nii.gz"),
    ("antsApplyTransforms -d 3 -i f.nii.gz -r IN -t a.mat -o OUT", "r.nii.gz"),
    ("antsApplyTransforms -d 3 -i f.nii.gz -r r.nii.gz -t IN -t a.mat -o [OUT,1]", "w.nii.gz"),
    ("antsApplyTransforms -d 3 -r r.nii.gz -t IN -t a.mat -o Linear[OUT]", "b.mat"),
    ("antsApplyTransforms -d 3 -e 3 -i IN -r r.nii.gz -t a.mat -o OUT", "s.nii.gz"),
    ("antsApplyTransformsToPoints -d 3 -i IN -t a.mat -o OUT", "p.csv"),
    ("CreateJacobianDeterminantImage 3 IN OUT", "w.nii.gz"),
    ("ImageMath 3 OUT TruncateImageIntensity IN 0.1 0.9", "f.nii.gz"),
    ("N4BiasFieldCorrection -d 3 -i IN -o OUT -s 1 -c [2,0]", "f.nii.gz"),
    ("flirt -in IN -ref r.nii.gz -init i.txt -applyxfm -out OUT", "f.nii.gz"),
    ("flirt -in f.nii.gz -ref r.nii.gz -init IN -omat OUT -nosearch -dof 6", "i.txt"),
    ("mcflirt -in IN -out OUT", "s.nii.gz"),
    ("convert_xfm -omat OUT -inverse IN", "i.txt"),
    ("c3d_affine_tool IN -inv -o OUT", "i.txt"),
    ("ComposeMultiTransform 3 OUT -R r.nii.gz IN a.mat", "w.nii.gz"),
    ("ImageMath 3 OUT PropagateLabelsThroughMask f.nii.gz IN", "r.nii.gz"),
    ("applywarp -i IN -r r.nii.gz --premat=i.txt -o OUT", "f.nii.gz"),
];

fn place() -> Workplace {
    let place = Workplace::new();
    let onto = grid(12.0, [0.0; 3], Matrix3::identity());
    Brain::standard().write_image(&onto, &place.path("f.nii.gz"));
    Brain::standard().write_image(&grid(12.0, [4.0, 0.0, 0.0], Matrix3::identity()), &place.path("r.nii.gz"));
    let volumes: Vec<Volume> =
        (0..2).map(|n| Brain { warp_mm: f64::from(n), ..Brain::standard() }.image(&onto)).collect();
    let timing = Timing { start: 0.0, step: 2.0, unit: Timing::SECONDS };
    nifti::write_series(&place.path("s.nii.gz"), &Series { volumes, timing }).expect("written");
    for (name, shift) in [("a.mat", 3.0), ("b.mat", -1.0)] {
        let affine = antsreg_core::AffineTransform {
            translation: nalgebra::Vector3::new(shift, 1.0, 0.0),
            ..antsreg_core::AffineTransform::identity()
        };
        antsreg_core::io::itk::write_affine(&place.path(name), &affine, nalgebra::Point3::origin()).expect("written");
    }
    place.file("i.txt", b"1 0.1 0 3\n-0.1 1 0 0\n0 0 1.1 2\n0 0 0 1\n");
    place.file("p.csv", b"x,y,z,t\n1,2,3,0\n");
    place.succeed("as antsApplyTransforms -d 3 -r r.nii.gz -t a.mat -o [w.nii.gz,1]");
    place
}

fn line(words: &str, input: &str, output: &str) -> String {
    format!("as {}", words.replace("IN", input).replace("OUT", output))
}

#[test]
fn the_result_is_that_with_another_name() {
    let place = place();
    for (words, file) in LINES {
        let other = format!("o_{file}");
        place.succeed(&line(words, file, &other));
        let before = place.read(file);
        place.succeed(&line(words, file, file));
        let now = place.read(file);
        assert!(now == place.read(&other), "{words}");
        assert!(now != before, "{words}: the file was not replaced");
        place.file(file, &before);
    }
}

#[test]
fn a_registration_refines_the_start_in_its_own_output() {
    let place = Workplace::with_pair();
    let line = |start: &str, output: &str| {
        place.succeed(&format!(
            "as antsRegistration -d 3 -r {start} -t Rigid[0.1] -m MI[f.nii.gz,m.nii.gz,1,32] -c 10 -f 4 -s 1vox -o {output}"
        ));
    };
    line("[f.nii.gz,m.nii.gz,1]", "x_");
    line("x_0GenericAffine.mat", "y_");
    line("x_0GenericAffine.mat", "x_");
    assert!(place.read("x_0GenericAffine.mat") == place.read("y_0GenericAffine.mat"));
}

#[test]
fn a_failed_write_leaves_the_input() {
    let place = place();
    for (words, file) in LINES {
        let before = place.read(file);
        let names = place.names();
        for at in 1.. {
            let mut command = place.command(line(words, file, file).split_whitespace());
            let run = command.env("ANTSREG_FAIL_AT", at.to_string()).output().expect("the program starts");
            let now = place.read(file);
            if run.status.success() {
                assert!(at > 1 && now != before, "{words}: this test needs a program built with debug assertions");
                break;
            }
            assert!(now == before, "{words}, operation {at}");
            assert_eq!(place.names(), names, "{words}, operation {at}");
        }
        place.file(file, &before);
    }
}
