//! Results of mutants: one line for each, so that an interrupted run can go on.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::Failure;

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A test failed.
    Caught,
    /// A test took too long.
    Timeout,
    /// All tests that reach it passed.
    Missed,
    /// No test reaches it.
    Unreached,
}

impl Outcome {
    const ALL: [Self; 4] = [Self::Caught, Self::Timeout, Self::Missed, Self::Unreached];
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Caught => "caught",
            Self::Timeout => "timeout",
            Self::Missed => "missed",
            Self::Unreached => "unreached",
        })
    }
}

/// File of results, to which lines are appended.
#[derive(Debug)]
pub struct Log {
    file: File,
}

impl Log {
    /// Opens the file. Returns the names of mutants that have a result too.
    pub fn open(path: &Path) -> Result<(Self, HashSet<String>), Failure> {
        let text = fs::read_to_string(path).unwrap_or_default();
        let done = lines(&text).map(|(_, name)| name.to_owned()).collect();
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        if !text.is_empty() && !text.ends_with('\n') {
            // The last run was interrupted within a line.
            writeln!(file)?;
        }
        Ok((Self { file }, done))
    }

    /// Appends a result: outcome, seconds, test that noticed the mutant, mutant.
    pub fn push(&mut self, outcome: Outcome, seconds: f64, test: &str, name: &str) -> Result<(), Failure> {
        Ok(self.file.write_all(format!("{outcome}\t{seconds:.3}\t{test}\t{name}\n").as_bytes())?)
    }
}

/// Outcomes and mutants of complete lines.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split_inclusive('\n').filter_map(|line| {
        let mut columns = line.strip_suffix('\n')?.splitn(4, '\t');
        Some((columns.next()?, columns.nth(2)?))
    })
}

/// Numbers of mutants by outcome, and the survivors.
#[derive(Debug)]
pub struct Summary {
    counts: [usize; 4],
    /// Mutants that no test notices.
    pub missed: Vec<String>,
}

impl Summary {
    /// Counts the results of a file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = fs::read_to_string(path)?;
        let of = |outcome: Outcome| {
            let text = &text;
            lines(text).filter(move |(word, _)| *word == outcome.to_string()).map(|(_, name)| name.to_owned())
        };
        let mut missed: Vec<String> = of(Outcome::Missed).chain(of(Outcome::Unreached)).collect();
        missed.sort();
        Ok(Self { counts: Outcome::ALL.map(|outcome| of(outcome).count()), missed })
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let counts: Vec<String> =
            Outcome::ALL.iter().zip(self.counts).map(|(outcome, count)| format!("{count} {outcome}")).collect();
        f.write_str(&counts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_line_is_done_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.tsv");
        fs::write(&path, "caught\t0.1\tt\ta.rs:1:2: x\nmissed\t0.2\t\ta.rs:1").unwrap();
        let (mut log, done) = Log::open(&path).unwrap();
        assert_eq!(done, HashSet::from(["a.rs:1:2: x".to_owned()]));
        log.push(Outcome::Unreached, 0.0, "", "a.rs:1:3: y").unwrap();
        let summary = Summary::read(&path).unwrap();
        assert_eq!(summary.missed, ["a.rs:1", "a.rs:1:3: y"]);
    }
}
