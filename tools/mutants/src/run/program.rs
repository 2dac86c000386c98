//! A test program, and one run of one of its tests.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::Failure;

/// A test program of a package.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program.
    pub path: PathBuf,
    /// Folder of the package, where cargo runs tests.
    pub package: PathBuf,
}

/// What a test may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time after which the test is stopped.
    pub time: Duration,
    /// Largest address space, in bytes.
    pub memory: u64,
}

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It passed.
    Passed,
    /// It failed or crashed.
    Failed,
    /// It took too long.
    Timeout,
}

impl Program {
    /// Names of the tests, without ignored ones.
    pub fn tests(&self) -> Result<Vec<String>, Failure> {
        let list = |more: &[&str]| -> Result<Vec<String>, Failure> {
            let output = Command::new(&self.path)
                .args(["--list", "--format=terse"])
                .args(more)
                .current_dir(&self.package)
                .output()?;
            let text = String::from_utf8(output.stdout)?;
            Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
        };
        let ignored = list(&["--ignored"])?;
        Ok(list(&[])?.into_iter().filter(|test| !ignored.contains(test)).collect())
    }

    /// Runs one test with an additional environment variable, in a folder for temporary files of its own.
    pub fn run(&self, test: &str, variable: (&str, &OsStr), limits: &Limits) -> Result<End, Failure> {
        let temporary = tempfile::tempdir()?;
        let limited = format!("ulimit -v {} -c 0; exec \"$0\" \"$@\"", limits.memory / 1024);
        let child = Command::new("sh")
            .arg("-c")
            .arg(limited)
            .arg(&self.path)
            .args(["--exact", test, "--test-threads=1"])
            .current_dir(&self.package)
            .env("CARGO_MANIFEST_DIR", &self.package)
            .env("TMPDIR", temporary.path())
            .env("RUST_BACKTRACE", "0")
            // Random inputs are the same for each mutant, and the first wrong one suffices.
            .env("PROPTEST_RNG_SEED", "1")
            .env("PROPTEST_MAX_SHRINK_ITERS", "0")
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true")
            .env(variable.0, variable.1)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        match wait(child, limits.time)? {
            Some(status) if status.success() => Ok(End::Passed),
            Some(_) => Ok(End::Failed),
            None => Ok(End::Timeout),
        }
    }
}

/// Waits for the end of a process, and stops it with all processes that it started when the time is over.
fn wait(mut child: Child, time: Duration) -> Result<Option<ExitStatus>, Failure> {
    let began = Instant::now();
    let mut pause = Duration::from_micros(500);
    let mut status = child.try_wait()?;
    while status.is_none() && began.elapsed() < time {
        std::thread::sleep(pause);
        pause = (pause * 5 / 4).min(Duration::from_millis(20));
        status = child.try_wait()?;
    }
    // A test that ended may leave processes behind; then none is left in the group.
    let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    if status.is_none() {
        child.wait()?;
    }
    Ok(status)
}
