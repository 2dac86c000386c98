//! Runs the tests of a prepared crate against its mutants.

mod baseline;
mod program;
mod queue;
mod results;

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::Failure;
use crate::manifest::Manifest;
pub(crate) use baseline::{Baseline, Test};
use program::Limits;
pub use program::{End, Program};
pub(crate) use results::Log;
pub use results::{Outcome, Reasons, Summary};

/// A hanging test takes this many times its time without a mutant.
const TIMEOUT_FACTOR: f64 = 10.0;

/// Name of the file of results in their folder.
pub(crate) const RESULTS: &str = "results.tsv";

/// How mutants are run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Number of tests that run at once.
    pub jobs: usize,
    /// Shortest time after which a test counts as hanging.
    pub minimum_timeout: Duration,
    /// Largest address space of a test, in bytes.
    pub memory: u64,
    /// Tests that take longer without a mutant are left out, in seconds.
    pub longest: f64,
}

impl Settings {
    /// Limits of a test, from the seconds that it takes without a mutant.
    pub(crate) fn limits(&self, seconds: f64) -> Limits {
        let time = Duration::from_secs_f64(TIMEOUT_FACTOR * seconds).max(self.minimum_timeout);
        Limits { time, memory: self.memory }
    }
}

/// Runs the mutants of the crate prepared in `folder` that have no result yet. Appends results to `results.tsv` in the
/// folder `out`, where the times and the coverage of the tests are kept too. `missed.txt` there lists the survivors
/// without a reason.
pub fn run(folder: &Path, out: &Path, settings: &Settings, reasons: &Reasons) -> Result<Summary, Failure> {
    let manifest = Manifest::read(folder)?;
    fs::create_dir_all(out)?;
    let programs: Vec<Program> = manifest
        .programs
        .iter()
        .map(|path| Ok(Program { path: fs::canonicalize(folder.join(path))?, package: manifest.package.clone() }))
        .collect::<Result<_, Failure>>()?;
    let baseline = Baseline::kept(out, &programs, manifest.built, settings)?;
    let results = out.join(RESULTS);
    queue::run_all(&manifest.mutants, &programs, &baseline, &results, settings)?;
    Summary::write(out, reasons)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Switched;

    #[test]
    fn results_of_an_earlier_build_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("results");
        let settings =
            Settings { jobs: 1, minimum_timeout: Duration::from_secs(1), memory: 1 << 30, longest: f64::INFINITY };
        let counts = |built: u64| {
            let mutants = vec![Switched { name: "a.rs:1:2: x".into(), function: "a.rs:1".into() }];
            let package = folder.path().to_owned();
            let manifest = Manifest { package, built, programs: vec![], mutants, left: vec![], unviable: vec![] };
            manifest.write(folder.path()).unwrap();
            run(folder.path(), &out, &settings, &Reasons::default()).unwrap().to_string()
        };
        assert!(counts(1).starts_with("0 caught, 0 timeout, 0 missed, 1 unreached"));
        fs::write(out.join("results.tsv"), "caught\t0.1\tt\ta.rs:1:2: x\n").unwrap();
        assert!(counts(1).starts_with("1 caught"), "an interrupted run goes on");
        assert!(counts(2).starts_with("0 caught, 0 timeout, 0 missed, 1 unreached"));
    }
}
