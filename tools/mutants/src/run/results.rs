//! Results of mutants: one line for each, so that an interrupted run can go on.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use super::RESULTS;
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
    /// The tests do not build.
    Unviable,
}

impl Outcome {
    const ALL: [Self; 5] = [Self::Caught, Self::Timeout, Self::Missed, Self::Unreached, Self::Unviable];
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Caught => "caught",
            Self::Timeout => "timeout",
            Self::Missed => "missed",
            Self::Unreached => "unreached",
            Self::Unviable => "unviable",
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

/// Survivors that no test can or need notice: descriptions of mutants without line and column, each with a tab and the
/// reason.
#[derive(Debug, Default)]
pub struct Reasons(HashSet<String>);

impl Reasons {
    /// Reads the table of reasons.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(text.lines().filter_map(|line| Some(line.split_once('\t')?.0.to_owned())).collect()))
    }

    /// Whether the table has a mutant with this name, such as `a.rs:1:2: replace < with <= in f`.
    fn has(&self, name: &str) -> bool {
        let mut parts = name.splitn(4, ':');
        let description = parts.next().zip(parts.nth(2)).map(|(file, change)| format!("{file}:{change}"));
        description.is_some_and(|description| self.0.contains(&description))
    }
}

/// Numbers of mutants by outcome, and the survivors.
#[derive(Debug)]
pub struct Summary {
    counts: [usize; 5],
    /// Number of survivors that have a reason.
    reasoned: usize,
    /// Mutants that no test notices and that have no reason.
    pub missed: Vec<String>,
}

impl Summary {
    /// Counts the results in the folder `out`, and writes `missed.txt` there.
    pub fn write(out: &Path, reasons: &Reasons) -> Result<Self, Failure> {
        let summary = Self::read(&out.join(RESULTS), reasons)?;
        let missed: String = summary.missed.iter().map(|name| format!("{name}\n")).collect();
        fs::write(out.join("missed.txt"), missed)?;
        Ok(summary)
    }

    /// Counts the results of a file.
    fn read(path: &Path, reasons: &Reasons) -> Result<Self, Failure> {
        let text = fs::read_to_string(path)?;
        let of = |outcome: Outcome| {
            let text = &text;
            lines(text).filter(move |(word, _)| *word == outcome.to_string()).map(|(_, name)| name.to_owned())
        };
        let survivors = of(Outcome::Missed).chain(of(Outcome::Unreached));
        let (reasoned, mut missed): (Vec<String>, _) = survivors.partition(|name| reasons.has(name));
        missed.sort();
        Ok(Self { counts: Outcome::ALL.map(|outcome| of(outcome).count()), reasoned: reasoned.len(), missed })
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let counts: Vec<String> =
            Outcome::ALL.iter().zip(self.counts).map(|(outcome, count)| format!("{count} {outcome}")).collect();
        write!(f, "{}; {} survivors have a reason", counts.join(", "), self.reasoned)
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
        let summary = Summary::read(&path, &Reasons::default()).unwrap();
        assert_eq!(summary.missed, ["a.rs:1", "a.rs:1:3: y"]);
    }

    #[test]
    fn survivors_with_a_reason_are_not_listed() {
        let folder = tempfile::tempdir().unwrap();
        let [results, reasons] = ["results.tsv", "reasons.tsv"].map(|name| folder.path().join(name));
        let name = "a.rs:1:2: replace A::f -> bool with true";
        fs::write(
            &results,
            format!("missed\t0.1\t\t{name}\nunreached\t0.1\t\t{name} or\ncaught\t0.1\tt\tb.rs:1:2: x\n"),
        )
        .unwrap();
        fs::write(&reasons, "a.rs: replace A::f -> bool with true\tBoth are right.\n").unwrap();
        let summary = Summary::read(&results, &Reasons::read(&reasons).unwrap()).unwrap();
        assert_eq!(summary.missed, [format!("{name} or")]);
        assert_eq!(
            summary.to_string(),
            "1 caught, 0 timeout, 1 missed, 1 unreached, 0 unviable; 1 survivors have a reason"
        );
    }
}
