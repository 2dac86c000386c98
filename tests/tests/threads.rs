//! Tests with a limit on threads: the program must soon end with an error message, without a panic or an endless wait.
#![cfg(target_os = "linux")]

use std::process::{Command, Output};

use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::Matrix3;

/// User number (UID) under which no other process runs.
const USER: &str = "--reuid=54321";

/// Makes a folder with three brains, to which any user may write.
fn cohort() -> Workplace {
    use std::os::unix::fs::PermissionsExt;
    let place = Workplace::new();
    let onto = grid(16.0, [0.0; 3], Matrix3::identity());
    for (name, warp_mm) in [("a", -4.0), ("b", 0.0), ("c", 4.0)] {
        Brain { warp_mm, ..Brain::standard() }.write_image(&onto, &place.path(&format!("{name}.nii.gz")));
    }
    std::fs::set_permissions(place.path(""), PermissionsExt::from_mode(0o777)).expect("a folder for all");
    place
}

/// Runs the program as a user with a limit of `threads` threads; `None` if this process cannot change its user, or the
/// other user cannot run the program. A run that takes longer than a minute ends with the code 124.
fn limited(place: &Workplace, threads: usize, line: &str) -> Option<Output> {
    let command = place.command(line.split_whitespace());
    let limited = |arguments: &[&str]| {
        let mut limited = Command::new("timeout");
        limited.args(["60", "setpriv", USER, "--clear-groups", "prlimit", &format!("--nproc={threads}")]);
        limited.arg(command.get_program()).args(arguments);
        limited.current_dir(place.path("")).env_remove("RUST_BACKTRACE").output().ok()
    };
    limited(&["--version"]).filter(|output| output.status.success())?;
    let words: Vec<&str> = line.split_whitespace().collect();
    limited(&words)
}

#[test]
fn too_few_threads_are_an_error_and_nothing_hangs() {
    let place = cohort();
    let quick = "--threads 2 --device cpu --shrink-factors 1 --smoothing-sigmas 0 --iterations 1 --dof 6 --no-search";
    let batch = |folder: &str| format!("batch -f a.nii.gz b.nii.gz c.nii.gz -o {folder} --workers 2 {quick}");
    let atlas = |folder: &str| format!("atlas a.nii.gz b.nii.gz c.nii.gz -o {folder} --passes 1 {quick}");
    type Line<'a> = &'a dyn Fn(&str) -> String;
    let verbs: [(&str, Line); 2] = [("batch", &batch), ("atlas", &atlas)];
    for (verb, line) in verbs {
        let mut codes = Vec::new();
        for threads in (2..20).chain([40]) {
            let Some(output) = limited(&place, threads, &line(&format!("{verb}{threads}"))) else {
                eprintln!("left out: limits on threads are those of another user, which takes root and setpriv");
                return;
            };
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            let code = output.status.code();
            assert!(!message.contains("panicked"), "{verb} with {threads} threads: {message}");
            if code != Some(0) {
                assert_eq!(code, Some(1), "{verb} with {threads} threads: {message}");
                assert!(message.contains("error: "), "{verb} with {threads} threads: {message}");
                assert!(message.contains("be started"), "{verb} with {threads} threads: {message}");
                assert!(message.contains("try a smaller --threads"), "{verb} with {threads} threads: {message}");
            }
            codes.push(code);
        }
        // With the smallest limit on threads the program must fail, and with the largest limit it must succeed. Between
        // them, success depends on which threads have ended when others start.
        assert!(codes.first() == Some(&Some(1)) && codes.last() == Some(&Some(0)), "{verb}: {codes:?}");
    }
}

#[test]
fn more_workers_than_make_sense_are_refused() {
    let place = cohort();
    let message = place.refuse(2, "batch -f a.nii.gz b.nii.gz -o out --workers 20000");
    assert!(message.contains("a whole number from 1 to 64, found `20000`"), "{message}");
}
