//! Runs the tests of a prepared crate against its mutants.

mod baseline;
mod program;
mod queue;
mod results;

use std::fs;
use std::path::{Path, PathBuf};
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
    let kept = out.join("baseline.json");
    let baseline = match Baseline::read(&kept, manifest.built) {
        Some(baseline) => baseline,
        None => Baseline::measure(&programs, manifest.built, settings.jobs, &limits)?,
    };
    baseline.write(&kept)?;
    let results: PathBuf = out.join("results.tsv");
    queue::run_all(&manifest.mutants, &programs, &baseline, &results, settings)?;
    let summary = Summary::read(&results, reasons)?;
    fs::write(out.join("missed.txt"), summary.missed.iter().map(|name| format!("{name}\n")).collect::<String>())?;
    Ok(summary)
}
