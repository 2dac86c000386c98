//! Tests every reader of files and command lines with some thousand damaged inputs, and with stored inputs at which a
//! reader failed in the past.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use antsreg_fuzz::{Budget, TARGETS, Target, once, run};

/// One test function tests all readers, one after the other. If several ran at the same time, the count of allocated
/// memory, which is of the whole process, would be wrong.
#[test]
fn nothing_that_is_read_does_harm() {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("the first pool");
    let budget = Budget { executions: 2000, time: Duration::from_secs(3600) };
    for target in &TARGETS {
        let report = run(target, 2026, budget).expect("a temporary folder");
        assert_eq!(report.executions, budget.executions);
        let told = report.failures.first().map(|failure| (&failure.what, String::from_utf8_lossy(&failure.input)));
        assert!(told.is_none(), "{}: {told:?}", target.name);
    }
    // Inputs at which a reader failed in the past are stored as files. Each file name begins with the name of this
    // reader and a hyphen.
    let mut kept = 0;
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")).expect("the fixtures") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let target = TARGETS.iter().find(|target| name.starts_with(&format!("{}-", target.name)));
        let Some(target) = target else { panic!("{name} is of no target") };
        let failure = once(target, std::fs::read(&path).expect("a fixture")).expect("a temporary folder");
        assert!(failure.is_none(), "{name}: {failure:?}");
        kept += 1;
    }
    assert!(kept > 0, "the fixtures are in place");
    a_target_that_fails_is_found_out();
}

/// Checks that the fuzzing loop detects a reader that panics, and a reader that allocates too much memory for the
/// length of its input.
fn a_target_that_fails_is_found_out() {
    let panics = Target { read: |_, bytes| assert!(!bytes.contains(&7), "a seven"), ..base() };
    let greedy =
        Target { read: |_, bytes| drop(black_box(vec![1u8; (32 << 20) + (8 << 10) * bytes.len()])), ..base() };
    let found = |target: &Target, executions| {
        let budget = Budget { executions, time: Duration::from_secs(60) };
        run(target, 1, budget).expect("a temporary folder").failures
    };
    // The tested reader panics on purpose, so the messages of its panics are not printed.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let failures = found(&panics, 5000);
    std::panic::set_hook(hook);
    assert!(failures.len() == 1 && failures[0].what == "panic: a seven" && failures[0].input.contains(&7));
    assert_eq!(found(&greedy, 100).len(), 1);
}

fn base() -> Target {
    Target { name: "test", file: None, seeds: |_| Ok(vec![vec![0; 20]]), read: |_, _| () }
}
