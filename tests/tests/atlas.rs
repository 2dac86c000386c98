//! Tests of `atlas`: templates of synthetic brains whose mean shape is known.

use antsreg_core::AffineTransform;
use antsreg_core::compare::Comparison;
use antsreg_core::io::{itk, nifti};
use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::{Matrix3, Rotation3, Vector3};
use serde_json::Value;

/// Voxel size, mm. It is coarse, so that a pass over all subjects takes a second.
const SPACING: f64 = 5.0;

/// Options for few iterations: the tests do not depend on the quality of the registration.
const QUICK: &str = "--device cpu --shrink-factors 3x2x1 --smoothing-sigmas 1x0x0 --iterations 10x10x5 --dof 12";

/// Makes a folder with synthetic brains of several shapes and positions, each on its own grid.
fn cohort(labels: bool) -> Workplace {
    let place = Workplace::new();
    let stretches = [0.94, 1.0, 1.07];
    for (n, (name, factor)) in ["a", "b", "c"].into_iter().zip(stretches).enumerate() {
        let turn = Rotation3::from_euler_angles(0.05 * n as f64, -0.04, 0.1 * (n as f64 - 1.0)).into_inner();
        let shift = Vector3::new(10.0 * n as f64, -5.0, 3.0);
        let to_world = AffineTransform {
            matrix: turn * Matrix3::from_diagonal(&Vector3::new(factor, 1.0, 1.0 / factor)),
            translation: shift,
        };
        let brain = Brain { warp_mm: [-4.0, 0.0, 4.0][n], ..Brain::moved(&to_world) };
        let onto = grid(SPACING, shift.into(), Matrix3::identity());
        brain.write_image(&onto, &place.path(&format!("{name}.nii.gz")));
        if labels {
            brain.write_labels(&onto, &place.path(&format!("{name}l.nii.gz")));
        }
    }
    place
}

fn manifest(place: &Workplace, name: &str) -> Value {
    serde_json::from_slice(&place.read(name)).expect("JSON")
}

#[test]
fn a_template_has_the_mean_shape_and_everything_beside_it() {
    let place = cohort(true);
    place.succeed(&format!(
        "atlas a.nii.gz b.nii.gz c.nii.gz -o out --passes 2 --labels al.nii.gz bl.nii.gz cl.nii.gz -n linear {QUICK}"
    ));
    let template = nifti::read_volume(&place.path("out/template.nii.gz")).expect("the template");
    for name in ["a", "b", "c"] {
        let warped =
            nifti::read_volume(&place.path(&format!("out/subjects/{name}_Warped.nii.gz"))).expect("an image");
        let correlation = Comparison::between(&template, &warped, None).expect("one grid").correlation;
        assert!(correlation > 0.95, "{name}: {correlation}");
        // The warped images in the output must equal those that `apply` computes with the final transforms.
        place.succeed(&format!(
            "apply -i {name}.nii.gz -r out/template.nii.gz -o again.nii.gz -t out/subjects/{name}_1Warp.nii.gz \
             -t out/subjects/{name}_0GenericAffine.mat"
        ));
        let again = nifti::read_volume(&place.path("again.nii.gz")).expect("an image");
        let difference = Comparison::between(&warped, &again, None).expect("one grid").largest_absolute;
        assert!(difference < 1e-2, "{name}: {difference}");
        let consistency = manifest(&place, &format!("out/subjects/{name}.json"));
        let misses = consistency["results"]["inverse_misses_voxels"].as_f64().expect("a number");
        // A warp followed by its inverse must move each voxel of the brain by less than 0.45 voxel. SyN ensures the
        // same limit for the warps that it computes.
        assert!(misses < 0.45, "{name}: {misses}");
    }
    // The affines contain each subject's scaling relative to the mean over subjects, so the product of their
    // determinants is 1.
    let determinant = |name| {
        let affine = itk::read_affine(&place.path(&format!("out/subjects/{name}_0GenericAffine.mat")));
        affine.expect("an affine").matrix.determinant().ln()
    };
    let mean = ["a", "b", "c"].map(determinant).iter().sum::<f64>() / 3.0;
    // The mean logarithm of the determinants may differ from 0 by 0.02, because the mean transform of the previous pass
    // (iteration over all subjects) was removed only to first order.
    assert!(mean.abs() < 0.02, "{mean}");
    let results = &manifest(&place, "out/template.json")["results"];
    assert_eq!(results["pass"], 2);
    assert!(results["mean_final_warp_voxels"].as_f64().expect("a number") < 0.1, "{results}");
    let labels = nifti::read_labels(&place.path("out/template_labels.nii.gz")).expect("labels");
    let of_nine = nifti::read_volume(&place.path("out/probabilities/9.nii.gz")).expect("a map");
    assert!(of_nine.voxels.iter().all(|share| (0.0..=1.0).contains(share)));
    let sure = (0..labels.voxels.len()).filter(|&n| of_nine.voxels[n] == 1.0);
    assert!(sure.map(|n| labels.voxels[n]).all(|label| label == 9));
    let page = String::from_utf8(place.read("out/report.html")).expect("text");
    assert!(page.contains("<svg") && page.matches("data:image/png;base64,").count() == 5 + 3);
    place.succeed("atlas verify out");
    // What the plan expects and does not find, what has changed, and what no step writes is named.
    std::fs::remove_file(place.path("out/subjects/a.json")).expect("a manifest");
    std::fs::remove_file(place.path("out/subjects/b_Warped.nii.gz")).expect("an image");
    std::fs::remove_file(place.path("out/report.html")).expect("a page");
    std::fs::write(place.path("out/pass_1/template.nii"), b"half").expect("a file");
    std::fs::write(place.path("out/subjects/junk.json"), b"junk").expect("a file");
    let message = place.refuse(1, "atlas verify out");
    for part in [
        "3 missing: out/subjects/a.json, out/subjects/b_Warped.nii.gz, out/report.html",
        "1 changed: out/pass_1/template.nii",
        "not written by any step of the plan: ",
        "out/subjects/junk.json",
    ] {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
}

#[test]
fn the_steps_one_by_one_give_the_same_bytes() {
    let place = cohort(false);
    place.file("s.csv", b"subject,image\na,a.nii.gz\nb,b.nii.gz\nc,c.nii.gz\n");
    place.succeed(&format!("atlas s.csv -o whole --passes 2 {QUICK}"));
    place.succeed(&format!("atlas s.csv -o steps --passes 2 --plan-only {QUICK}"));
    let early = place.run("atlas average steps --pass 0");
    assert_eq!(early.code, Some(1));
    assert!(early.stderr.contains("template register-one steps --pass 0 --subject a"), "{}", early.stderr);
    for pass in 0..=2 {
        // The subjects are listed in another order, which must not change the result.
        for name in ["c", "a", "b"] {
            place.succeed(&format!("atlas register-one steps --pass {pass} --subject {name} --device cpu"));
        }
        place.succeed(&format!("atlas average steps --pass {pass}"));
        place.succeed(&format!("atlas update steps --pass {pass} --device cpu"));
    }
    place.succeed("atlas finish steps --device cpu");
    for name in
        ["template.nii.gz", "subjects/c_1InverseWarp.nii.gz", "report.html", "convergence.csv", "template.json"]
    {
        assert_eq!(place.read(&format!("whole/{name}")), place.read(&format!("steps/{name}")), "{name}");
    }
    let outside = place.run("atlas update steps --pass 3");
    assert_eq!(outside.code, Some(2), "{}", outside.stderr);
}

#[test]
fn passes_end_when_the_template_no_longer_moves() {
    let place = cohort(false);
    let line = |folder: &str, more: &str| {
        format!("atlas a.nii.gz b.nii.gz -o {folder} --start-from b --passes 3 --stop-below 100 {QUICK} {more}")
    };
    let run = place.succeed(&line("whole", "")).stderr;
    assert!(run.contains("the template no longer moves") && !place.path("whole/pass_2").exists(), "{run}");
    place.succeed(&line("steps", "--plan-only"));
    for pass in 1..=3 {
        let step = |verb: &str| place.succeed(&format!("atlas {verb} steps --pass {pass}")).stderr;
        let runs =
            [step("register-one --subject a"), step("register-one --subject b"), step("average"), step("update")];
        let not_needed = runs.iter().filter(|run| run.contains("not needed")).count();
        assert_eq!(not_needed, if pass == 1 { 0 } else { 4 }, "{runs:?}");
    }
    place.succeed("atlas finish steps --device cpu");
    assert_eq!(place.read("whole/template.nii.gz"), place.read("steps/template.nii.gz"));
    assert_eq!(manifest(&place, "steps/template.json")["results"]["pass"], 1);
}

#[test]
fn a_folder_is_gone_on_with_and_not_mixed_up() {
    let place = cohort(false);
    let line = |passes: usize, more: &str| {
        format!("atlas a.nii.gz b.nii.gz c.nii.gz -o out --start-from b --passes {passes} {QUICK} {more}")
    };
    place.succeed(&line(1, ""));
    let first = place.read("out/pass_1/template.nii");
    // One output file is removed and another is truncated. The next run must write both files again, and no other file.
    std::fs::remove_file(place.path("out/pass_1/subjects/c_1Warp.nii")).expect("a file");
    std::fs::write(place.path("out/pass_1/template.nii"), b"half").expect("a file");
    let again = place.succeed(&line(1, "")).stderr;
    assert_eq!(again.matches("done before").count(), 2, "{again}");
    assert_eq!(place.read("out/pass_1/template.nii"), first);
    // A part of a subject's warp file is overwritten without a change of its length. The next run must detect this and
    // write the file again.
    let mut bytes = place.read("out/pass_1/subjects/a_1Warp.nii");
    bytes[20_000..24_000].fill(0);
    std::fs::write(place.path("out/pass_1/subjects/a_1Warp.nii"), &bytes).expect("a file");
    let again = place.succeed(&line(1, "")).stderr;
    assert_eq!(again.matches("done before").count(), 2, "{again}");
    assert_eq!(place.read("out/pass_1/template.nii"), first);
    assert_ne!(place.read("out/pass_1/subjects/a_1Warp.nii"), bytes);
    let more = place.succeed(&line(2, "")).stderr;
    assert!(more.contains("pass 1: done before") && more.contains("pass 2: 3 of 3"), "{more}");
    let refused = place.run(&line(2, "--cc-radius 3"));
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("the requested template by: way to register; give another --output, or --restart"),
        "{}",
        refused.stderr
    );
    let restarted = place.succeed(&line(2, "--cc-radius 3 --restart")).stderr;
    assert!(!restarted.contains("done before"), "{restarted}");
    assert_ne!(place.read("out/pass_1/template.nii"), first);
    // The run is refused, because an output would replace the image from which the template starts.
    for template in ["out/template.nii.gz", "out/pass_1/template.nii"] {
        let line =
            format!("atlas a.nii.gz b.nii.gz c.nii.gz -o out --template {template} --passes 2 {QUICK} --restart");
        let before = place.read(template);
        let refused = place.run(&line);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains("this input lies in out, the folder of the outputs"), "{}", refused.stderr);
        assert_eq!(place.read(template), before);
    }
}

#[test]
fn subjects_may_be_named_as_files_of_the_template() {
    let place = cohort(false);
    let table = |names: [&str; 3]| {
        let rows = names.iter().zip(["a", "b", "c"]).map(|(name, file)| format!("{name},{file}.nii.gz\n"));
        format!("subject,image\n{}", rows.collect::<String>())
    };
    place.file("plain.csv", table(["a", "b", "c"]).as_bytes());
    place.file("alike.csv", table(["shape", "average", "template"]).as_bytes());
    for name in ["plain", "alike"] {
        place.succeed(&format!("atlas {name}.csv -o {name} --passes 1 --plan-only {QUICK}"));
    }
    for pass in 0..=1 {
        for (folder, name) in [
            ("plain", "a"),
            ("plain", "b"),
            ("plain", "c"),
            ("alike", "shape"),
            ("alike", "average"),
            ("alike", "template"),
        ] {
            place.succeed(&format!("atlas register-one {folder} --pass {pass} --subject {name} --device cpu"));
        }
        for folder in ["plain", "alike"] {
            place.succeed(&format!("atlas average {folder} --pass {pass}"));
            place.succeed(&format!("atlas update {folder} --pass {pass} --device cpu"));
        }
    }
    for folder in ["plain", "alike"] {
        place.succeed(&format!("atlas finish {folder} --device cpu"));
        place.succeed(&format!("atlas verify {folder}"));
    }
    assert_eq!(place.read("plain/template.nii.gz"), place.read("alike/template.nii.gz"));
    assert_eq!(place.read("plain/subjects/a_1Warp.nii.gz"), place.read("alike/subjects/shape_1Warp.nii.gz"));
    place.file("twins.csv", table(["s", "t", "S"]).as_bytes());
    let message = place.refuse(1, &format!("atlas twins.csv -o twins {QUICK}"));
    assert!(message.contains("two subjects are called `s` and `S`"), "{message}");
    let message =
        place.refuse(2, &format!("atlas a.nii.gz,b.nii.gz c.nii.gz,b.nii.gz --channels t1,labels -o x {QUICK}"));
    assert!(message.contains("two outputs would be called template_labels.nii.gz"), "{message}");
}

#[test]
fn a_folder_of_other_things_is_refused_and_left_as_it_is() {
    let place = cohort(false);
    std::fs::create_dir_all(place.path("mine/subjects")).expect("a folder");
    place.file("mine/report.html", b"mine");
    let line = |more: &str| format!("atlas a.nii.gz b.nii.gz -o mine --passes 1 {QUICK} {more}");
    for more in ["", "--restart", "--plan-only"] {
        let message = place.refuse(2, &line(more));
        assert!(message.contains("mine/report.html and no plan; give another --output"), "{message}");
    }
    assert_eq!(place.read("mine/report.html"), b"mine");
    // The atlas folder contains the plan file `atlas.json` of an earlier version of the program. That version wrote a
    // command line into the file.
    place.file("mine/atlas.json", include_bytes!("../../crates/study/src/template/plan/fixtures/format_1.json"));
    let message = place.refuse(2, &line(""));
    assert!(message.contains("version 0.1.0") && message.contains("--restart"), "{message}");
    let message = place.refuse(2, "atlas update mine --pass 1");
    assert!(message.contains("in format 1; this version reads format 2"), "{message}");
    place.succeed(&line("--restart --plan-only"));
    assert_eq!(manifest(&place, "mine/atlas.json")["plan_format"], 2);
    // The run is refused, because an input has the name of an output.
    std::fs::copy(place.path("c.nii.gz"), place.path("mine/subjects/u_Warped.nii.gz")).expect("a copy");
    let message = place.refuse(2, &format!("atlas a.nii.gz mine/subjects/u_Warped.nii.gz -o mine {QUICK}"));
    assert!(message.contains("mine/subjects/u_Warped.nii.gz: this input lies in mine"), "{message}");
}

#[test]
fn numbers_out_of_range_are_refused() {
    let place = cohort(false);
    for (option, range) in [
        ("--margin 1e9", "a number from 0 to 200"),
        ("--margin -1", "a number from 0 to 200"),
        ("--shape-step 1e9", "a number from 0 to 1"),
        ("--stop-below 1e30", "a number from 0 to 100"),
        ("--passes 1000000000", "a number from 1 to 1000"),
        ("--weights 0", "a number from 0.001 to 1000"),
    ] {
        let message = place.refuse(2, &format!("atlas a.nii.gz b.nii.gz -o out {option}"));
        assert!(message.contains(range), "{option}: {message}");
    }
    // The message names --margin: with very small voxels, the margin around the brain needs more voxels than fit into
    // memory.
    let mut image = nifti::read_volume(&place.path("a.nii.gz")).expect("an image");
    image.grid.spacing.fill(1e-3);
    nifti::write_volume(&place.path("small.nii.gz"), &image).expect("an image");
    let message = place.refuse(2, "atlas small.nii.gz b.nii.gz -o out --margin 200 --device cpu");
    assert!(message.contains("MB of memory") && message.contains("give a smaller --margin"), "{message}");
    let message = place.refuse(2, "atlas a.nii.gz b.nii.gz -o out -t rigid");
    assert!(message.contains("possible values: syn"), "{message}");
    let message = place.refuse(2, "atlas a.nii.gz b.nii.gz -o out --preset multimodal");
    assert!(message.contains("template, which supports only the transform model syn"), "{message}");
}

#[test]
fn a_step_refuses_an_image_that_is_not_the_planned_one() {
    let place = cohort(false);
    place.succeed(&format!("atlas a.nii.gz b.nii.gz -o out --passes 1 --plan-only {QUICK}"));
    std::fs::copy(place.path("c.nii.gz"), place.path("b.nii.gz")).expect("a copy");
    let refused = place.run("atlas register-one out --pass 0 --subject b --device cpu");
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("b.nii.gz") && refused.stderr.contains("not those of the template's plan: 1 changed"),
        "{}",
        refused.stderr
    );
}

#[test]
fn an_unreadable_subject_is_named_and_the_rest_is_done() {
    let place = cohort(false);
    place.file("bad.nii.gz", b"not an image");
    let run = place.run(&format!("atlas a.nii.gz bad.nii.gz c.nii.gz -o out --passes 1 {QUICK}"));
    assert_eq!(run.code, Some(3));
    assert!(
        run.stderr.contains("1 of 3 subjects were left out of the template") && run.stderr.contains("bad ("),
        "{}",
        run.stderr
    );
    assert!(place.path("out/template.nii.gz").exists());
    assert!(String::from_utf8(place.read("out/report.html")).expect("text").contains("Left out"));
    let none = place.refuse(2, &format!("atlas a.nii.gz -o other {QUICK}"));
    assert!(none.contains("at least two subjects"), "{none}");
}

#[test]
fn two_channels_make_two_templates_in_one_space() {
    let place = cohort(false);
    let mut table = String::from("subject,t1,t2\n");
    for name in ["a", "b", "c"] {
        // The second channel has the inverse contrast: bright where the first channel is dark, and 0 outside the brain.
        let mut image = nifti::read_volume(&place.path(&format!("{name}.nii.gz"))).expect("an image");
        image.voxels.iter_mut().for_each(|value| *value = if *value > 0.0 { 1500.0 - *value } else { 0.0 });
        nifti::write_volume(&place.path(&format!("{name}_t2.nii.gz")), &image).expect("an image");
        table.push_str(&format!("{name},{name}.nii.gz,{name}_t2.nii.gz\n"));
    }
    place.file("s.csv", table.as_bytes());
    let line = |folder: &str, weights: &str| {
        format!("atlas s.csv --channels t1,t2 --weights {weights} -o {folder} --passes 1 --format nii {QUICK}")
    };
    place.succeed(&line("even", "1,1"));
    let read = |name: &str| nifti::read_volume(&place.path(name)).expect("a template");
    let (t1, t2) = (read("even/template_t1.nii"), read("even/template_t2.nii"));
    // The second channel was made as 1500 minus the first channel. Where both templates are bright, their sum must be
    // about 1500.
    let inside = (0..t1.voxels.len()).filter(|&n| t1.voxels[n] > 400.0 && t2.voxels[n] > 400.0);
    let sums: Vec<f32> = inside.map(|n| t1.voxels[n] + t2.voxels[n]).collect();
    let mean = sums.iter().sum::<f32>() / sums.len() as f32;
    // The mean of the two templates' sum may differ from 1500 by 5 %: each template is scaled by the mean intensity of
    // its own channel, and these means differ between subjects by a few percent.
    assert!(sums.len() > 5000 && (mean - 1500.0).abs() < 75.0, "{mean} over {} voxels", sums.len());
    assert!(place.path("even/subjects/a_Warped_t2.nii").exists());
    place.succeed(&line("uneven", "1,0.1"));
    assert_ne!(read("uneven/template_t1.nii").voxels, t1.voxels, "weights act");
    assert!(place.refuse(2, &line("none", "1")).contains("weights, one for each channel: expected 2, found 1"));
}

/// The final files of the template in `folder`: their names and bytes.
#[cfg(unix)]
fn results(place: &Workplace, folder: &str) -> Vec<(String, Vec<u8>)> {
    let mut names: Vec<String> = std::fs::read_dir(place.path(&format!("{folder}/subjects")))
        .expect("the subjects")
        .map(|entry| format!("subjects/{}", entry.expect("an entry").file_name().to_string_lossy()))
        .collect();
    names.extend(["template.nii.gz", "template.json", "report.html", "convergence.csv"].map(String::from));
    names.sort();
    names.into_iter().map(|name| (name.clone(), place.read(&format!("{folder}/{name}")))).collect()
}

#[cfg(unix)]
#[test]
fn a_killed_run_goes_on_and_ends_with_the_same_bytes() {
    let place = cohort(false);
    let line = |folder: &str| format!("atlas a.nii.gz b.nii.gz c.nii.gz -o {folder} --passes 2 {QUICK}");
    place.succeed(&line("whole"));
    // Each run is killed soon after it has written its first new manifest (the JSON file that marks a step as done). So
    // runs are killed in all phases: writing, registering, averaging, and writing the final files.
    let manifests = || {
        let folders = [
            "",
            "start",
            "pass_0",
            "pass_1",
            "pass_2",
            "pass_0/subjects",
            "pass_1/subjects",
            "pass_2/subjects",
            "subjects",
        ]
        .map(|name| place.path("killed").join(name));
        let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
        entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "json")).count()
    };
    let (mut killed, mut done) = (0, false);
    while killed < 10 && !done {
        let arguments = line("killed");
        let before = manifests();
        let mut child = place
            .command(arguments.split_whitespace())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("the program starts");
        while manifests() <= before && !done {
            std::thread::sleep(std::time::Duration::from_millis(1));
            done = child.try_wait().expect("its state").is_some();
        }
        std::thread::sleep(std::time::Duration::from_millis(37 * (killed + 1) % 100));
        done = done || child.try_wait().expect("its state").is_some();
        child.kill().expect("SIGKILL is sent");
        child.wait().expect("the program ends");
        killed += u64::from(!done);
    }
    assert!(killed >= 5, "killed only {killed} times before it was done");
    place.succeed(&line("killed"));
    let (whole, resumed) = (results(&place, "whole"), results(&place, "killed"));
    for (expected, found) in whole.iter().zip(&resumed) {
        assert_eq!(expected.0, found.0);
        assert!(expected.1 == found.1, "{} differs after {killed} kills", found.0);
    }
    assert_eq!(whole.len(), resumed.len());
    let is_part = |name: &str| name.starts_with('.') && name.ends_with(".part");
    for folder in ["killed/pass_1", "killed/pass_1/subjects", "killed/subjects"] {
        let mut left = std::fs::read_dir(place.path(folder)).expect("a folder").map(|entry| entry.expect("an entry"));
        assert!(!left.any(|entry| is_part(&entry.file_name().to_string_lossy())), "{folder}");
    }
    place.succeed("atlas verify killed");
}
