//! Fault injection: every write, rename and allocation of a volume fails once, each in its own run. Then the old
//! outputs or the new outputs must be complete, no unfinished file may remain, and exit code and message must report
//! the failure.

use std::collections::BTreeMap;
use std::path::Path;

use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::Matrix3;

/// Options for small grids and few iterations, so that a run takes a few hundredths of a second.
const QUICK: &str =
    "--threads 2 --device cpu --quiet --shrink-factors 1 --smoothing-sigmas 0 --iterations 1 --dof 6 --no-search";

/// Largest accepted number of operations (writes, renames, allocations) in a run. The test repeats the run once for
/// each operation, so the run must be small.
const MOST: usize = 400;

/// Makes a folder with three labelled brains and a warp.
fn cohort() -> Workplace {
    let place = Workplace::new();
    let onto = grid(16.0, [0.0; 3], Matrix3::identity());
    for (name, warp_mm) in [("a", -4.0), ("b", 0.0), ("c", 4.0)] {
        let brain = Brain { warp_mm, ..Brain::standard() };
        brain.write_image(&onto, &place.path(&format!("{name}.nii.gz")));
        brain.write_labels(&onto, &place.path(&format!("{name}_labels.nii.gz")));
    }
    place.file("subjects.csv", b"subject,image,labels\na,a.nii.gz,a_labels.nii.gz\nb,b.nii.gz,b_labels.nii.gz\n");
    place
}

/// All files in the output folder with their bytes, including hidden files. Files that contain times are left out.
fn outputs(place: &Workplace) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![place.path("out")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(place.path("out")).expect("below").display().to_string();
                found.insert(name, std::fs::read(&path).expect("readable"));
            }
        }
    }
    found
}

/// The outcome of a run in which an operation was made to fail.
struct Failed {
    code: Option<i32>,
    message: String,
    /// Number of operations (writes, renames, allocations) before the run ended.
    operations: usize,
}

/// Runs a command line in which operation number `at` (a write, a rename or an allocation) fails.
fn fail_at(place: &Workplace, line: &str, at: usize) -> Failed {
    let log = place.path("operations");
    let _ = std::fs::remove_file(&log);
    let mut command = place.command(line.split_whitespace());
    command.env("ANTSREG_FAIL_AT", at.to_string()).env("ANTSREG_FAIL_LOG", &log);
    let output = command.output().expect("the program starts");
    Failed {
        code: output.status.code(),
        message: String::from_utf8_lossy(&output.stderr).into_owned(),
        operations: std::fs::read_to_string(&log).unwrap_or_default().lines().count(),
    }
}

/// Lets each operation (write, rename or allocation) of a command line fail in turn, and checks exit code, message and
/// files each time. `before` prepares the output folder. `judge` gets the files before the run, the files after it, and
/// the files of a successful run. Returns the number of operations.
fn at_every_place(line: &str, before: &dyn Fn(&Workplace), judge: &dyn Fn(&str, &Files, &Files, &Files)) -> usize {
    let place = cohort();
    let clean = || {
        let _ = std::fs::remove_dir_all(place.path("out"));
        std::fs::create_dir(place.path("out")).expect("a folder");
    };
    clean();
    before(&place);
    let whole = fail_at(&place, line, usize::MAX);
    assert_eq!(whole.code, Some(0), "{line}: {}", whole.message);
    assert!(whole.operations > 0, "{line}: this test needs a program built with debug assertions");
    let expected = outputs(&place);
    for at in 1.. {
        assert!(at <= MOST, "{line}: more places than are meant");
        clean();
        before(&place);
        let old = outputs(&place);
        let Failed { code, message, operations } = fail_at(&place, line, at);
        if operations < at {
            assert_eq!(code, Some(0), "{line}: {message}");
            return at - 1;
        }
        let now = outputs(&place);
        let at = format!("{line}, place {at}: {message}");
        assert!(!message.contains("panicked"), "{at}");
        let partial = now.keys().find(|name| name.contains(".part") || name.contains("partial"));
        assert_eq!(partial, None, "{at}");
        if code == Some(0) {
            // The hidden folder `.verified` only spares later runs the check of unchanged files. If a file in this
            // folder cannot be written, the command must succeed nevertheless.
            assert!(now == expected || differ_in_times(&now, &expected), "{at}");
        } else {
            assert!(matches!(code, Some(1 | 3)), "{at}: {code:?}");
            assert!(message.contains("no storage space") || message.contains("system refused to give this"), "{at}");
        }
        judge(&at, &old, &now, &expected);
    }
    0
}

type Files = BTreeMap<String, Vec<u8>>;

/// Whether two sets of files are equal except for files that contain times.
fn differ_in_times(now: &Files, expected: &Files) -> bool {
    let names = |files: &Files| -> Vec<String> {
        files.keys().filter(|name| !name.starts_with(".verified")).cloned().collect()
    };
    names(now) == names(expected)
        && now.iter().filter(|(name, _)| !tells_times(name)).all(|(name, bytes)| expected.get(name) == Some(bytes))
}

fn tells_times(name: &str) -> bool {
    let ends = ["record.json", "summary.csv", "report.html", ".lock"];
    name.starts_with(".verified") || ends.iter().any(|end| name.ends_with(end))
}

/// Checks files that must appear together: all have the old bytes or all have the new bytes.
fn together(at: &str, old: &Files, now: &Files, expected: &Files) {
    assert!(
        now == old || differ_in_times(now, expected),
        "{at}: neither the old files nor the new ones: {:?}",
        now.keys()
    );
}

/// Creates old files with the names of outputs, which the tested command must replace. They begin as a summary does, which
/// is replaced only if this program wrote it.
fn over(names: &'static [&'static str]) -> impl Fn(&Workplace) {
    move |place| {
        for name in names {
            place.file(&format!("out/{name}"), b"subject,status,reason of before");
        }
    }
}

#[test]
fn a_registration_that_fails_leaves_what_was_there() {
    let line = format!("register -f a.nii.gz -m b.nii.gz -o out/p --moving-labels b_labels.nii.gz {QUICK}");
    let tried = at_every_place(&line, &|_| {}, &together);
    let names = &["p0GenericAffine.mat", "p1Warp.nii.gz", "pWarped.nii.gz", "precord.json"];
    let again = at_every_place(&line, &over(names), &together);
    println!("register: {tried} places over nothing, {again} over old outputs");
    assert!(tried > 20 && again > 20, "{tried}, {again}");
}

#[test]
fn what_is_carried_leaves_what_was_there() {
    for (line, name) in [
        ("apply -i b.nii.gz -r a.nii.gz -o out/w.nii.gz --quiet", "w.nii.gz"),
        ("apply -i b.nii.gz -r a.nii.gz -o out/w.nii --quiet -n bspline", "w.nii"),
        ("apply -i b_labels.nii.gz -r a.nii.gz -o out/w.nii.gz --quiet -n generic-label", "w.nii.gz"),
    ] {
        let old = |place: &Workplace| {
            place.file(&format!("out/{name}"), b"of before");
        };
        let tried = [at_every_place(line, &|_| {}, &together), at_every_place(line, &old, &together)];
        println!("{line}: {} places over nothing, {} over old outputs", tried[0], tried[1]);
        assert!(tried.iter().all(|places| *places > 5), "{line}: {tried:?}");
    }
}

#[test]
fn each_subject_of_a_batch_has_old_files_or_new_ones() {
    let line = format!("batch subjects.csv -f c.nii.gz -o out --workers 1 {QUICK}");
    let names = &["a_0GenericAffine.mat", "a_1Warp.nii.gz", "b_Warped.nii.gz", "summary.csv"];
    let by_subject = |at: &str, old: &Files, now: &Files, expected: &Files| {
        for subject in ["a_", "b_", "summary"] {
            let of = |files: &Files| -> Files {
                let own = files.iter().filter(|(name, _)| name.starts_with(subject));
                own.map(|(name, bytes)| (name.clone(), bytes.clone())).collect()
            };
            together(&format!("{at}: {subject}"), &of(old), &of(now), &of(expected));
        }
    };
    let tried = [at_every_place(&line, &|_| {}, &by_subject), at_every_place(&line, &over(names), &by_subject)];
    println!("batch: {} places over nothing, {} over old outputs", tried[0], tried[1]);
    assert!(tried.iter().all(|places| *places > 40), "{tried:?}");
}

#[test]
fn a_template_that_failed_anywhere_is_finished_by_the_next_run() {
    let line = format!("atlas subjects.csv -o out --passes 1 --format nii {QUICK}");
    let place = cohort();
    let finish = |at: &str, _: &Files, now: &Files, expected: &Files| {
        // A later run on the remaining files must succeed, and its files must equal those of a run without a fault.
        let _ = std::fs::remove_dir_all(place.path("out"));
        for (name, bytes) in now {
            let path = place.path("out").join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("a folder");
            std::fs::write(path, bytes).expect("a file");
        }
        let run = place.run(&line);
        assert_eq!(run.code, Some(0), "{at}: {}", run.stderr);
        assert!(differ_in_times(&without_plan(&outputs(&place)), &without_plan(expected)), "{at}");
    };
    let tried = at_every_place(&line, &|_| {}, &finish);
    println!("atlas: {tried} places, each finished by another run");
    assert!(tried > 60, "{tried}");
}

/// The files of a template that this test compares between two runs: all files except JSON files. JSON files may
/// differ: the plan (atlas.json) contains the paths of the subjects, and the manifests (lists of input and output
/// files) contain a digest of the plan.
fn without_plan(files: &Files) -> Files {
    let is_image = |name: &str| !name.ends_with(".json");
    files.iter().filter(|(name, _)| is_image(name)).map(|(name, bytes)| (name.clone(), bytes.clone())).collect()
}
