//! Tests of `batch`: many subjects in one process must give the same files as `register` for each.

use antsreg_core::AffineTransform;
use antsreg_core::io::nifti;
use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::{Matrix3, Rotation3, Vector3};
use serde_json::Value;

/// Voxel size of the synthetic brains, mm. It is coarse, so that a registration takes a moment.
const SPACING: f64 = 8.0;

/// Makes a folder with a fixed brain, three subjects of other positions and shapes on their own grids, and a table of
/// them; `a` has labels, `b` a mask.
fn cohort() -> Workplace {
    let place = Workplace::new();
    let onto = grid(SPACING, [0.0; 3], Matrix3::identity());
    Brain { warp_mm: 4.0, ..Brain::standard() }.write_image(&onto, &place.path("f.nii.gz"));
    Brain { warp_mm: 4.0, ..Brain::standard() }.write_labels(&onto, &place.path("fl.nii.gz"));
    for (name, angle, spacing) in [("a", 0.1, SPACING), ("b", -0.15, 7.0), ("c", 0.2, 9.0)] {
        let turn = Rotation3::from_euler_angles(angle, -0.1, 0.5 * angle).into_inner();
        let scales = Vector3::new(1.0 + 0.3 * angle, 1.0, 1.0 - 0.2 * angle);
        let translation = Vector3::new(60.0 * angle, -8.0, 5.0);
        let subject = Brain::moved(&AffineTransform { matrix: turn * Matrix3::from_diagonal(&scales), translation });
        let own = grid(spacing, translation.into(), Matrix3::from_diagonal(&Vector3::new(-1.0, 1.0, 1.0)));
        subject.write_image(&own, &place.path(&format!("{name}.nii.gz")));
        subject.write_labels(&own, &place.path(&format!("{name}l.nii.gz")));
    }
    place.file(
        "t.csv",
        b"subject,image,labels,mask\none,a.nii.gz,al.nii.gz,\ntwo,b.nii.gz,,bl.nii.gz\nthree,c.nii.gz,,\n",
    );
    place
}

/// Each subject of the table, with the options that give `register` the subject's image, labels and mask.
const ALONE: [(&str, &str); 3] = [
    ("one", "-m a.nii.gz --moving-labels al.nii.gz --fixed-labels fl.nii.gz"),
    ("two", "-m b.nii.gz --moving-mask bl.nii.gz"),
    ("three", "-m c.nii.gz"),
];

/// Names of the files in a folder, sorted.
fn names(place: &Workplace, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(place.path(folder)).expect("the folder");
    let mut names: Vec<String> = entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into()).collect();
    names.sort();
    names
}

/// The JSON record of a registration without the fields that differ between two runs: times, memory and command lines.
fn record(place: &Workplace, name: &str) -> Value {
    let mut record = place.record(name);
    let object = record.as_object_mut().expect("an object");
    for varying in ["seconds", "peak_memory_bytes", "command_line", "outputs", "files_written", "threads"] {
        object.remove(varying).expect(varying);
    }
    record
}

/// The section with the pictures of an HTML report page.
fn pictures(place: &Workplace, name: &str) -> String {
    let page = String::from_utf8(place.read(name)).expect("text");
    let (_, from) = page.split_once("<h2 id=\"pictures\">").expect("the pictures");
    let (pictures, _) = from.split_once("</section>").expect("their end");
    assert!(pictures.matches("src=\"data:image/png;base64,").count() > 3 * 7, "few pictures in {name}");
    pictures.to_owned()
}

/// The rows of the summary table, each as pairs of column and value.
fn summary(place: &Workplace, folder: &str) -> Vec<Vec<(String, String)>> {
    let mut reader = csv::Reader::from_path(place.path(&format!("{folder}/summary.csv"))).expect("the summary");
    let header = reader.headers().expect("a header").clone();
    let row = |row: csv::StringRecord| header.iter().zip(&row).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    reader.records().map(|record| row(record.expect("a row"))).collect()
}

fn cell<'a>(row: &'a [(String, String)], column: &str) -> &'a str {
    &row.iter().find(|(name, _)| name == column).unwrap_or_else(|| panic!("no column {column}")).1
}

#[test]
fn each_subject_gets_the_bytes_that_register_gives_it_whatever_the_workers() {
    let place = cohort();
    std::fs::create_dir(place.path("alone")).expect("a folder");
    for (name, rest) in ALONE {
        place.succeed(&format!("register -f f.nii.gz -o alone/{name}_ --device cpu --format nii --report {rest}"));
    }
    for (folder, workers) in [("w1", "--workers 1 --threads 2"), ("w3", "--workers 3 --threads 1")] {
        let line = format!(
            "batch t.csv -f f.nii.gz --fixed-labels fl.nii.gz -o {folder} --device cpu --format nii {workers}"
        );
        let run = place.succeed(&line);
        assert!(run.stdout.contains("3 done, 0 skipped, 0 failed"), "{}", run.stdout);
        let mut written = names(&place, folder);
        written.retain(|name| name != "summary.csv" && name != "report.html");
        assert_eq!(written, names(&place, "alone"));
        for name in written {
            let (alone, here) = (format!("alone/{name}"), format!("{folder}/{name}"));
            if name.ends_with("record.json") {
                assert_eq!(record(&place, &here), record(&place, &alone));
            } else if name.ends_with("report.html") {
                // Only the pictures of the HTML pages are compared: the rest of a page contains times and command
                // lines.
                assert!(pictures(&place, &here) == pictures(&place, &alone), "{here} shows other pictures");
            } else {
                assert!(place.read(&here) == place.read(&alone), "{here} differs from what register wrote");
            }
        }
    }
    let rows = summary(&place, "w3");
    let subjects: Vec<_> = rows.iter().map(|row| (cell(row, "subject"), cell(row, "status"))).collect();
    assert_eq!(subjects, [("one", "done"), ("two", "done"), ("three", "done")]);
    let recorded = record(&place, "w3/one_record.json");
    for (column, pointer) in [
        ("affine_cost", "/linear/cost"),
        ("mean_jaccard", "/overlap/mean_jaccard"),
        ("jacobian_minimum", "/jacobian/warp/minimum"),
        ("jacobian_maximum", "/jacobian/warp/maximum"),
        ("correlation", "/similarity/correlation"),
    ] {
        let number: f64 = cell(&rows[0], column).parse().expect(column);
        let expected = recorded.pointer(pointer).and_then(Value::as_f64).expect(pointer);
        // A number in the summary table may differ in its last digit from the number in the JSON record, because it was
        // converted to text and back.
        assert!((number - expected).abs() <= 1e-12 * expected.abs(), "{column}: {number}, {expected}");
    }
    assert_eq!(
        cell(&rows[0], "energies").split(' ').count(),
        recorded["syn"]["levels"].as_array().map_or(0, Vec::len)
    );
    assert_eq!((cell(&rows[1], "mean_jaccard"), cell(&rows[1], "labels")), ("", ""));
    for column in ["affine", "warp", "inverse_warp", "warped", "inverse_warped", "labels", "overlap", "record"] {
        let file = cell(&rows[0], column);
        assert!(place.path(file).is_file() && file.starts_with("w3/one_"), "{column}: {file}");
    }
    assert!(cell(&rows[2], "seconds").parse::<f64>().is_ok_and(|seconds| seconds > 0.0));
    assert_eq!(cell(&rows[2], "device"), "cpu");
}

#[test]
fn what_was_undone_of_a_subject_is_told_and_tabled() {
    let place = cohort();
    // The image `f` is registered to itself. No resolution level can improve the similarity, so the result of every
    // level is discarded (undone).
    let run = place.succeed("batch f.nii.gz a.nii.gz -f f.nii.gz -o out --device cpu --preset fast");
    let told = |name: &str| {
        let lines = run.stderr.lines().filter(|line| line.starts_with(&format!("warning: {name}: syn ")));
        lines.filter(|line| line.contains("undone, because it did not make the images more similar")).count()
    };
    for (row, name) in summary(&place, "out").iter().zip(["f", "a"]) {
        let levels = place.record(&format!("out/{name}_record.json"))["syn"]["levels"].clone();
        let levels = levels.as_array().expect("levels").clone();
        let undone = levels.iter().filter(|level| level["undone"] == true).count();
        assert_eq!(undone == levels.len(), name == "f", "{name}: {undone} of {} levels", levels.len());
        assert_eq!((told(name), cell(row, "undone_levels")), (undone, undone.to_string().as_str()), "{}", run.stderr);
        assert_eq!(cell(row, "voxels_beyond_limits"), "0");
        assert_eq!(cell(row, "warnings").matches("undone").count(), undone);
    }
}

#[test]
fn further_channels_are_those_of_register() {
    let place = cohort();
    for name in ["f", "a", "b"] {
        let mut image = nifti::read_volume(&place.path(&format!("{name}.nii.gz"))).expect("an image");
        // The correlation does not change if the contrast is inverted, so that the weights would not act.
        image.voxels.iter_mut().for_each(|value| *value = if *value > 0.0 { (*value - 500.0).abs() } else { 0.0 });
        nifti::write_volume(&place.path(&format!("{name}2.nii.gz")), &image).expect("an image");
    }
    place.file("two.csv", b"subject,t1,t2\none,a.nii.gz,a2.nii.gz\ntwo,b.nii.gz,b2.nii.gz\n");
    let quick =
        "--device cpu --shrink-factors 2 --smoothing-sigmas 1 --iterations 5 --gradient-step 0.25 --no-warped";
    let batch = |weights: &str| {
        place.succeed(&format!(
            "batch two.csv -f f.nii.gz,f2.nii.gz --channels t1,t2 --weights {weights} -o out {quick} --resume"
        ))
    };
    batch("2,1");
    place
        .succeed(&format!("register -f f.nii.gz -m b.nii.gz --channel f2.nii.gz,b2.nii.gz,cc,0.5 -o alone_ {quick}"));
    let warps = || ["out/two_1Warp.nii.gz", "alone_1Warp.nii.gz"].map(|name| place.read(name));
    let [own, alone] = warps();
    assert!(own == alone, "two channels in a table are a pair beside the first");
    assert!(batch("2,1").stdout.contains("2 skipped"), "the same again");
    assert!(batch("1,1").stdout.contains("2 done"), "weights act");
    assert!(warps()[0] != alone, "weights act");
}

#[test]
fn a_subject_that_fails_is_named_and_the_others_are_done() {
    let place = cohort();
    place.file("broken.nii.gz", b"not an image");
    let run = place
        .run("batch a.nii.gz broken.nii.gz gone.nii.gz b.nii.gz -f f.nii.gz -o out -t rigid --device cpu --quiet");
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    for words in ["broken failed: broken.nii.gz: ", "gone failed: gone.nii.gz: "] {
        assert!(run.stderr.contains(words), "`{words}` is missing in: {}", run.stderr);
    }
    assert!(run.stderr.contains("error: 2 of 4 subjects failed: broken, gone; "), "{}", run.stderr);
    let written =
        ["a_0GenericAffine.mat", "a_InverseWarped.nii.gz", "a_Warped.nii.gz", "a_record.json", "a_report.html"];
    let written = written.iter().flat_map(|name| [(*name).to_owned(), name.replace("a_", "b_")]);
    let mut written: Vec<String> = written.chain(["report.html", "summary.csv"].map(String::from)).collect();
    written.sort();
    assert_eq!(names(&place, "out"), written, "nothing of a failed subject is left, nor anything hidden");
    let rows = summary(&place, "out");
    let statuses: Vec<_> = rows.iter().map(|row| (cell(row, "subject"), cell(row, "status"))).collect();
    assert_eq!(statuses, [("a", "done"), ("broken", "failed"), ("gone", "failed"), ("b", "done")]);
    assert!(cell(&rows[2], "reason").starts_with("gone.nii.gz: "), "{}", cell(&rows[2], "reason"));
    assert_eq!((cell(&rows[1], "affine"), cell(&rows[1], "seconds")), ("", ""));
    let page = String::from_utf8(place.read("out/report.html")).expect("text");
    for words in ["broken failed: broken.nii.gz: ", "href=\"a_report.html\"", "href=\"b_report.html\""] {
        assert!(page.contains(words), "`{words}` is missing in the page");
    }
    assert!(!page.contains("href=\"gone_report.html\""));
    assert_eq!(page.matches("<img class=\"thumbnail\"").count(), 2);
}

#[test]
fn resuming_leaves_out_what_is_there_and_was_made_alike() {
    let place = cohort();
    let line = "batch t.csv -f f.nii.gz -o out -t rigid --device cpu --resume";
    let ran = |rest: &str| place.succeed(&format!("{line}{rest}")).stdout;
    assert!(ran("").contains("3 done, 0 skipped, 0 failed"));
    let (first, before) = (summary(&place, "out"), place.read("out/one_record.json"));
    assert!(ran("").contains("0 done, 3 skipped, 0 failed"));
    assert!(place.read("out/one_record.json") == before, "a subject was done again");
    for (row, earlier) in summary(&place, "out").iter().zip(&first) {
        assert_eq!((cell(row, "status"), cell(row, "affine_cost")), ("skipped", cell(earlier, "affine_cost")));
        assert_eq!((cell(row, "record"), cell(row, "seconds")), (cell(earlier, "record"), cell(earlier, "seconds")));
    }
    // An output of one subject is removed, and the image of another subject is written anew. Only these two subjects
    // must be registered again.
    let warped = place.read("out/two_Warped.nii.gz");
    std::fs::remove_file(place.path("out/two_Warped.nii.gz")).expect("it was there");
    let image = place.read("c.nii.gz");
    std::thread::sleep(std::time::Duration::from_millis(20));
    place.file("c.nii.gz", &image);
    assert!(ran("").contains("2 done, 1 skipped, 0 failed"));
    assert!(place.read("out/two_Warped.nii.gz") == warped);
    // After a change of the registration options, `batch --resume` must register all subjects again.
    assert!(ran(" --bins 128").contains("3 done, 0 skipped, 0 failed"));
    assert!(
        place.succeed("batch t.csv -f f.nii.gz -o out -t rigid --device cpu").stdout.contains("3 done, 0 skipped")
    );
}

#[test]
fn a_bids_folder_is_read_and_a_dry_run_only_tells() {
    let place = cohort();
    for (name, from) in [("sub-1/anat/sub-1_T1w", "a"), ("sub-2/ses-x/anat/sub-2_ses-x_T1w", "b")] {
        let path = place.path(&format!("study/{name}.nii.gz"));
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::copy(place.path(&format!("{from}.nii.gz")), path).expect("a copy");
    }
    let before = place.names();
    let run = place.succeed("batch study -f f.nii.gz -o made/out --device cpu --workers 2 --dry-run");
    for words in
        ["Worker   cpu\nWorker   cpu\n", "Memory   about ", "subjects at once", "--shrink-factors", "  sub-2_ses-x"]
    {
        assert!(run.stdout.contains(words), "`{words}` is missing in: {}", run.stdout);
    }
    assert_eq!(place.names(), before);
    place.succeed("batch study -f f.nii.gz -o made/out -t rigid --device cpu --no-warped");
    let expected = [
        "report.html",
        "sub-1_0GenericAffine.mat",
        "sub-1_record.json",
        "sub-1_report.html",
        "sub-2_ses-x_0GenericAffine.mat",
        "sub-2_ses-x_record.json",
        "sub-2_ses-x_report.html",
        "summary.csv",
    ];
    assert_eq!(names(&place, "made/out"), expected);
    place.succeed("batch study -f f.nii.gz -o plain -t rigid --device cpu --no-warped --no-report");
    assert!(names(&place, "plain").iter().all(|name| !name.ends_with(".html")));
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_is_done() {
    let place = cohort();
    place.file("no_image.csv", b"subject,file\na,a.nii.gz\n");
    place.file("twice.csv", b"subject,image\nx,a.nii.gz\nx,b.nii.gz\n");
    let cases = [
        (1, "no_image.csv", vec!["no_image.csv", "`image`", "subject, file"]),
        (1, "twice.csv", vec!["`x`", "a.nii.gz", "b.nii.gz"]),
        (1, "missing.csv", vec!["missing.csv"]),
        (2, "a.nii.gz --fixed-labels fl.nii.gz", vec!["--fixed-labels", "labels"]),
        (2, "a.nii.gz --label-interpolation nearest", vec!["--label-interpolation"]),
        (2, "a.nii.gz --channels T2w", vec!["--channels"]),
        (2, "a.nii.gz,b.nii.gz", vec!["--fixed", "expected 2", "found 1"]),
        (2, "a.nii.gz --weights 1,2", vec!["--weights"]),
        (2, "t.csv -t rigid --iterations 5", vec!["--iterations"]),
        (2, "t.csv --shrink-factors 64 --smoothing-sigmas 0 --iterations 1", vec!["shrink factor 64"]),
        (1, "t.csv --device cuda:9999", vec!["cuda:9999"]),
    ];
    for (code, rest, words) in cases {
        let message = place.refuse(code, &format!("batch -f f.nii.gz -o out {rest}"));
        for word in words {
            assert!(message.contains(word), "`{word}` is missing in: {message}");
        }
    }
    // The run is refused, because its summary would replace the table of subjects.
    std::fs::copy(place.path("t.csv"), place.path("summary.csv")).expect("a copy");
    let message = place.refuse(2, "batch -f f.nii.gz -o . summary.csv --device cpu");
    assert!(message.contains("summary.csv"), "{message}");
}

#[cfg(unix)]
#[test]
fn after_an_interruption_whole_subjects_stay_and_the_rest_follows() {
    use std::process::Stdio;

    use rustix::process::{Pid, Signal, kill_process};
    let place = cohort();
    let line =
        |out: &str| format!("batch t.csv -f f.nii.gz -o {out} --device cpu --threads 1 --resume --log {out}.log");
    place.succeed(&line("whole"));
    let mut command = place.command(line("out").split_whitespace());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
    let first_is_done = || std::fs::read_to_string(place.path("out.log")).is_ok_and(|text| text.contains("[1/3] "));
    let began = std::time::Instant::now();
    while !first_is_done() && began.elapsed().as_secs() < 120 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(child.try_wait().expect("its state"), None, "the program ended before the signal");
    kill_process(Pid::from_raw(child.id() as i32).expect("a process"), Signal::TERM).expect("the signal is sent");
    assert_eq!(child.wait().expect("the program ends").code(), Some(143));
    // After the program was stopped, every existing file must be complete: it has the name of a file of the
    // uninterrupted run, and all files of its subject exist.
    let (stands, whole) = (names(&place, "out"), names(&place, "whole"));
    let of = |subject: &str| whole.iter().filter(|name| name.starts_with(subject)).count();
    for subject in ["one_", "two_", "three_"] {
        let count = stands.iter().filter(|name| name.starts_with(subject)).count();
        assert!(count == 0 || count == of(subject), "{subject}: {stands:?}");
    }
    assert!(
        !stands.is_empty() && stands.len() < whole.len() && stands.iter().all(|name| whole.contains(name)),
        "{stands:?}"
    );
    place.succeed(&line("out"));
    assert_eq!(names(&place, "out"), whole);
    for name in whole
        .iter()
        .filter(|name| !name.ends_with("record.json") && !name.ends_with("report.html") && *name != "summary.csv")
    {
        assert!(place.read(&format!("out/{name}")) == place.read(&format!("whole/{name}")), "{name}");
    }
}
