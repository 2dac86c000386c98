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
use baseline::Baseline;
use program::Limits;
pub use program::{End, Program};
pub use results::{Outcome, Reasons, Summary};

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
    let limits = Limits { time: Duration::from_secs(600), memory: settings.memory };
    let (kept, results) = (out.join("baseline.json"), out.join("results.tsv"));
    let baseline = match Baseline::read(&kept, manifest.built) {
        Some(baseline) => baseline,
        None => {
            // The sources or tests may have changed since the build that these results belong to.
            if results.exists() {
                fs::remove_file(&results)?;
            }
            let baseline = Baseline::measure(&programs, manifest.built, settings.jobs, &limits)?;
            baseline.write(&kept)?;
            baseline
        }
    };
    queue::run_all(&manifest.mutants, &programs, &baseline, &results, settings)?;
    let summary = Summary::read(&results, reasons)?;
    fs::write(out.join("missed.txt"), summary.missed.iter().map(|name| format!("{name}\n")).collect::<String>())?;
    Ok(summary)
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
