//! Time of each test without a mutant, and which mutants it reaches.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::program::{End, Limits, Program};
use crate::Failure;

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
    /// When the programs were built.
    built: u64,
    /// The tests.
    pub tests: Vec<Test>,
}

impl Baseline {
    /// Reads the baseline of the programs that were built at the time `built`, if the file has it.
    pub fn read(path: &Path, built: u64) -> Option<Self> {
        let baseline: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        (baseline.built == built).then_some(baseline)
    }

    /// Writes the baseline to a file.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        Ok(fs::write(path, serde_json::to_vec(self)?)?)
    }

    /// Runs each test once.
    pub fn measure(programs: &[Program], built: u64, jobs: usize, limits: &Limits) -> Result<Self, Failure> {
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
