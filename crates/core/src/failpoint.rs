//! Failures on demand in builds with debug assertions: tests let the writes, renames and allocations of volumes fail,
//! one after the other.
//!
//! `ANTSREG_FAIL_AT=N` lets the N-th of these operations fail, counted from 1 over the whole process.
//! `ANTSREG_FAIL_LOG=FILE` adds a line to FILE for each operation. Builds for users have no failures on demand.

/// An operation of the program on files or memory. Tests can let it fail on purpose, to see how the program reacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Creation of a file or folder under a temporary name.
    Create,
    /// Writing of bytes to a file.
    Write,
    /// A finished file is renamed from its temporary to its final name.
    Rename,
    /// Allocation of memory for an image.
    Allocate,
}

/// Returns the error of a full file system if a test has chosen this operation to fail.
#[cfg(debug_assertions)]
pub(crate) fn check(operation: Operation) -> std::io::Result<()> {
    use std::fs::OpenOptions;
    use std::io::{Error, ErrorKind, Write};
    use std::path::PathBuf;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static AT: LazyLock<Option<usize>> =
        LazyLock::new(|| std::env::var("ANTSREG_FAIL_AT").ok().and_then(|text| text.parse().ok()));
    static LOG: LazyLock<Option<PathBuf>> = LazyLock::new(|| std::env::var_os("ANTSREG_FAIL_LOG").map(PathBuf::from));
    static COUNT: AtomicUsize = AtomicUsize::new(0);

    let count = 1 + COUNT.fetch_add(1, Ordering::Relaxed);
    if let Some(path) = LOG.as_deref() {
        // Each line of the log is written by one call, so that lines of several threads do not mix.
        OpenOptions::new().append(true).create(true).open(path)?.write_all(format!("{operation:?}\n").as_bytes())?;
    }
    if *AT == Some(count) { Err(Error::from(ErrorKind::StorageFull)) } else { Ok(()) }
}

/// In builds for users, this check does nothing: tests can let an operation on files fail on purpose only in builds
/// with debug assertions.
#[cfg(not(debug_assertions))]
pub(crate) fn check(_: Operation) -> std::io::Result<()> {
    Ok(())
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use std::process::Command;

    use super::*;

    /// Does three operations and prints the error of each. The other test starts this one in processes of its own, for
    /// which it chooses an operation that fails.
    #[test]
    fn no_operation_fails_unless_one_is_chosen() {
        let errors = [Operation::Create, Operation::Write, Operation::Rename]
            .map(|operation| check(operation).err().map(|error| error.kind()));
        println!("errors: {errors:?}");
        assert!(std::env::var_os("ANTSREG_FAIL_AT").is_some() || errors == [None; 3], "{errors:?}");
    }

    #[test]
    fn the_operation_fails_whose_number_is_chosen() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("operations");
        let run = |at: Option<&str>, logged: bool| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "--nocapture", "failpoint::tests::no_operation_fails_unless_one_is_chosen"]);
            command.env_remove("ANTSREG_FAIL_AT").env_remove("ANTSREG_FAIL_LOG");
            at.map(|at| command.env("ANTSREG_FAIL_AT", at));
            logged.then(|| command.env("ANTSREG_FAIL_LOG", &log));
            let output = command.output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{text}");
            text
        };
        let full = "Some(StorageFull)";
        for (at, errors) in [
            (None, ["None"; 3]),
            (Some("1"), [full, "None", "None"]),
            (Some("2"), ["None", full, "None"]),
            (Some("3"), ["None", "None", full]),
            (Some("4"), ["None"; 3]),
        ] {
            let expected = format!("errors: [{}]", errors.join(", "));
            for logged in [false, true] {
                let text = run(at, logged);
                assert!(text.contains(&expected), "operation {at:?} is chosen: {text}");
                // The log also has the operation that fails.
                let lines = std::fs::read_to_string(&log).ok();
                assert_eq!(lines.as_deref(), logged.then_some("Create\nWrite\nRename\n"), "{at:?}");
            }
            std::fs::remove_file(&log).unwrap();
        }
    }
}
