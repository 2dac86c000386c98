//! Tests of the plan of a template: making, writing, reading and comparing plans, and plans that are refused.

use antsreg_core::io::nifti;
use antsreg_core::{Grid, Volume};
use antsreg_register::Preset;
use tempfile::TempDir;

use super::*;
use crate::subjects;
use crate::template::planning::plan;
use crate::template::{Request, StartImage};

/// The plan of a template as version 0.1.0 wrote it, with a command line instead of data.
const FORMAT_1: &str = include_str!("fixtures/format_1.json");

/// A folder with two small images, `a.nii` and `b.nii`.
fn place() -> TempDir {
    let place = tempfile::tempdir().expect("a folder");
    for (name, factor) in [("a.nii", 1.0), ("b.nii", 2.0)] {
        let mut image = Volume::filled(Grid::axis_aligned([6; 3], [1.0; 3]), 0.0);
        image.voxels.iter_mut().enumerate().for_each(|(n, value)| *value = factor * (n % 7) as f32);
        nifti::write_volume(&place.path().join(name), &image).expect("written");
    }
    place
}

fn request(place: &TempDir) -> Request {
    let files = ["a.nii", "b.nii"].map(|name| place.path().join(name));
    Request {
        folder: place.path().join("out"),
        listing: subjects::list(&files, &[]).expect("two subjects"),
        tables: Vec::new(),
        weights: Vec::new(),
        start: StartImage::Average,
        recipe: Recipe::new(Preset::Default),
        options: TemplateOptions::default(),
        format: Format::NiiGz,
    }
}

fn made(request: &Request) -> Plan {
    std::fs::create_dir_all(&request.folder).expect("a folder");
    plan(request).expect("a plan").0
}

/// Writes `text` as the plan of a template and returns the error of reading this plan.
fn refused(text: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(Layout::plan(folder.path()), text).expect("a file");
    Plan::read(folder.path()).expect_err("refused").to_string()
}

#[test]
fn a_plan_is_read_as_it_was_written() {
    let place = place();
    let mut asked = request(&place);
    // The plan of a template is written as JSON text and read again. Options with long decimal fractions, such as the
    // step towards the mean shape, must keep their exact values.
    asked.options.shape_step = 0.1 + 0.2;
    asked.recipe.syn.gradient_step = 1.0 / 3.0;
    let plan = made(&asked);
    plan.settle(&asked.folder, false).expect("written");
    assert_eq!(Plan::read(&asked.folder).expect("read"), plan);
    assert_eq!((plan.first_pass, plan.start.clone()), (0, StartFrom::AverageOnto("a".into())));
    let text = std::fs::read_to_string(Layout::plan(&asked.folder)).expect("text");
    assert!(!text.contains("command_line"), "{text}");
}

#[test]
fn a_plan_of_another_format_is_refused() {
    let message = refused(FORMAT_1);
    assert!(message.contains("version 0.1.0") && message.contains("format 1"), "{message}");
    let message = refused(r#"{"program": "antsreg-gpu", "version": "9.0", "plan_format": 3}"#);
    assert!(
        message.contains("version 9.0") && message.contains("in format 3; this version reads format 2"),
        "{message}"
    );
    for text in ["", "{}", "[1]", r#"{"program": "another", "plan_format": 2}"#] {
        let message = refused(text);
        assert!(message.contains("is not the plan of a template"), "{text}: {message}");
    }
}

#[test]
fn a_folder_with_a_plan_of_another_format_is_taken_to_restart_alone() {
    let place = place();
    let asked = request(&place);
    let plan = made(&asked);
    let path = Layout::plan(&asked.folder);
    std::fs::write(&path, FORMAT_1).expect("a file");
    assert!(plan.settle(&asked.folder, false).is_err());
    assert_eq!(std::fs::read_to_string(&path).expect("text"), FORMAT_1, "the plan stays");
    plan.settle(&asked.folder, true).expect("written");
    assert_eq!(Plan::read(&asked.folder).expect("read"), plan);
    std::fs::write(&path, "mine").expect("a file");
    assert!(plan.settle(&asked.folder, true).is_err(), "a file that is no plan is not replaced");
}

#[test]
fn what_differs_from_the_plan_in_the_folder_is_named() {
    let place = place();
    let usual = request(&place);
    made(&usual).settle(&usual.folder, false).expect("written");
    let settle = |request: &Request| made(request).settle(&request.folder, false);
    let differing = |request: &Request| match settle(request) {
        Err(Error::Template(TemplateError::Changed { differing, .. })) => differing.join(", "),
        other => panic!("{other:?}"),
    };
    let options = |options| Request { options, ..usual.clone() };
    let usual_options = || usual.options.clone();
    assert!(settle(&options(TemplateOptions { passes: 7, ..usual_options() })).is_ok(), "more passes");
    let sharpened = options(TemplateOptions { sharpen: true, ..usual_options() });
    assert_eq!(differing(&sharpened), "way to update the template");
    let recipe = Recipe { preset: Preset::Fast, ..usual.recipe.clone() };
    assert_eq!(differing(&Request { recipe, ..usual.clone() }), "way to register");
    assert_eq!(differing(&Request { weights: vec![0.5], ..usual.clone() }), "choice of channels");
    assert_eq!(differing(&Request { start: StartImage::Subject("b".into()), ..usual.clone() }), "start");
    let (other, image) = (place.path().join("b.nii"), Volume::filled(Grid::axis_aligned([6; 3], [1.0; 3]), 3.0));
    let voxels = image.voxels.iter().zip(0..).map(|(value, n)| value + (n % 5) as f32).collect();
    nifti::write_volume(&other, &Volume { voxels, ..image }).expect("written");
    assert_eq!(differing(&usual), "set of subjects");
}

#[test]
fn a_plan_that_was_changed_by_hand_is_refused() {
    let place = place();
    let asked = request(&place);
    made(&asked).settle(&asked.folder, false).expect("written");
    let path = Layout::plan(&asked.folder);
    let text = std::fs::read_to_string(&path).expect("text");
    assert!(text.contains("\"shape_step\": 0.25"), "{text}");
    std::fs::write(&path, text.replace("\"shape_step\": 0.25", "\"shape_step\": 0.5")).expect("written");
    let message = Plan::read(&asked.folder).expect_err("refused").to_string();
    assert!(message.contains("changed after it was made; what changed: way to update the template"), "{message}");
}

#[test]
fn requests_that_make_no_template_are_refused() {
    let place = place();
    let usual = || request(&place);
    let one = Request { listing: subjects::list(&[place.path().join("a.nii")], &[]).expect("one"), ..usual() };
    let rigid = Recipe { model: antsreg_register::Model::Rigid, ..usual().recipe };
    for (request, word) in [
        (one, "at least two subjects"),
        (Request { recipe: rigid, ..usual() }, "found the model Rigid"),
        (Request { weights: vec![1.0, 2.0], ..usual() }, "weights, one for each channel: expected 1, found 2"),
        (Request { weights: vec![1e9], ..usual() }, "the weight of a channel must be 0.001 to 1000"),
        (
            Request { start: StartImage::Subject("c".into()), ..usual() },
            "there is no subject called c; the subjects are a, b",
        ),
        (Request { start: StartImage::Images(Vec::new()), ..usual() }, "one for each channel: expected 1, found 0"),
        (Request { folder: place.path().into(), ..usual() }, "this input lies in"),
    ] {
        let message = plan(&request).expect_err(word).to_string();
        assert!(message.contains(word), "`{word}` is missing in: {message}");
    }
}
