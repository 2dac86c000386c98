//! Runs mutants one after another, on several threads.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::Settings;
use super::baseline::Baseline;
use super::program::{End, Program};
use super::results::{Log, Outcome};
use crate::Failure;
use crate::manifest::Switched;

/// Runs the mutants without a result in `results`, and appends theirs.
pub fn run_all(
    mutants: &[Switched],
    programs: &[Program],
    baseline: &Baseline,
    results: &Path,
    settings: &Settings,
) -> Result<(), Failure> {
    let (log, done) = Log::open(results)?;
    let waiting: Vec<usize> = (0..mutants.len()).filter(|index| !done.contains(&mutants[*index].name)).collect();
    let queue = Queue { mutants, programs, baseline, settings, noticed: Mutex::default(), log: Mutex::new(log) };
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let worker = || -> Result<(), Failure> {
            while let Some(index) = waiting.get(next.fetch_add(1, Ordering::Relaxed)) {
                queue.run(*index)?;
            }
            Ok(())
        };
        let workers: Vec<_> = (0..settings.jobs).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })
}

struct Queue<'a> {
    mutants: &'a [Switched],
    programs: &'a [Program],
    baseline: &'a Baseline,
    settings: &'a Settings,
    /// For each function the tests that noticed its mutants, the last one last.
    noticed: Mutex<HashMap<&'a str, Vec<usize>>>,
    log: Mutex<Log>,
}

impl<'a> Queue<'a> {
    /// Runs one mutant.
    fn run(&self, index: usize) -> Result<(), Failure> {
        let mutant = &self.mutants[index];
        let began = Instant::now();
        let tests = self.tests(index);
        let mut outcome =
            if self.baseline.reaching(index + 1).is_empty() { Outcome::Unreached } else { Outcome::Missed };
        let mut noticed_by = "";
        for test in tests {
            let end = self.run_test(test, index)?;
            if end != End::Passed {
                outcome = if end == End::Timeout { Outcome::Timeout } else { Outcome::Caught };
                noticed_by = &self.baseline.tests[test].name;
                self.remember(&mutant.function, test);
                break;
            }
        }
        let mut log = self.log.lock().expect("no worker panics");
        log.push(outcome, began.elapsed().as_secs_f64(), noticed_by, &mutant.name)
    }

    fn run_test(&self, test: usize, index: usize) -> Result<End, Failure> {
        let test = &self.baseline.tests[test];
        let number = (index + 1).to_string();
        let limits = self.settings.limits(test.seconds);
        self.programs[test.program].run(&test.name, ("MUTANT", OsStr::new(&number)), &limits)
    }

    /// Tests that reach a mutant and are not left out: first those that noticed another mutant of its function, then
    /// the fastest.
    fn tests(&self, index: usize) -> Vec<usize> {
        let mut reaching = self.baseline.reaching(index + 1);
        reaching.retain(|test| self.baseline.tests[*test].seconds <= self.settings.longest);
        let noticed = self.noticed.lock().expect("no worker panics");
        let noticed = noticed.get(self.mutants[index].function.as_str()).map_or(&[][..], Vec::as_slice);
        let first = noticed.iter().rev().filter(|test| reaching.contains(test));
        let others = reaching.iter().filter(|test| !noticed.contains(test));
        first.chain(others).copied().collect()
    }

    fn remember(&self, function: &'a str, test: usize) {
        let mut noticed = self.noticed.lock().expect("no worker panics");
        let tests = noticed.entry(function).or_default();
        tests.retain(|other| *other != test);
        tests.push(test);
    }
}
