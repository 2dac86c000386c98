//! Tests of `antsRegistration` as a link to `antsreg-gpu`: names and number of outputs, replaced options, refused
//! command lines.

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

/// Names of the files that a command line writes.
fn outputs(place: &Workplace) -> Vec<String> {
    place.names().into_iter().filter(|name| name.starts_with("o_")).collect()
}

fn stage(transform: &str, iterations: usize) -> String {
    format!("-t {transform} -m CC[{PAIR},1,2] -c {iterations} -f 2 -s 1vox ")
}

#[test]
fn outputs_are_numbered_as_those_of_ants() {
    // The expected names are those that real ANTs writes for these command lines.
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
        "the schedule of Rigid[0.1] and Affine[0.1] is replaced by one search over 12 degrees of freedom",
        "the metric GC of SyN[0.2,3,0] is replaced by CC of radius 4",
        "shrink factor 64 of SyN[0.2,3,0] is replaced by",
    ] {
        assert!(said.contains(words), "`{words}` is missing in: {said}");
    }
    assert_eq!(outputs(&place), ["o_0GenericAffine.mat", "o_1InverseWarp.nii.gz", "o_1Warp.nii.gz"]);
}

#[test]
fn warps_lie_on_the_grid_of_the_last_level() {
    let place = Workplace::with_pair();
    let fixed = nifti::read_volume(&place.path("f.nii.gz")).expect("an image").grid;
    for (factors, shrink) in [("4x2", 2), ("2x1", 1)] {
        let line = format!("-t SyN[0.3,3,0] -m CC[{PAIR},1,2] -c 5x0 -f {factors} -s 1x0vox");
        for (more, name) in [("", "o_0Warp.nii.gz"), ("", "o_0InverseWarp.nii.gz")] {
            succeed(&place, &format!("-d 3 {line} -o o_ {more}"));
            let found = itk::read_warp(&place.path(name)).expect("a warp").grid;
            assert!(found.matches(&fixed.shrink([shrink; 3]), 1e-4), "{factors} {found:?}");
        }
        let apply = "-d 3 -i m.nii.gz -r f.nii.gz -t o_0Warp.nii.gz -o again.nii.gz";
        succeed(&place, &format!("-d 3 {line} -o [o_,o_w.nii.gz]"));
        assert_eq!(call(&place, "antsApplyTransforms", apply).code, Some(0));
        let [kept, again] =
            ["o_w.nii.gz", "again.nii.gz"].map(|name| nifti::read_volume(&place.path(name)).expect("an image"));
        let most = kept.voxels.iter().fold(0.0_f32, |most, value| most.max(*value));
        let apart = kept.voxels.iter().zip(&again.voxels).map(|(a, b)| (a - b).abs()).sum::<f32>();
        assert!(apart / (kept.voxels.len() as f32) < 0.01 * most, "{factors}: {apart}");
    }
}

#[test]
fn stages_may_register_different_images() {
    let place = Workplace::with_pair();
    for (name, copy) in [("f.nii.gz", "f2.nii.gz"), ("m.nii.gz", "m2.nii.gz")] {
        let mut image = nifti::read_volume(&place.path(name)).expect("an image");
        image.grid.origin.y += if copy == "m2.nii.gz" { 4.0 } else { 0.0 };
        nifti::write_volume(&place.path(copy), &image).expect("written");
        nifti::write_volume(&place.path(&format!("same_{name}")), &image).expect("written");
    }
    let warp = |images: [&str; 2], more: &str| {
        let [first, second] = images.map(|pair| format!("-t SyN[0.3,3,0] -m CC[{pair},1,2]"));
        let levels = "-c 5 -f 2 -s 1vox";
        succeed(&place, &format!("-d 3 {first} {levels} {second} {more} {levels} -o o_"));
        assert_eq!(outputs(&place), ["o_0InverseWarp.nii.gz", "o_0Warp.nii.gz"]);
        place.read("o_0Warp.nii.gz")
    };
    let second = "f2.nii.gz,m2.nii.gz";
    // The same voxels under other names give the same warp.
    nifti::write_volume(
        &place.path("same_m.nii.gz"),
        &nifti::read_volume(&place.path("m.nii.gz")).expect("an image"),
    )
    .expect("written");
    let moved = warp([PAIR, second], "");
    assert!(warp([PAIR, PAIR], "") == warp([PAIR, "same_f.nii.gz,same_m.nii.gz"], ""), "images with other names");
    assert!(warp([PAIR, PAIR], "") != moved, "the images of the second stage");
    assert!(moved != warp([PAIR, second], &format!("-m CC[{PAIR},1,2]")), "a further metric of the second stage");
    // The images of a stage on another grid than that of the first stage's images.
    let mut other = nifti::read_volume(&place.path("f.nii.gz")).expect("an image");
    other.grid.spacing *= 1.2;
    nifti::write_volume(&place.path("f3.nii.gz"), &other).expect("written");
    std::fs::remove_file(place.path("o_0Warp.nii.gz")).expect("removed");
    let line =
        format!("-d 3 {} -t SyN[0.3] -m CC[f3.nii.gz,m.nii.gz,1,2] -c 5 -f 2 -s 1vox -o o_", stage("SyN[0.3]", 5));
    let run = call(&place, "antsRegistration", &line);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("another grid") && run.stderr.contains("ANTSREG_FALLBACK=1"), "{}", run.stderr);
    assert_eq!(outputs(&place), ["o_0InverseWarp.nii.gz"]);
}

#[test]
fn a_restricted_registration_moves_along_one_axis_alone() {
    let place = Workplace::with_pair();
    // The moving image is shifted along y, so that the registration has something to correct.
    let mut moving = nifti::read_volume(&place.path("m.nii.gz")).expect("an image");
    moving.grid.origin.y += 6.0;
    nifti::write_volume(&place.path("m.nii.gz"), &moving).expect("written");
    succeed(&place, &format!("-d 3 {} -g 0x1x0 -o o_", stage("SyN[0.5,3,0]", 10)));
    let warp = itk::read_warp(&place.path("o_0Warp.nii.gz")).expect("a warp");
    assert!(warp.vectors.iter().all(|vector| vector[0] == 0.0 && vector[2] == 0.0));
    assert!(warp.vectors.iter().any(|vector| vector[1].abs() > 0.1));
}

#[test]
fn an_initial_fixed_transform_is_what_the_stages_see_the_fixed_image_through() {
    let place = Workplace::with_pair();
    let transform = |name: &str, shift: f64| {
        let text = format!(
            "#Insight Transform File V1.0\n#Transform 0\nTransform: TranslationTransform_double_3_3\n\
             Parameters: {shift} 0 0\nFixedParameters:\n"
        );
        place.file(name, text.as_bytes());
    };
    transform("q.txt", 6.0);
    // Fixed and moving image are equal. The initial transform moves the fixed image by 6 mm before the registration, so
    // the registration must find a shift by 6 mm.
    succeed(&place, &format!("-d 3 -q q.txt {} -o [o_,o_w.nii.gz,o_i.nii.gz]", stage("Translation[0.1]", 100)));
    let found = itk::read_affine(&place.path("o_0GenericAffine.mat")).expect("an affine");
    let wanted = itk::read_affine(&place.path("q.txt")).expect("a translation");
    assert!((found.translation - wanted.translation).norm() < 0.5, "{found:?}");
    assert_eq!(outputs(&place), ["o_0GenericAffine.mat", "o_i.nii.gz", "o_w.nii.gz"]);
    // The initial transform of the fixed image acts only during the registration. The written inverse image is the
    // original fixed image resampled by the found transform, so it lies 6 mm from the fixed image.
    let [inverse, fixed] =
        ["o_i.nii.gz", "f.nii.gz"].map(|name| nifti::read_volume(&place.path(name)).expect("an image"));
    let apart = |a: &antsreg_core::Volume, b: &antsreg_core::Volume| {
        (a.centre_of_mass().expect("mass") - b.centre_of_mass().expect("mass")).norm()
    };
    assert!((apart(&inverse, &fixed) - 6.0).abs() < 1.5, "{}", apart(&inverse, &fixed));
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
    // Fixed and moving image are equal, so the result is the identity.
    let found = itk::read_affine(&place.path("o_a.mat")).expect("an affine");
    let identity = antsreg_core::AffineTransform::identity();
    assert!((found.matrix - identity.matrix).amax() < 0.01 && found.translation.norm() < 1.0, "{found:?}");
}

#[test]
fn centres_of_mass_are_aligned_without_a_search() {
    let place = Workplace::with_pair();
    let run = call(&place, "antsAI", &format!("-d 3 -m Mattes[{PAIR},32] -t AlignCentersOfMass -o o_b.mat"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let found = itk::read_affine(&place.path("o_b.mat")).expect("an affine");
    // Fixed and moving image are equal.
    assert!(found.matrix == nalgebra::Matrix3::identity() && found.translation.norm() < 1e-4, "{found:?}");
}

#[test]
fn splines_regularise_updates() {
    let place = Workplace::with_pair();
    let mut moving = nifti::read_volume(&place.path("m.nii.gz")).expect("an image");
    moving.grid.origin.y += 4.0;
    nifti::write_volume(&place.path("m.nii.gz"), &moving).expect("written");
    let before = "-d 3 -i m.nii.gz -r f.nii.gz -t identity -o before.nii.gz";
    assert_eq!(call(&place, "antsApplyTransforms", before).code, Some(0));
    let warp = |transform: &str| {
        let levels = "-c 20x10 -f 2x1 -s 1x0vox -o [o_,o_w.nii.gz]";
        let said = succeed(&place, &format!("-d 3 -t {transform} -m CC[{PAIR},1,2] {levels}"));
        let warp = itk::read_warp(&place.path("o_0Warp.nii.gz")).expect("a warp");
        let names = ["f.nii.gz", "o_w.nii.gz", "before.nii.gz"];
        let images = names.map(|name| nifti::read_volume(&place.path(name)).expect("an image"));
        let apart =
            |n: usize| images[0].voxels.iter().zip(&images[n].voxels).map(|(a, b)| (a - b).abs()).sum::<f32>();
        assert!(apart(1) < 0.95 * apart(2), "{transform}: {} {}", apart(1), apart(2));
        (warp, said)
    };
    let (gaussian, _) = warp("SyN[0.25,3,0]");
    let (splines, said) = warp("BSplineSyN[0.25,40,0,3]");
    assert!(!said.contains("at least 4 elements"), "{said}");
    assert_ne!(gaussian.vectors, splines.vectors);
    assert_ne!(splines.vectors, warp("BSplineSyN[0.25,40,60,3]").0.vectors);
    let (_, said) = warp("BSplineSyN[0.25,3x4x4]");
    assert!(
        said.contains("the mesh 3x4x4 of BSplineSyN[0.25,3x4x4] is replaced by one of at least 4 elements"),
        "{said}"
    );
}

#[test]
fn the_scripts_leave_the_files_of_ants() {
    let place = Workplace::with_pair();
    let run = call(&place, "antsRegistrationSyNQuick.sh", "-d 3 -f f.nii.gz -m m.nii.gz -o o_ -t sr -n 2");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let images = ["o_InverseWarped.nii.gz", "o_Warped.nii.gz"];
    let transforms = ["o_0GenericAffine.mat", "o_1InverseWarp.nii.gz", "o_1Warp.nii.gz"];
    assert_eq!(outputs(&place), [&transforms[..], &images[..]].concat());
    let run = call(&place, "antsRegistrationSyNQuick.sh", "-d 3 -f f.nii.gz -m m.nii.gz -o o_ -t bo -s 60");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}
