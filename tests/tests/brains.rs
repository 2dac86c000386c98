//! Tests of brain extraction, and of heads registered with brains, on the built-in head.

use antsreg_core::io::nifti;
use antsreg_core::{AffineTransform, Grid, Transform, TransformChain, Volume};
use antsreg_heads::brain::{Contrast, Template, without_skull};
use antsreg_kernels::apply::{Interpolation, resample};
use antsreg_tests::Workplace;
use nalgebra::{Rotation3, Vector3};

/// Makes a folder with the built-in head on its own grid (`template.nii.gz`), its brain (`brain.nii.gz`), the head
/// rotated and moved on a grid of 4 mm (`head.nii.gz`), and the true brain mask of the moved head (`mask.nii.gz`).
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
fn an_image_with_huge_voxels_is_refused_by_name_and_harms_no_other_subject() {
    let place = place();
    for (name, factors) in [("huge", [1000.0; 3]), ("long", [1.0, 1.0, 1000.0])] {
        let mut image = volume(&place, "head.nii.gz");
        image.grid.spacing.component_mul_assign(&Vector3::from(factors));
        nifti::write_volume(place.path(&format!("{name}.nii.gz")).as_path(), &image).expect("written");
        let quick = "--device cpu -t rigid --finest-mm 8 --no-report";
        for line in [
            format!("brain -i {name}.nii.gz -o out.nii.gz --device cpu"),
            format!("register -f brain.nii.gz -m {name}.nii.gz -o a_ --device cpu"),
            format!("register -f {name}.nii.gz -m brain.nii.gz -o a_ --brain both --device cpu"),
        ] {
            let message = place.refuse(1, &line);
            let expected = format!("{name}.nii.gz");
            assert!(message.contains(&expected) && message.contains("voxel sizes"), "{line}\n{message}");
        }
        for line in [
            format!("batch -f brain.nii.gz {name}.nii.gz head.nii.gz -o many_{name} {quick}"),
            format!("normalise {name}.nii.gz brain.nii.gz -o all_{name} --no-bias {quick}"),
            format!("normalise {name}.nii.gz brain.nii.gz -o bias_{name} {quick}"),
        ] {
            let run = place.run(&line);
            assert_eq!(run.code, Some(3), "{line}\n{}", run.stderr);
            assert!(run.stderr.contains(&format!("{name} failed: {name}.nii.gz: ")), "{line}\n{}", run.stderr);
            assert!(run.stdout.contains("1 done, 0 skipped, 1 failed"), "{line}\n{}", run.stdout);
        }
    }
}

#[test]
fn the_brain_of_a_head_is_written() {
    let place = place();
    let run = place
        .succeed("brain -i head.nii.gz -o out.nii.gz --mask m.nii.gz --probability p.nii.gz --report --device cpu");
    let page = String::from_utf8(place.read("out_report.html")).expect("text");
    for words in ["The brain of head", "Outline of Brain", "cm³", "p.nii.gz", "--probability"] {
        assert!(page.contains(words), "{words}");
    }
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
    // The written images must show the whole head, although its brain was registered.
    let [brain, warped] = ["brain", "a_Warped"].map(|name| volume(&place, &format!("{name}.nii.gz")));
    let beyond = brain.voxels.iter().zip(&warped.voxels).filter(|(brain, warped)| **brain == 0.0 && **warped > 30.0);
    assert!(beyond.count() > 100_000);
    // The transform must equal that of a registration whose moving image is the brain, extracted beforehand by the
    // subcommand `brain`.
    place.succeed("brain -i head.nii.gz -o extracted.nii.gz --device cpu");
    place.succeed(&format!("register -f brain.nii.gz -m extracted.nii.gz -o b_ {registered}"));
    assert_eq!(place.record("a_record.json")["affine_ras"], place.record("b_record.json")["affine_ras"]);
    assert!(place.record("b_record.json")["brains"][1].is_null());
    // `batch` must give the same result as `register`.
    place.succeed(&format!("batch -f brain.nii.gz head.nii.gz -o many --no-report {registered}"));
    let of_batch = place.record("many/head_record.json");
    assert!(of_batch["brains"][1].is_object(), "{of_batch}");
    assert_eq!(of_batch["affine_ras"], record["affine_ras"]);
    assert_eq!(place.read("many/head_Warped.nii.gz"), place.read("a_Warped.nii.gz"));
    // If fixed and moving image are exchanged, the head is the fixed image, and its brain is extracted.
    place.succeed(&format!("register -f head.nii.gz -m brain.nii.gz -o c_ {registered}"));
    assert!(place.record("c_record.json")["brains"][0].is_object());
}

#[test]
fn a_batch_extracts_the_brain_of_its_fixed_head_for_brains_alone() {
    let place = place();
    let registered = "-t translation --no-search --finest-mm 8 --device cpu";
    let run =
        place.succeed(&format!("batch -f head.nii.gz brain.nii.gz template.nii.gz -o many --no-report {registered}"));
    assert!(run.stderr.contains("fixed image: its brain"), "{}", run.stderr);
    let [brain, head] = ["brain", "template"].map(|name| place.record(&format!("many/{name}_record.json")));
    assert!(brain["brains"][0].is_object() && brain["brains"][1].is_null(), "{brain}");
    assert_eq!(head["brains"], serde_json::json!([null, null]));
    // The files of `batch` must equal those of one `register` for each moving image.
    for name in ["brain", "template"] {
        place.succeed(&format!("register -f head.nii.gz -m {name}.nii.gz -o one_ {registered}"));
        for rest in ["0GenericAffine.mat", "Warped.nii.gz", "InverseWarped.nii.gz"] {
            assert_eq!(
                place.read(&format!("many/{name}_{rest}")),
                place.read(&format!("one_{rest}")),
                "{name} {rest}"
            );
        }
    }
    // If the moving image is a brain, the resampled fixed image must still show the whole head.
    let [template, shown] =
        ["brain", "many/brain_InverseWarped"].map(|name| volume(&place, &format!("{name}.nii.gz")));
    let beyond = template.voxels.iter().zip(&shown.voxels).filter(|(brain, shown)| **brain == 0.0 && **shown > 30.0);
    assert!(beyond.count() > 100_000);
}

#[test]
fn atlases_with_skulls_beside_others_are_extracted() {
    let place = place();
    let labelled = "-t translation --no-search --finest-mm 8 --device cpu --fusion majority --keep-transforms";
    let atlases = "-a template.nii.gz=mask2.nii.gz -a head.nii.gz=mask.nii.gz";
    let template = Template::built_in(Some(Contrast::T1)).expect("undamaged");
    nifti::write_volume(place.path("mask2.nii.gz").as_path(), template.brain()).expect("written");
    // The masks are converted to label maps with the labels 0 and 1.
    for name in ["mask", "mask2"] {
        let mask = volume(&place, &format!("{name}.nii.gz"));
        let voxels = mask.voxels.iter().map(|share| f32::from(u8::from(*share > 0.5))).collect();
        let path = place.path(&format!("{name}.nii.gz"));
        nifti::write_volume(path.as_path(), &Volume { voxels, ..mask }).expect("written");
    }
    let run = place.succeed(&format!("labels -f brain.nii.gz {atlases} -o a_ {labelled}"));
    assert!(run.stderr.contains("head: its brain is registered"), "{}", run.stderr);
    let record = place.record("a_record.json");
    assert_eq!(record["parameters"]["brain"], "auto");
    let target = &record["targets"][0];
    assert!(target["brain"].is_null() && target["atlases"][0]["brain"]["volume_cm3"].as_f64() > Some(1500.0));
    assert!(target["atlases"][1]["brain"].is_object(), "{target}");
    let [brain, warped] = ["brain", "a_template_Warped"].map(|name| volume(&place, &format!("{name}.nii.gz")));
    let beyond = brain.voxels.iter().zip(&warped.voxels).filter(|(brain, warped)| **brain == 0.0 && **warped > 30.0);
    assert!(beyond.count() > 100_000, "the whole head is written");
    // No brain is extracted if all images are heads, or if `--brain none` is given.
    let all_null = |record: &serde_json::Value| {
        let target = &record["targets"][0];
        let atlases = target["atlases"].as_array().expect("atlases");
        target["brain"].is_null() && atlases.iter().all(|atlas| atlas["brain"].is_null())
    };
    place.succeed(&format!("labels -f template.nii.gz {atlases} -o b_ {labelled}"));
    assert!(all_null(&place.record("b_record.json")));
    place.succeed(&format!("labels -f brain.nii.gz {atlases} -o c_ --brain none {labelled}"));
    assert!(all_null(&place.record("c_record.json")));
    // With --leave-one-out each atlas is labelled by the others. Of these three atlases only the head without a mask
    // needs brain extraction; the other two are a head with a mask and a skull-stripped brain.
    std::fs::write(
        place.path("atlases.csv"),
        "subject,image,labels,mask\nt,template.nii.gz,mask2.nii.gz,mask2.nii.gz\nh,head.nii.gz,mask.nii.gz,\nb,brain.nii.gz,mask2.nii.gz,\n",
    )
    .expect("a table");
    place
        .succeed("labels --leave-one-out -a atlases.csv -o d_ -t translation --no-search --finest-mm 8 --device cpu");
    let record = place.record("d_record.json");
    let extracted = |n: usize| !record["targets"][n]["brain"].is_null();
    assert_eq!([0, 1, 2].map(extracted), [false, true, false], "{record}");
}

#[test]
fn a_template_of_heads_and_brains_is_a_brain() {
    let place = place();
    let line = "atlas head.nii.gz brain.nii.gz --passes 1 --preset fast --shrink-factors 4 --smoothing-sigmas 1 \
                --iterations 2 --finest-mm 8 --interpolation linear --device cpu -o";
    let run = place.succeed(&format!("{line} whole"));
    assert!(run.stderr.contains("head: its brain is registered"), "{}", run.stderr);
    let plan = place.record("whole/atlas.json");
    assert_eq!(
        (&plan["subjects"][0]["brain"], &plan["subjects"][1]["brain"]),
        (&true.into(), &serde_json::Value::Null)
    );
    let start = place.record("whole/start/template.json");
    assert!(start["results"]["brains"]["head"]["volume_cm3"].as_f64() > Some(1500.0), "{start}");
    assert!(String::from_utf8_lossy(&place.read("whole/report.html")).contains("Brains extracted from heads"));
    // Brains are registered here: the final template must show only the brain, but the warped image of the subject must
    // show the whole head.
    let [template, warped, mask] = ["whole/template", "whole/subjects/head_Warped", "whole/start/brain_head"]
        .map(|name| volume(&place, &format!("{name}.nii.gz")));
    let bright = |image: &Volume| {
        image.voxels.iter().filter(|value| **value > 30.0).count() as f64 * image.grid.spacing.product()
    };
    assert!(bright(&warped) > 1.3 * bright(&template), "{} {}", bright(&warped), bright(&template));
    assert!(dice(&mask, &volume(&place, "mask.nii.gz")) > 0.94);
    // If each step of `atlas` runs in its own process, later steps read the mask of the brain from a file. They must
    // write the same bytes as a single process.
    place.succeed(&format!("{line} steps --plan-only"));
    for pass in 0..=1 {
        for subject in ["head", "brain"] {
            place.succeed(&format!("atlas register-one steps --pass {pass} --subject {subject} --device cpu"));
        }
        place.succeed(&format!("atlas average steps --pass {pass}"));
        place.succeed(&format!("atlas update steps --pass {pass} --device cpu"));
    }
    place.succeed("atlas finish steps --device cpu");
    for name in ["template.nii.gz", "subjects/head_Warped.nii.gz", "subjects/head_1Warp.nii.gz"] {
        assert_eq!(place.read(&format!("whole/{name}")), place.read(&format!("steps/{name}")), "{name}");
    }
    // With `--brain none`, `atlas` extracts no brain. `atlas` has no fixed image, so it must refuse `--brain fixed`.
    place.succeed(&format!("{line} none --brain none --plan-only"));
    assert!(place.record("none/atlas.json")["subjects"][0]["brain"].is_null());
    let told = place.refuse(2, &format!("{line} other --brain fixed"));
    assert!(told.contains("--brain fixed") && told.contains("--brain moving"), "{told}");
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
    assert!(told.contains("expected .nii.gz"), "{told}");
    place.refuse(2, "brain -i head.nii.gz -o head.nii.gz");
    place.refuse(2, "brain -i head.nii.gz -o out.nii.gz --template head.nii.gz");
    place.refuse(2, "brain -i head.nii.gz -o out.nii.gz --report=out.nii.gz");
    let told = place.refuse(1, "brain -i head.nii.gz -o out.nii.gz --report=none/page.html");
    assert!(told.contains("none"), "{told}");
    std::fs::create_dir(place.path("folder.html")).expect("a folder");
    let told = place.refuse(1, "brain -i head.nii.gz -o out.nii.gz --report=folder.html");
    assert!(told.contains("folder.html"), "{told}");
    assert!(!place.path("out.nii.gz").exists());
    place.refuse(2, "brain -i head.nii.gz -o out.nii.gz --template head.nii.gz=mask.nii.gz --contrast t2");
    let told = place.refuse(1, "brain -i head.nii.gz -o out.nii.gz --template head.nii.gz=brain.nii.gz --device cpu");
    assert!(told.contains("brain.nii.gz") && told.contains("grid"), "{told}");
}

#[test]
fn boundary_based_registration_finds_the_white_matter_of_the_fixed_image() {
    let place = place();
    // In this image white matter is darker than grey matter, as in an EPI. It is moved by 1.5 mm.
    let mut image = volume(&place, "brain.nii.gz");
    let most = image.voxels.iter().copied().fold(0.0, f32::max);
    image.voxels.iter_mut().filter(|value| **value > 0.0).for_each(|value| *value = most + 20.0 - *value);
    image.grid.origin.x += 1.5;
    nifti::write_volume(place.path("epi.nii.gz").as_path(), &image).expect("written");
    let options = "-t rigid --cost bbr --no-search --initial-transform headers --no-warped --device cpu";
    for (fixed, extracted) in [("brain", false), ("template", true)] {
        let run = place.succeed(&format!("register -f {fixed}.nii.gz -m epi.nii.gz -o w_ --brain none {options}"));
        assert!(run.stderr.contains("white matter: ") && run.stderr.contains(" mL, found"), "{}", run.stderr);
        let record = place.record("w_record.json");
        let found = &record["white_matter"];
        let ml = found["volume_ml"].as_f64().expect("a volume");
        assert!((400.0..900.0).contains(&ml), "{ml} mL");
        assert_eq!(found["warnings"], serde_json::json!([]));
        assert_eq!(found["brain"].is_object(), extracted, "{found}");
        assert!(record["inputs"]["white_matter"].is_null());
        // The found shift along x may be wrong by 0.5 mm, a quarter of a voxel.
        let shift = record["affine_ras"][0][3].as_f64().expect("a number");
        assert!((shift - 1.5).abs() < 0.5, "{shift} mm");
    }
    let message = place.refuse(1, &format!("register -f epi.nii.gz -m brain.nii.gz -o x_ {options}"));
    assert!(message.contains("T1-weighted") && message.contains("--white-matter"), "{message}");
}
