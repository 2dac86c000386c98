//! Tests of results that may be wrong: the command succeeds and prints a warning.

use antsreg_core::Grid;
use antsreg_tests::{Brain, Workplace};
use nalgebra::{Matrix3, Point3, Vector3};

/// Makes a folder with a pair of brains that are cut to four thick slices, which do not determine an affine.
fn slabs() -> Workplace {
    let place = Workplace::new();
    let (shape, spacing) = ([24, 28, 4], 6.0);
    let half = Vector3::from_fn(|axis, _| (shape[axis] as f64 - 1.0) / 2.0 * spacing);
    let grid = Grid {
        shape,
        spacing: Vector3::repeat(spacing),
        origin: Point3::from(-half),
        direction: Matrix3::identity(),
    };
    Brain::standard().write_image(&grid, &place.path("f.nii.gz"));
    Brain { warp_mm: 3.0, ..Brain::standard() }.write_image(&grid, &place.path("m.nii.gz"));
    place
}

#[test]
fn a_search_that_runs_off_is_told_of() {
    let place = slabs();
    // The registration's search ends at a wrong position: the cost of the small remaining overlap is lower than that at
    // the right position.
    let run = place.succeed("register -f f.nii.gz -m m.nii.gz -o p -t affine --quiet");
    let record = place.record("precord.json");
    let [start, now] = ["correlation_at_start", "correlation"].map(|name| record["similarity"][name].as_f64());
    assert!(
        start > Some(0.95) && now < Some(0.9),
        "{start:?}, {now:?}: the search finds its way, and tests nothing here"
    );
    let recorded = record["warnings"][0].as_str().expect("a warning");
    // The message on standard error must consist of the warning in the JSON record and advice for the user.
    assert!(run.stderr.starts_with(&format!("warning: {recorded}; look at the images")), "{}", run.stderr);
    let warning = run.stderr;
    let lines: Vec<&str> = warning.lines().collect();
    assert!(lines.len() == 2 && lines[1].contains("scales by"), "{warning}");
    for word in ["worse than the initial transform", "correlation", "covers", "--transform rigid", "--no-search"] {
        assert!(warning.contains(word), "`{word}` is missing in: {warning}");
    }
    // The warning of the run above advises the options --transform rigid and --no-search. With both options, the
    // registration must give no warning.
    let quiet = place.succeed("register -f f.nii.gz -m m.nii.gz -o r -t rigid --no-search --quiet");
    assert_eq!(quiet.stderr, "");
    // If many subjects are registered, the warning begins with the name of the subject.
    let run = place.succeed("batch m.nii.gz -f f.nii.gz -o out -t affine --quiet");
    assert_eq!(run.stderr, warning.replace("warning: ", "warning: m: "));
    let table = String::from_utf8(place.read("out/summary.csv")).expect("text");
    assert!(table.contains(recorded), "{table}");
}
