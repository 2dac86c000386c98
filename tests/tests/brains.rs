//! Brains of heads, and heads beside brains, as a user runs it: on the head that is built in.

use antsreg_core::io::nifti;
use antsreg_core::{AffineTransform, Grid, Transform, TransformChain, Volume};
use antsreg_heads::brain::{Contrast, Template, without_skull};
use antsreg_kernels::apply::{Interpolation, resample};
use antsreg_tests::Workplace;
use nalgebra::{Rotation3, Vector3};

/// The built-in head on its own grid, as its brain alone too; and turned and moved on a grid of 4 mm: `template.nii.gz`,
/// `brain.nii.gz`, `head.nii.gz` and the true mask of the last one, `mask.nii.gz`.
fn place() -> Workplace {
    let place = Workplace::new();
    let template = Template::built_in(Some(Contrast::T1)).expect("undamaged");
    let write = |name: &str, volume: &Volume| {
        nifti::write_volume(place.path(name).as_path(), volume).expect("written");
    };
    write("template.nii.gz", template.head());
    write("brain.nii.gz", &without_skull(template.head(), template.brain()));
    let turned = AffineTransform {
        matrix: Rotation3::from_euler_angles(0.2, -0.1, 0.15).into_inner(),
        translation: Vector3::new(5.0, -8.0, 3.0),
    };
    let chain = TransformChain::from(vec![Transform::Affine(turned)]);
    let mut grid = Grid::axis_aligned([56, 60, 56], [4.0; 3]);
    grid.origin -= grid.centre().coords;
    let onto = |volume| resample(volume, &grid, &chain, Interpolation::Linear, 0.0);
    write("head.nii.gz", &onto(template.head()));
    write("mask.nii.gz", &onto(template.brain()));
    place
}

fn volume(place: &Workplace, name: &str) -> Volume {
    nifti::read_volume(place.path(name).as_path()).expect("an image")
}

fn dice(a: &Volume, b: &Volume) -> f64 {
    let count = |volume: &Volume| volume.voxels.iter().filter(|value| **value > 0.5).count();
    let both = a.voxels.iter().zip(&b.voxels).filter(|(a, b)| **a > 0.5 && **b > 0.5).count();
    2.0 * both as f64 / (count(a) + count(b)) as f64
}

#[test]
fn the_brain_of_a_head_is_written() {
    let place = place();
    let run = place.succeed("brain -i head.nii.gz -o out.nii.gz --mask m.nii.gz --probability p.nii.gz --device cpu");
    assert!(run.stdout.contains("cm³") && run.stdout.contains("T1"), "{}", run.stdout);
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    let [head, truth, out, mask, share] =
        ["head", "mask", "out", "m", "p"].map(|name| volume(&place, &format!("{name}.nii.gz")));
    assert!(dice(&mask, &truth) > 0.94, "{}", dice(&mask, &truth));
    for n in 0..head.voxels.len() {
        let inside = mask.voxels[n] == 1.0;
        assert!(inside || mask.voxels[n] == 0.0);
        assert_eq!(out.voxels[n], if inside { head.voxels[n] } else { 0.0 });
        assert_eq!(share.voxels[n] >= 0.5, inside);
    }
}

#[test]
fn a_head_beside_a_brain_is_registered_by_its_brain() {
    let place = place();
    let registered = "-t rigid --finest-mm 4 --device cpu";
    let run = place.succeed(&format!("register -f brain.nii.gz -m head.nii.gz -o a_ {registered}"));
    assert!(run.stderr.contains("moving image: its brain is registered"), "{}", run.stderr);
    let record = place.record("a_record.json");
    assert_eq!(record["parameters"]["brain"], "auto");
    assert!(record["brains"][0].is_null() && record["brains"][1]["volume_cm3"].as_f64() > Some(1500.0), "{record}");
    // What is written shows the whole head.
    let [brain, warped] = ["brain", "a_Warped"].map(|name| volume(&place, &format!("{name}.nii.gz")));
    let beyond = brain.voxels.iter().zip(&warped.voxels).filter(|(brain, warped)| **brain == 0.0 && **warped > 30.0);
    assert!(beyond.count() > 100_000);
    // The transform is that of the extracted brain.
    place.succeed("brain -i head.nii.gz -o extracted.nii.gz --device cpu");
    place.succeed(&format!("register -f brain.nii.gz -m extracted.nii.gz -o b_ {registered}"));
    assert_eq!(place.record("a_record.json")["affine_ras"], place.record("b_record.json")["affine_ras"]);
    assert!(place.record("b_record.json")["brains"][1].is_null());
    // So does a batch.
    place.succeed(&format!("batch -f brain.nii.gz head.nii.gz -o many --no-report {registered}"));
    let of_batch = place.record("many/head_record.json");
    assert!(of_batch["brains"][1].is_object(), "{of_batch}");
    assert_eq!(of_batch["affine_ras"], record["affine_ras"]);
    assert_eq!(place.read("many/head_Warped.nii.gz"), place.read("a_Warped.nii.gz"));
    // The other way round, the brain of the fixed image is extracted.
    place.succeed(&format!("register -f head.nii.gz -m brain.nii.gz -o c_ {registered}"));
    assert!(place.record("c_record.json")["brains"][0].is_object());
}

#[test]
fn masks_choices_and_other_pairs_leave_images_as_they_are() {
    let place = place();
    let brains = |line: &str| {
        place.succeed(&format!("register -o a_ -t translation --no-search --finest-mm 8 --device cpu {line}"));
        place.record("a_record.json")["brains"].clone()
    };
    let none = serde_json::json!([null, null]);
    assert_eq!(brains("-f brain.nii.gz -m head.nii.gz --brain none"), none);
    assert_eq!(brains("-f brain.nii.gz -m head.nii.gz --moving-mask mask.nii.gz"), none);
    assert_eq!(brains("-f template.nii.gz -m head.nii.gz"), none);
    assert_eq!(brains("-f brain.nii.gz -m brain.nii.gz --brain both"), none);
    let told =
        place.refuse(2, "register -f template.nii.gz -m head.nii.gz --moving-mask mask.nii.gz --brain both -o b_");
    assert!(told.contains("--brain") && told.contains("--moving-mask"), "{told}");
}

#[test]
fn outputs_and_templates_that_cannot_be_are_refused() {
    let place = place();
    let told = place.refuse(1, "brain -i head.nii.gz -o out.mat");
    assert!(told.contains(".nii.gz or .nii"), "{told}");
    place.refuse(2, "brain -i head.nii.gz -o head.nii.gz");
    place.refuse(2, "brain -i head.nii.gz -o out.nii.gz --template head.nii.gz");
    place.refuse(2, "brain -i head.nii.gz -o out.nii.gz --template head.nii.gz=mask.nii.gz --contrast t2");
    let told = place.refuse(1, "brain -i head.nii.gz -o out.nii.gz --template head.nii.gz=brain.nii.gz --device cpu");
    assert!(told.contains("brain.nii.gz") && told.contains("grid"), "{told}");
}
