//! Tests of `normalise` with the built-in head at other positions.

use antsreg_core::io::nifti;
use antsreg_core::{AffineTransform, Transform, TransformChain};
use antsreg_heads::brain::{Contrast, Template};
use antsreg_kernels::apply::{Interpolation, resample};
use antsreg_tests::{Workplace, grid};
use nalgebra::{Matrix3, Rotation3, Vector3};
use serde_json::Value;

/// Options for fast registrations. The tests check files, not the quality of the registration.
const QUICK: &str = "--device cpu --preset fast";

/// Writes the head image that is built into the program, rotated, shaded and on a grid of 4 mm.
fn write_head(place: &Workplace, contrast: Contrast, angle: f64, name: &str) {
    let template = Template::built_in(Some(contrast)).expect("the built-in head");
    let head = template.head();
    let turn = Rotation3::from_euler_angles(angle, -0.5 * angle, 0.1).into_inner();
    let centre = head.grid.centre().coords;
    let affine = AffineTransform { matrix: turn, translation: centre + Vector3::new(3.0, -5.0, 4.0) };
    let onto = grid(4.0, [0.0; 3], Matrix3::identity());
    let chain = TransformChain::from(vec![Transform::Affine(affine)]);
    let mut image = resample(head, &onto, &chain, Interpolation::Linear, 0.0);
    let nx = onto.shape[0];
    for (n, voxel) in image.voxels.iter_mut().enumerate() {
        *voxel *= 1.0 + 0.3 * (n % nx) as f32 / nx as f32;
    }
    let path = place.path(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    nifti::write_volume(&path, &image).expect("written");
}

/// Names of all files below a folder, sorted, including hidden files.
fn names(place: &Workplace, folder: &str) -> Vec<String> {
    fn walk(folder: &std::path::Path, names: &mut Vec<String>, below: &str) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let name = format!("{below}{}", entry.file_name().to_string_lossy());
            match entry.path().is_dir() {
                true => walk(&entry.path(), names, &format!("{name}/")),
                false => names.push(name),
            }
        }
    }
    let mut found = Vec::new();
    walk(&place.path(folder), &mut found, "");
    found.sort();
    found
}

fn json(place: &Workplace, name: &str) -> Value {
    serde_json::from_slice(&place.read(name)).expect(name)
}

#[test]
fn a_dataset_becomes_derivatives_whole_in_shares_and_when_taken_up_again() {
    let place = Workplace::new();
    write_head(&place, Contrast::T1, 0.1, "raw/sub-01/ses-a/anat/sub-01_ses-a_run-1_T1w.nii.gz");
    write_head(&place, Contrast::T2, 0.15, "raw/sub-01/ses-a/anat/sub-01_ses-a_T2w.nii.gz");
    write_head(&place, Contrast::T1, -0.1, "raw/sub-02/anat/sub-02_T1w.nii.gz");
    let whole = place.succeed(&format!("normalise raw -o whole {QUICK}"));
    assert!(whole.stdout.contains("2 done, 0 skipped, 0 failed"), "{}", whole.stdout);
    assert!(whole.stderr.contains("sub-02: prepared (shading, brain), "), "{}", whole.stderr);
    let first = "sub-01/ses-a/anat/sub-01_ses-a_run-1_";
    let space = "MNI152NLin2009cAsym";
    let mut expected = vec![
        ".bidsignore".to_owned(),
        "dataset_description.json".into(),
        "logs/sub-01_ses-a_run-1_record.json".into(),
        "logs/sub-02_record.json".into(),
        "report.html".into(),
        "sub-01_ses-a_run-1.html".into(),
        "sub-02.html".into(),
        "summary.csv".into(),
        format!("{first}from-T2w_to-T1w_mode-image_xfm.txt"),
    ];
    for (start, suffixes) in [(first, &["T1w", "T2w"][..]), ("sub-02/anat/sub-02_", &["T1w"])] {
        let mut images = vec!["desc-brain_mask".to_owned()];
        images.extend(suffixes.iter().map(|suffix| format!("desc-preproc_{suffix}")));
        for image in images {
            for in_space in [String::new(), format!("space-{space}_")] {
                expected.extend(["json", "nii.gz"].map(|extension| format!("{start}{in_space}{image}.{extension}")));
            }
        }
        for [from, to] in [["T1w", space], [space, "T1w"]] {
            expected.push(format!("{start}from-{from}_to-{to}_mode-image_xfm.h5"));
        }
    }
    expected.sort();
    assert_eq!(names(&place, "whole"), expected);
    // The head and its brain must be found and aligned with the template: high correlation, plausible brain volume.
    let record = json(&place, "whole/logs/sub-02_record.json");
    let correlation = record["similarity"]["correlation"].as_f64().expect("a number");
    assert!(correlation > 0.9, "correlation {correlation}");
    let second = |name: &str| record["seconds"][name].as_f64().expect("a number");
    let parts: f64 = ["read", "preparing", "linear", "syn", "outputs"].map(second).iter().sum();
    assert!(second("preparing") > 0.0 && (parts - second("total")).abs() < 1e-9, "{}", record["seconds"]);
    let volume = record["head"]["brain_cm3"].as_f64().expect("a number");
    assert!((1500.0..2300.0).contains(&volume), "{volume} cm³");
    let rigid = &json(&place, "whole/logs/sub-01_ses-a_run-1_record.json")["head"]["carried"][0]["rigid_ras"];
    assert!(rigid[0][0].as_f64().expect("a number") > 0.98, "{rigid}");
    let sidecar = json(&place, &format!("whole/{first}space-{space}_desc-preproc_T1w.json"));
    assert_eq!(sidecar["Sources"][0], "bids:raw:sub-01/ses-a/anat/sub-01_ses-a_run-1_T1w.nii.gz");
    assert_eq!(sidecar["SkullStripped"], false);
    assert_eq!(json(&place, "whole/dataset_description.json")["DatasetType"], "derivative");

    let plan = place.succeed(&format!("normalise raw -o planned {QUICK} --dry-run")).stdout;
    for image in ["sub-01/ses-a/anat/sub-01_ses-a_run-1_T1w.nii.gz", "sub-01/ses-a/anat/sub-01_ses-a_T2w.nii.gz"] {
        assert!(plan.contains(&format!("reads raw/{image}")), "{plan}");
    }
    // Two calls with `--shard` normalise half of the scans each, and a last call writes the files about all scans. The
    // bytes must be the same as those of a single call, except for times.
    for shard in ["1/2", "2/2"] {
        place.succeed(&format!("normalise raw -o parts {QUICK} --shard {shard}"));
        assert!(!place.path("parts/summary.csv").exists(), "a share tells of all");
    }
    let last = place.succeed(&format!("normalise raw -o parts {QUICK} --resume"));
    assert!(last.stdout.contains("0 done, 2 skipped, 0 failed"), "{}", last.stdout);
    assert_eq!(names(&place, "parts"), expected);
    for name in expected {
        let varies = name.ends_with(".html") || name.ends_with("record.json") || name == "summary.csv";
        let same = place.read(&format!("whole/{name}")) == place.read(&format!("parts/{name}"));
        assert!(varies || same, "{name} differs");
    }
    // If the HTML page of a scan is missing, this scan is normalised again.
    std::fs::remove_file(place.path("parts/sub-02.html")).expect("removed");
    let last = place.succeed(&format!("normalize raw -o parts {QUICK} --resume"));
    assert!(last.stdout.contains("1 done, 1 skipped, 0 failed"), "{}", last.stdout);
}

#[test]
fn a_scan_without_a_skull_is_registered_as_it_is_to_the_brain_of_a_template_with_one() {
    let place = Workplace::new();
    write_head(&place, Contrast::T1, 0.1, "whole.nii.gz");
    place.succeed("brain -i whole.nii.gz -o brain.nii.gz --mask mask.nii.gz --device cpu");
    write_head(&place, Contrast::T1, 0.0, "own.nii.gz");
    let quick = "--no-bias --no-report --device cpu -t rigid --finest-mm 4";
    let run = place.succeed(&format!("normalise brain.nii.gz -f own.nii.gz --prefix one_ {quick}"));
    assert!(run.stderr.contains("no skull") && run.stderr.contains("fixed image: its brain"), "{}", run.stderr);
    let record = json(&place, "one_record.json");
    assert!(record["head"]["without_skull"] == true && record["head"]["found"].is_null(), "{record}");
    assert!(record["brains"][0].is_object() && record["brains"][1].is_null(), "{record}");
    let voxels = |name: &str| nifti::read_volume(place.path(name).as_path()).expect("an image").voxels;
    // The mask that `normalise` writes for a skull-stripped scan may differ from the mask that `brain` wrote: a few
    // voxels of the brain have the intensity 0 in the scan.
    let differ =
        voxels("one_desc-brain_mask.nii.gz").iter().zip(voxels("mask.nii.gz")).filter(|(a, b)| **a != *b).count();
    assert!(differ < 50, "{differ} voxels");
    assert_eq!(json(&place, "one_desc-preproc_T1w.json")["SkullStripped"], true);
    // The skull-stripped scan was made from the whole head. `normalise` of the whole head must map the brain to the
    // same place as `normalise` of the skull-stripped scan.
    place.succeed(&format!("normalise whole.nii.gz -f own.nii.gz --prefix two_ {quick}"));
    let whole = json(&place, "two_record.json");
    assert!(whole["head"]["without_skull"] == false && whole["head"]["found"].is_object(), "{whole}");
    assert_eq!(json(&place, "two_desc-preproc_T1w.json")["SkullStripped"], false);
    for row in 0..3 {
        for column in 0..4 {
            let [one, two] = [&record, &whole].map(|of| of["affine_ras"][row][column].as_f64().expect("a number"));
            assert!((one - two).abs() < 0.5, "{row} {column}: {one} {two}");
        }
    }
}

#[test]
fn a_scan_of_another_contrast_is_registered_to_a_template_in_its_contrast() {
    let place = Workplace::new();
    write_head(&place, Contrast::T2, 0.1, "sub-1_T2w.nii.gz");
    write_head(&place, Contrast::T2, 0.1, "scan.nii.gz");
    let quick = "--no-bias --no-report --device cpu -t affine --finest-mm 4";
    let named = place.succeed(&format!("normalise sub-1_T2w.nii.gz --prefix one_ {quick}"));
    assert!(!named.stderr.contains("BIDS suffix"), "{}", named.stderr);
    let record = json(&place, "one_record.json");
    assert_eq!(record["head"]["found"]["contrast"], "t2");
    assert_eq!(record["head"]["template_in_contrast"], true);
    let correlation = record["similarity"]["correlation"].as_f64().expect("a number");
    assert!(correlation > 0.8, "correlation {correlation}");
    assert!(place.path("one_desc-preproc_T2w.nii.gz").exists());
    // The contrast is found in the image too, but cannot change the names of the outputs.
    let unnamed = place.succeed(&format!("normalise scan.nii.gz --prefix two_ {quick}"));
    assert!(unnamed.stderr.contains("most like T2") && unnamed.stderr.contains("BIDS suffix"), "{}", unnamed.stderr);
    let same = place.read("one_from-T2w_to-MNI152NLin2009cAsym_mode-image_xfm.h5");
    assert!(same == place.read("two_from-T1w_to-MNI152NLin2009cAsym_mode-image_xfm.h5"), "other transforms");
    write_head(&place, Contrast::T1, 0.1, "sub-2_T1w.nii.gz");
    place.succeed(&format!("normalise sub-2_T1w.nii.gz --prefix three_ {quick}"));
    assert_eq!(json(&place, "three_record.json")["head"]["template_in_contrast"], false);
}

#[test]
fn warnings_about_the_brain_of_a_scan_are_printed() {
    let place = Workplace::new();
    write_head(&place, Contrast::T1, 0.1, "whole.nii.gz");
    // The upper third of the head is cut off, so part of the brain lies outside the image.
    let mut image = nifti::read_volume(place.path("whole.nii.gz").as_path()).expect("an image");
    let [nx, ny, nz] = image.grid.shape;
    image.grid.shape[2] = 2 * nz / 3;
    image.voxels.truncate(nx * ny * image.grid.shape[2]);
    nifti::write_volume(place.path("cut.nii.gz").as_path(), &image).expect("written");
    let quick = "--no-bias --no-report --device cpu -t rigid --finest-mm 4";
    let run = place.succeed(&format!("normalise cut.nii.gz --prefix one_ {quick}"));
    let record = json(&place, "one_record.json");
    let warnings = record["warnings"].as_array().expect("a list");
    assert!(!warnings.is_empty(), "{record}");
    for warning in warnings {
        let printed = format!("warning: cut: {}", warning.as_str().expect("a text"));
        assert!(run.stderr.contains(&printed), "`{printed}` is missing in: {}", run.stderr);
    }
}

#[test]
fn one_scan_with_a_mask_and_a_template_of_ones_own() {
    let place = Workplace::with_pair();
    place.file("t.csv", b"image,mask\nm.nii.gz,fl.nii.gz\n");
    place.succeed(&format!("normalise t.csv -f f.nii.gz --space own --no-bias --no-report --prefix one_ {QUICK}"));
    let record = json(&place, "one_record.json");
    assert!(record["head"]["found"].is_null(), "a mask that is given is not looked for");
    assert!(place.path("one_space-own_desc-preproc_T1w.nii.gz").exists() && !place.path("one_report.html").exists());
    for (line, message) in [
        ("normalise f.nii.gz m.nii.gz --prefix one_", "expected a folder"),
        ("normalise f.nii.gz -o o --also T2w", "--also"),
        ("normalise f.nii.gz -o o --template-mask f.nii.gz", "--template"),
        ("normalise f.nii.gz", "--output"),
        ("normalise f.nii.gz -o o --shard 3/2", "K/N"),
    ] {
        let told = place.refuse(2, line);
        assert!(told.contains(message), "`{message}` is missing in: {told}");
    }
}
