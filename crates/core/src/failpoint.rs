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

    if AT.is_none() && LOG.is_none() {
        return Ok(());
    }
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
