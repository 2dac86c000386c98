//! Tests with a limit on threads: the program must soon end with an error message, without a panic or an endless wait.
#![cfg(target_os = "linux")]

use std::process::{Command, Output};

use antsreg_tests::{Brain, Workplace, grid};
use nalgebra::Matrix3;

/// Programs that run another program with a limit on threads that counts only its own: as a user without other processes,
/// which takes root, or in a user namespace of its own.
const ALONE: [&[&str]; 2] = [&["setpriv", "--reuid=54321", "--clear-groups"], &["unshare", "--user"]];

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

/// Runs the program with a limit of `threads` threads. A run that takes longer than a minute ends with the code 124.
///
/// # Panics
/// If this system cannot run a program with such a limit.
fn limited(place: &Workplace, threads: usize, line: &str) -> Output {
    let command = place.command(line.split_whitespace());
    let limited = |alone: &[&str], arguments: &[&str]| {
        let mut limited = Command::new("timeout");
        limited.arg("60").args(alone).args(["prlimit", &format!("--nproc={threads}")]);
        limited.arg(command.get_program()).args(arguments);
        limited.current_dir(place.path("")).env_remove("RUST_BACKTRACE").output().ok()
    };
    let works = |alone: &&&[&str]| limited(alone, &["--version"]).is_some_and(|output| output.status.success());
    let alone = ALONE.iter().find(works).expect("this test needs prlimit, and root with setpriv, or user namespaces");
    let words: Vec<&str> = line.split_whitespace().collect();
    limited(alone, &words).expect("the program starts")
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
            let output = limited(&place, threads, &line(&format!("{verb}{threads}")));
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
