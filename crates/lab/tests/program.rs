//! Tests of the program's command line: help, cost curves on the CPU, and errors for invalid input.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use antsreg_core::AffineTransform;
use antsreg_core::io::itk;
use antsreg_tests::{Brain, grid};
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};
use tempfile::TempDir;

/// Runs the program antsreg-lab in a folder. All GPUs are hidden from the driver.
fn run(folder: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_antsreg-lab"))
        .current_dir(folder)
        .env("CUDA_VISIBLE_DEVICES", "-1")
        // The environment variable `COLUMNS` would set the width of the help text.
        .env_remove("COLUMNS")
        .args(line.split_whitespace())
        .output()
        .expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[test]
fn help_of_every_measurement() {
    let folder = TempDir::new().expect("a folder");
    for line in ["--help", "cost-curves --help", "histograms --help", "papers --help"] {
        let name = line.split_whitespace().next().unwrap_or_default().trim_start_matches('-');
        insta::assert_snapshot!(format!("help_{name}"), text(&run(folder.path(), line).stdout));
    }
}

#[test]
fn what_is_not_understood_exits_with_2() {
    let folder = TempDir::new().expect("a folder");
    for (line, reason) in [
        ("", "Usage: antsreg-lab"),
        ("histograms", "--output <FOLDER>"),
        ("histograms -o . --device cpu", "error: histograms are measured on an NVIDIA GPU, expected cuda or cuda:N"),
        ("histograms -o . --device tpu", "expected auto, cpu, cuda or cuda:N, found `tpu`"),
        ("cost-curves -f f.nii -m m.nii -o c --mm 0", "expected a number above 0, found `0`"),
        ("papers", "<OUT>"),
        ("papers . --only li-2014", "expected li-2015, luo-2015, shams-2010, brosch-2009, sun-2010 or scene,"),
        ("papers . --image a.nii", "--moving <IMAGE>"),
        ("cost-curves -f f.nii -m m.nii -o c --points 0", "expected a whole number of at least 1, found `0`"),
    ] {
        let output = run(folder.path(), line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(text(&output.stderr).contains(reason), "{line}: {}", text(&output.stderr));
    }
}

#[test]
fn a_measurement_of_the_gpu_fails_where_there_is_none() {
    let folder = TempDir::new().expect("a folder");
    for choice in ["", " --device cuda", " --device auto"] {
        let output = run(folder.path(), &format!("histograms -o .{choice}"));
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{}", text(&output.stderr));
        let reason = text(&output.stderr);
        assert!(reason.starts_with("error: device cuda:0 cannot be used: there is no CUDA d"), "{reason}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
}

fn truth() -> AffineTransform {
    let matrix = Rotation3::from_euler_angles(0.15, -0.1, 0.25).into_inner();
    AffineTransform { matrix, translation: Vector3::new(9.0, -14.0, 21.0) }
}

/// Makes a folder with a test brain `f.nii.gz`, the same brain moved by `truth` as `m.nii.gz`, and the transform
/// `truth` as `a.mat`.
fn pair() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    Brain::standard().write_image(&grid(4.0, [0.0; 3], Matrix3::identity()), &path("f.nii.gz"));
    Brain::moved(&truth()).write_image(&grid(4.0, [9.0, -14.0, 21.0], Matrix3::identity()), &path("m.nii.gz"));
    itk::write_affine(&path("a.mat"), &truth(), Point3::origin()).expect("the affine is written");
    folder
}

#[test]
fn curves_are_drawn_and_tabulated() {
    let folder = pair();
    let line = "cost-curves -f f.nii.gz -m m.nii.gz -t a.mat -o c --cost nmi,ncc --mm 4 --points 4 --device cpu";
    let output = run(folder.path(), line);
    assert!(output.status.success(), "{}", text(&output.stderr));
    // The expected table has three curves (two ways of filling the joint histogram, and a cost without a histogram)
    // along each of the six parameters of a rigid transform.
    assert_eq!(text(&output.stdout).lines().count(), 1 + 6 * 3, "{}", text(&output.stdout));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file of text");
    let csv = read("c.csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "parameter,value,nmi trilinear,nmi partial-volume,ncc");
    assert_eq!(lines.len(), 1 + 6 * 9);
    for parameter in lines[1..].chunks(9) {
        let costs: Vec<f64> =
            parameter.iter().map(|row| row.rsplit(',').next().expect("a cell").parse().expect("a cost")).collect();
        let lowest = costs.iter().copied().fold(f64::MAX, f64::min);
        // The cost must be lowest near the true transform in the middle. The neighbouring points are 0.75 mm or 0.75
        // degrees away.
        assert!(costs[3..6].contains(&lowest) && costs[0] > 1.5 * costs[4], "{parameter:?}");
    }
    let svg = read("c.svg");
    assert!(svg.starts_with("<svg") && svg.contains("turn about z, degrees") && svg.contains("nmi partial-volume"));
}

#[test]
fn an_inverted_transform_is_the_inverse() {
    let folder = pair();
    let inverse = truth().inverse().expect("the inverse");
    itk::write_affine(&folder.path().join("i.mat"), &inverse, Point3::origin()).expect("the affine is written");
    let curves = |transform: &str, name: &str| {
        let line = format!(
            "cost-curves -f f.nii.gz -m m.nii.gz -t {transform} -o {name} --cost ncc --mm 4 --points 2 --device cpu"
        );
        let output = run(folder.path(), &line);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let csv = std::fs::read_to_string(folder.path().join(format!("{name}.csv"))).expect("a table");
        let cost = |row: &str| row.rsplit(',').next().and_then(|cell| cell.parse().ok());
        csv.lines().skip(1).map(|row| cost(row).expect("a cost")).collect::<Vec<f64>>()
    };
    for (a, b) in curves("a.mat", "a").iter().zip(curves("[i.mat,1]", "b")) {
        assert!((a - b).abs() < 1e-4, "{a} and {b}");
    }
}

#[test]
fn papers_are_repeated_on_the_cpu_and_no_section_vanishes() {
    let folder = TempDir::new().expect("a folder");
    let output = run(folder.path(), "papers . --small --mm 9");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
    let page = read("papers.html");
    assert!(
        page.starts_with("<!DOCTYPE html>")
            && page.contains("<svg")
            && !page.contains("src=")
            && !page.contains("href=\"http"),
        "a page"
    );
    for part in [
        "Figure 6: Time of the cost function over the number of thread blocks, Fermi",
        "not measured, because this needs an NVIDIA GPU",
        "id=\"sun-2010-table-4-7\"",
        "GPU, textures",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
    let json: serde_json::Value = serde_json::from_str(&read("papers.json")).expect("JSON");
    let papers = json["papers"].as_array().expect("papers");
    let items = papers.iter().map(|paper| paper["items"].as_array().expect("items").len()).sum::<usize>();
    assert_eq!((papers.len(), items), (5, 101));
    // The same pages come from the JSON.
    let again = TempDir::new().expect("a folder");
    let from = folder.path().join("papers.json");
    let output = run(again.path(), &format!("papers . --from {}", from.display()));
    assert!(output.status.success(), "{}", text(&output.stderr));
    for name in ["papers.html", "papers.md", "papers.json"] {
        assert!(std::fs::read_to_string(again.path().join(name)).expect("a file") == read(name), "{name} differs");
    }
}
