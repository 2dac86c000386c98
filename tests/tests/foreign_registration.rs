//! `antsRegistration` under its own name: names and numbers of outputs, what is replaced, what is refused.

use antsreg_core::io::{itk, nifti};
use antsreg_tests::{Run, Workplace};

const PAIR: &str = "f.nii.gz,m.nii.gz";

/// Runs a command of ANTs on the CPU.
fn call(place: &Workplace, name: &str, words: &str) -> Run {
    let words = ["as", name].into_iter().chain(words.split_whitespace());
    let output = place.command(words).env("ANTSREG_DEVICE", "cpu").env_remove("ANTSREG_FALLBACK").output();
    let output = output.expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn succeed(place: &Workplace, words: &str) -> String {
    let run = call(place, "antsRegistration", words);
    assert_eq!(run.code, Some(0), "{words}\n{}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    run.stderr
}

/// The names that a call leaves, those of the inputs apart.
fn outputs(place: &Workplace) -> Vec<String> {
    place.names().into_iter().filter(|name| name.starts_with("o_")).collect()
}

fn stage(transform: &str, iterations: usize) -> String {
    format!("-t {transform} -m CC[{PAIR},1,2] -c {iterations} -f 2 -s 1vox ")
}

#[test]
fn outputs_are_numbered_as_those_of_ants() {
    // What real ANTs leaves for these command lines.
    let start = format!("-r [{PAIR},1] ");
    let (rigid, affine, syn) = (stage("Rigid[0.1]", 0), stage("Affine[0.1]", 0), stage("SyN[0.1,3,0]", 0));
    let warps = |n: usize| vec![format!("o_{n}InverseWarp.nii.gz"), format!("o_{n}Warp.nii.gz")];
    let cases = [
        (syn.clone(), vec![], warps(0)),
        (format!("-r Identity {syn}"), vec!["o_0GenericAffine.mat"], warps(1)),
        (format!("{start}{rigid}{affine}{syn}"), vec!["o_0GenericAffine.mat"], warps(1)),
        (
            format!("{start}{rigid}{syn} -z 0"),
            vec!["o_0DerivedInitialMovingTranslation.mat", "o_1Rigid.mat"],
            warps(2),
        ),
        (format!("{start}{rigid}{affine}"), vec!["o_0GenericAffine.mat"], vec![]),
        (format!("{start}{rigid}{syn} -a 1"), vec!["o_Composite.h5", "o_InverseComposite.h5"], vec![]),
    ];
    for (line, affines, fields) in cases {
        let place = Workplace::with_pair();
        succeed(&place, &format!("-d 3 {line} -o o_"));
        let expected: Vec<String> = affines.into_iter().map(String::from).chain(fields).collect();
        assert_eq!(outputs(&place), expected, "{line}");
    }
}

#[test]
fn images_are_written_where_they_are_asked_for_alone() {
    let place = Workplace::with_pair();
    succeed(&place, &format!("-d 3 {} -o [o_,o_w.nii.gz] --float 1", stage("SyN[0.2,3,0]", 3)));
    assert_eq!(outputs(&place), ["o_0InverseWarp.nii.gz", "o_0Warp.nii.gz", "o_w.nii.gz"]);
    let fixed = nifti::read_volume(&place.path("f.nii.gz")).expect("an image");
    assert_eq!(nifti::read_volume(&place.path("o_w.nii.gz")).expect("an image").grid.shape, fixed.grid.shape);
}

#[test]
fn a_stage_without_iterations_adds_nothing_to_its_start() {
    let place = Workplace::with_pair();
    place.file(
        "start.txt",
        b"#Insight Transform File V1.0\n#Transform 0\nTransform: AffineTransform_double_3_3\n\
        Parameters: 1 0.1 0 -0.1 1 0 0 0 1.05 3 -2 1\nFixedParameters: 0 0 0\n",
    );
    for (start, name) in [("start.txt", "start.txt"), ("[start.txt,1]", "inverse")] {
        let said = succeed(&place, &format!("-d 3 -r {start} {} -o o_", stage("Rigid[0.1]", 0)));
        assert!(!said.contains("replaced"), "{said}");
        let given = itk::read_affine(&place.path("start.txt")).expect("an affine");
        let expected = if name == "inverse" { given.inverse().expect("an inverse") } else { given };
        let found = itk::read_affine(&place.path("o_0GenericAffine.mat")).expect("an affine");
        assert!((found.to_homogeneous() - expected.to_homogeneous()).amax() < 1e-9, "{start}");
    }
}

#[test]
fn what_is_replaced_is_said_in_the_one_line() {
    let place = Workplace::with_pair();
    let said = succeed(
        &place,
        &format!(
            "-d 3 -r [{PAIR},1] -t Rigid[0.1] -m MI[{PAIR},1,32,Regular,0.25] -c 10x0 -f 2x1 -s 1x0vox \
             -t Affine[0.1] -m MI[{PAIR},1,32,Regular,0.25] -c 10x0 -f 2x1 -s 2x0mm \
             -t SyN[0.2,3,0] -m GC[{PAIR},1,0] -c [2x1,-0.01,5] -f 64x1 -s 4x1mm -u 1 -w [0.01,0.99] -o o_"
        ),
    );
    for words in [
        "antsRegistration: done by antsreg-gpu",
        "the schedule of Rigid[0.1] and Affine[0.1] by one search over 12 degrees of freedom",
        "GC of SyN[0.2,3,0] by CC of radius 4",
        "shrink factor 64 of SyN[0.2,3,0] by",
    ] {
        assert!(said.contains(words), "`{words}` is missing in: {said}");
    }
    assert_eq!(outputs(&place), ["o_0GenericAffine.mat", "o_1InverseWarp.nii.gz", "o_1Warp.nii.gz"]);
}

#[test]
fn a_restricted_registration_moves_along_one_axis_alone() {
    let place = Workplace::with_pair();
    // Something to move.
    let mut moving = nifti::read_volume(&place.path("m.nii.gz")).expect("an image");
    moving.grid.origin.y += 6.0;
    nifti::write_volume(&place.path("m.nii.gz"), &moving).expect("written");
    succeed(&place, &format!("-d 3 {} -g 0x1x0 -o o_", stage("SyN[0.5,3,0]", 10)));
    let warp = itk::read_warp(&place.path("o_0Warp.nii.gz")).expect("a warp");
    assert!(warp.vectors.iter().all(|vector| vector[0] == 0.0 && vector[2] == 0.0));
    assert!(warp.vectors.iter().any(|vector| vector[1].abs() > 0.1));
}

#[test]
fn what_cannot_be_honoured_is_refused_by_name() {
    let place = Workplace::with_pair();
    let (rigid, syn) = (stage("Rigid[0.1]", 1), stage("SyN[0.1,3,0]", 1));
    let bspline = stage("BSplineSyN[0.1,26,0,3]", 1);
    let cases = [
        (bspline, "--transform BSplineSyN[0.1,26,0,3]: BSplineSyN is not served"),
        (stage("Exponential[0.1,3,0]", 1), "--transform Exponential[0.1,3,0]: this transform is not served"),
        (stage("TimeVaryingVelocityField[1,4,3,0,0,0]", 1), "--transform TimeVaryingVelocityField"),
        (format!("{syn}{rigid}"), "--transform Rigid[0.1]: a linear stage after SyN is not served"),
        (format!("{syn}{syn}-z 0"), "--collapse-output-transforms 0"),
        (format!("{syn}-q a.mat"), "--initial-fixed-transform"),
        (format!("{syn}-j a.h5"), "--save-state"),
        (format!("{syn}-k a.h5"), "--restore-state"),
        (format!("{syn}--minc 1"), "--minc"),
        (format!("{syn}--write-interval-volumes 5"), "--write-interval-volumes"),
        (format!("{rigid}-g 1x0x0x1x1x1"), "--restrict-deformation 1x0x0x1x1x1"),
        (format!("{syn}-n MultiLabel"), "--interpolation MultiLabel"),
        (format!("{syn}-n Cubic"), "--interpolation Cubic: expected"),
        (format!("{syn}-w [0.9,0.1]"), "--winsorize-image-intensities [0.9,0.1]"),
        (format!("{syn}-x a.nii -x b.nii"), "--masks: found 2 masks for 1 stages"),
        (format!("{syn}-r [a,b,c,d]"), "--initial-moving-transform [a,b,c,d]"),
        (format!("{syn}-z 2"), "--collapse-output-transforms: expected 0 or 1"),
        (format!("{syn}--foo 1"), "--foo: is no option of this command"),
        (stage("SyN[99,3,0]", 1), "gradient step"),
        (syn.replace("CC[f.nii.gz,m.nii.gz,1,2]", "CC[f.nii.gz,m.nii.gz,1,99]"), "radius of the correlation window"),
        (syn.replace("-f 2 ", ""), "--shrink-factors: is missing"),
        (syn.replace("CC[", "ICP["), "metrics of point sets"),
    ];
    for (line, expected) in cases {
        let before = place.names();
        let run = call(&place, "antsRegistration", &format!("-d 3 {line} -o o_"));
        assert_eq!(run.code, Some(2), "{line}\n{}", run.stderr);
        assert!(run.stderr.contains(expected), "`{expected}` is missing in: {}", run.stderr);
        assert!(run.stderr.starts_with("error: antsRegistration: "), "{}", run.stderr);
        assert_eq!(place.names(), before, "{line}");
    }
    let dimension = call(&place, "antsRegistration", &format!("-d 4 {syn} -o o_"));
    assert_eq!(dimension.code, Some(2), "{}", dimension.stderr);
    let prefix = call(&place, "antsRegistration", &format!("-d 3 {syn}"));
    assert!(prefix.stderr.contains("--output: is missing"), "{}", prefix.stderr);
}

#[test]
fn the_version_is_one_that_nipype_reads() {
    let place = Workplace::new();
    let said = call(&place, "antsRegistration", "--version").stdout;
    let version = said.lines().next().and_then(|line| line.strip_prefix("ANTs Version: ")).expect("a version");
    let release = version.split('-').next().expect("a release");
    let numbers: Vec<u32> = release.split('.').map(|part| part.parse().expect("a number")).collect();
    assert!(numbers >= vec![2, 6, 0], "{version}");
}

#[test]
fn a_start_is_searched_within_the_angles_asked_for() {
    let place = Workplace::with_pair();
    let run = call(
        &place,
        "antsAI",
        &format!("-d 3 -m Mattes[{PAIR},32,Regular,0.25] -t Rigid[0.1] -s [15,0.1] -o o_a.mat"),
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    // The images are one.
    let found = itk::read_affine(&place.path("o_a.mat")).expect("an affine");
    let identity = antsreg_core::AffineTransform::identity();
    assert!((found.matrix - identity.matrix).amax() < 0.01 && found.translation.norm() < 1.0, "{found:?}");
    let refused = call(&place, "antsAI", &format!("-d 3 -m Mattes[{PAIR},32] -t AlignCentersOfMass -o o_b.mat"));
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--transform AlignCentersOfMass"), "{}", refused.stderr);
}

#[test]
fn the_scripts_leave_the_files_of_ants() {
    let place = Workplace::with_pair();
    let run = call(&place, "antsRegistrationSyNQuick.sh", "-d 3 -f f.nii.gz -m m.nii.gz -o o_ -t sr -n 2");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let images = ["o_InverseWarped.nii.gz", "o_Warped.nii.gz"];
    let transforms = ["o_0GenericAffine.mat", "o_1InverseWarp.nii.gz", "o_1Warp.nii.gz"];
    assert_eq!(outputs(&place), [&transforms[..], &images[..]].concat());
    let refused = call(&place, "antsRegistrationSyN.sh", "-d 3 -f f.nii.gz -m m.nii.gz -o p_ -t b");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("-t b: splines"), "{}", refused.stderr);
}
