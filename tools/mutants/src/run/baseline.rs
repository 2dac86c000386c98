//! Time of each test without a mutant, and which mutants it reaches.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::program::{End, Limits, Program};
use super::{RESULTS, Settings};
use crate::Failure;

/// Longest time of a test without a mutant.
const LONGEST: Duration = Duration::from_secs(600);

/// A test without a mutant.
#[derive(Debug, Serialize, Deserialize)]
pub struct Test {
    /// Place of the program in the manifest.
    pub program: usize,
    /// Name of the test.
    pub name: String,
    /// Time of the test, in seconds.
    pub seconds: f64,
    /// Numbers of the mutants that it evaluates.
    pub reached: Vec<usize>,
}

/// All tests of a crate, the fastest first.
#[derive(Debug, Serialize, Deserialize)]
pub struct Baseline {
    /// Which build the programs are of.
    built: u64,
    /// The tests.
    pub tests: Vec<Test>,
}

impl Baseline {
    /// Reads the baseline of the programs from the folder `out`, or runs each test and writes it there. A baseline of
    /// another build does not count; then the results in `out` are removed, because sources or tests may have changed
    /// since that build. `built` is its time, or another number that tells builds from each other.
    pub fn kept(out: &Path, programs: &[Program], built: u64, settings: &Settings) -> Result<Self, Failure> {
        let (kept, results) = (out.join("baseline.json"), out.join(RESULTS));
        if let Some(baseline) = Self::read(&kept, built) {
            return Ok(baseline);
        }
        if results.exists() {
            fs::remove_file(&results)?;
        }
        let limits = Limits { time: LONGEST, memory: settings.memory };
        let baseline = Self::measure(programs, built, settings.jobs, &limits)?;
        baseline.write(&kept)?;
        Ok(baseline)
    }

    fn read(path: &Path, built: u64) -> Option<Self> {
        let baseline: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        (baseline.built == built).then_some(baseline)
    }

    fn write(&self, path: &Path) -> Result<(), Failure> {
        Ok(fs::write(path, serde_json::to_vec(self)?)?)
    }

    /// Runs each test once.
    fn measure(programs: &[Program], built: u64, jobs: usize, limits: &Limits) -> Result<Self, Failure> {
        let mut names = Vec::new();
        for (program, each) in programs.iter().enumerate() {
            names.extend(each.tests()?.into_iter().map(|name| (program, name)));
        }
        let tests = Mutex::new(Vec::new());
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs)
                .map(|_| {
                    scope.spawn(|| -> Result<(), Failure> {
                        while let Some((program, name)) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                            let test = measure(*program, &programs[*program], name, limits)?;
                            tests.lock().expect("no worker panics").push(test);
                        }
                        Ok(())
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
        })?;
        let mut tests = tests.into_inner().expect("no worker panics");
        tests.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        Ok(Self { built, tests })
    }

    /// Tests that reach a mutant, the fastest first.
    pub fn reaching(&self, mutant: usize) -> Vec<usize> {
        let tests = self.tests.iter().enumerate();
        tests.filter(|(_, test)| test.reached.binary_search(&mutant).is_ok()).map(|(index, _)| index).collect()
    }
}

fn measure(index: usize, program: &Program, name: &str, limits: &Limits) -> Result<Test, Failure> {
    let folder = tempfile::tempdir()?;
    let began = Instant::now();
    let end = program.run(name, ("MUTANT_COVERAGE", folder.path().as_os_str()), limits)?;
    let seconds = began.elapsed().as_secs_f64();
    if end != End::Passed {
        return Err(format!("the test {name} of {} does not pass without a mutant", program.path.display()).into());
    }
    let mut reached = Vec::new();
    // One file for each process of the test.
    for file in fs::read_dir(folder.path())? {
        for line in fs::read_to_string(file?.path())?.lines() {
            reached.push(line.parse()?);
        }
    }
    reached.sort_unstable();
    reached.dedup();
    Ok(Test { program: index, name: name.to_owned(), seconds, reached })
}
