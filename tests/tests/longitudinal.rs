//! Tests of `longitudinal`: the order of the time points, a known change, continuing, and refusals.

use std::collections::BTreeMap;

use antsreg_core::AffineTransform;
use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::{Matrix3, Rotation3, Vector3};

const SPACING: f64 = 4.0;
/// Scale of the second brain relative to the first.
const GROWTH: f64 = 1.012;

/// A folder with two time points of a brain, `a` and `b`, and the labels `al` of the first. In the second, the brain is
/// turned, moved, and larger by [`GROWTH`] in every direction.
fn two_times() -> Workplace {
    let place = Workplace::new();
    let onto = grid(SPACING, [0.0; 3], Matrix3::identity());
    Brain::standard().write_image(&onto, &place.path("a.nii.gz"));
    Brain::standard().write_labels(&onto, &place.path("al.nii.gz"));
    let turn = Rotation3::from_euler_angles(0.06, -0.04, 0.08).into_inner();
    let to_world = AffineTransform { matrix: turn * GROWTH, translation: Vector3::new(3.1, -2.3, 1.7) };
    Brain::moved(&to_world)
        .write_image(&grid(SPACING, [1.3, 0.4, -0.7], Matrix3::identity()), &place.path("b.nii.gz"));
    place
}

/// All files of a folder of results and of its folder `steps`, without the record, which has the command line.
fn files(place: &Workplace, folder: &str) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for part in [folder.to_owned(), format!("{folder}/steps")] {
        for entry in std::fs::read_dir(place.path(&part)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_file() && !name.ends_with(".json") {
                found.insert(name, std::fs::read(path).expect("a file"));
            }
        }
    }
    found
}

/// The change of a label in the last time point, %.
fn change(place: &Workplace, folder: &str, label: &str) -> f64 {
    let record = place.record(&format!("{folder}/record.json"));
    let rows = record["volumes"].as_array().expect("rows").clone();
    let row = rows.iter().rev().find(|row| row["label"] == label).unwrap_or_else(|| panic!("no label {label}"));
    row["change_percent"].as_f64().expect("a number")
}

#[test]
fn the_order_changes_no_bit_and_a_known_growth_is_found() {
    let place = two_times();
    place.file("t.csv", b"image,labels,date\na.nii.gz,al.nii.gz,2019-03-01\nb.nii.gz,,2021-03-01\n");
    place.file("u.csv", b"image,labels,date\nb.nii.gz,,2021-03-01\na.nii.gz,al.nii.gz,2019-03-01\n");
    let run = place.succeed("longitudinal t.csv -o t --device cpu");
    place.succeed("longitudinal u.csv -o u --device cpu --threads 1");
    let (first, second) = (files(&place, "t"), files(&place, "u"));
    assert_eq!(first.keys().collect::<Vec<_>>(), second.keys().collect::<Vec<_>>());
    for (name, bytes) in &first {
        assert!(*bytes == second[name], "{name} depends on the order");
    }
    for name in ["template.nii.gz", "a_1Warp.nii.gz", "b_logJacobianChangePerYear.nii.gz", "template_labels.nii.gz"] {
        assert!(first.contains_key(name), "{name}");
    }
    // The brain has sharp borders on voxels of 4 mm, and half of a smooth warp of at most 1 mm: a tenth of the growth.
    let expected = 100.0 * (GROWTH.powi(3) - 1.0);
    let found = change(&place, "t", "brain");
    assert!((found - expected).abs() < 0.15 * expected, "{found} % instead of {expected} %");
    let inner = change(&place, "t", "9");
    assert!((inner - expected).abs() < 0.3 * expected, "label 9: {inner} % instead of {expected} %");
    assert!(run.stdout.contains("% per year"), "{}", run.stdout);

    // The names of the files change nothing either: here the order of the names is that of the second list.
    for (old, new) in [("a.nii.gz", "z.nii.gz"), ("al.nii.gz", "zl.nii.gz")] {
        std::fs::copy(place.path(old), place.path(new)).expect("a copy");
    }
    place.file("z.csv", b"image,labels,date\nb.nii.gz,,2021-03-01\nz.nii.gz,zl.nii.gz,2019-03-01\n");
    place.succeed("longitudinal z.csv -o z --device cpu");
    for (old, new) in [("a_1Warp", "z_1Warp"), ("b_1Warp", "b_1Warp"), ("template", "template")] {
        let [old, new] = [format!("t/{old}.nii.gz"), format!("z/{new}.nii.gz")].map(|name| place.read(&name));
        assert!(old == new, "the names matter");
    }

    // A second run takes the poses and warps of the first, and gives the same bits.
    let again = place.succeed("longitudinal t.csv -o t --device cpu --resume").stderr;
    assert!(again.contains("poses: done before") && again.contains("b: warp done before"), "{again}");
    assert!(files(&place, "t") == first);
    std::fs::remove_file(place.path("t/steps/b_warp.nii.gz")).expect("a file");
    let again = place.succeed("longitudinal t.csv -o t --device cpu --resume").stderr;
    assert!(again.contains("a: warp done before") && !again.contains("b: warp done before"), "{again}");
    assert!(files(&place, "t") == first);
}

#[test]
fn two_people_are_told() {
    let place = two_times();
    let onto = grid(SPACING, [0.0; 3], Matrix3::identity());
    let mut other = Brain { warp_mm: 12.0, ..Brain::standard() };
    other.to_brain.matrix *= 1.1;
    other.write_image(&onto, &place.path("other.nii.gz"));
    let run = place.run("longitudinal a.nii.gz other.nii.gz -o out --device cpu --strict --passes 0");
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    assert!(run.stderr.contains("two people"), "{}", run.stderr);
    assert_eq!(place.record("out/record.json")["verdict"]["judgement"], "wrong");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let place = two_times();
    for (line, words) in [
        ("longitudinal a.nii.gz -o out", "at least two images of one person"),
        ("longitudinal a.nii.gz b.nii.gz --dates 2019-01-01 -o out", "found 1 dates, expected 2"),
        (
            "longitudinal a.nii.gz b.nii.gz --dates 2019-01-01,2019-02-30 -o out",
            "`2019-02-30`, expected a day such as",
        ),
        ("longitudinal a.nii.gz b.nii.gz --dates 2019-01-01,71.5 -o out", "of another kind"),
        ("longitudinal a.nii.gz a.nii.gz -o out", "`a`"),
        ("longitudinal a.nii.gz missing.nii.gz -o out", "missing.nii.gz"),
        ("longitudinal a.nii.gz al.nii.gz -o out", "label map"),
    ] {
        let message = place.refuse(1, line);
        assert!(message.contains(words), "{line}: {message}");
    }
    std::fs::create_dir_all(place.path("foreign")).expect("a folder");
    place.file("foreign/record.json", b"{}");
    let message = place.refuse(2, "longitudinal a.nii.gz b.nii.gz -o foreign");
    assert!(message.contains("not of antsreg-gpu"), "{message}");
    let plan = place.succeed("longitudinal a.nii.gz b.nii.gz -o out --dry-run").stdout;
    assert!(plan.contains("would write out/template.nii.gz") && !place.path("out").exists(), "{plan}");
}
