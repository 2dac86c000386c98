//! Progress and messages of a command: bars on a terminal, plain lines elsewhere, and a log file if requested.
//!
//! All messages go to standard error; only results go to standard output.

use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use antsreg_core::io::outputs;
use antsreg_core::report::{Observer, Report, Stage};
use antsreg_register::verdict::{Judgement, Verdict};
use antsreg_register::{Progress, StageOutcome};
use indicatif::{ProgressBar, ProgressStyle};

use crate::error::CliError;
use crate::output::say;

/// Choice of the messages that the user wants to see.
#[derive(Debug, Clone, Default)]
pub struct Messages {
    /// Whether only results, warnings and errors are shown.
    pub quiet: bool,
    /// Whether every iteration is shown, not only every level.
    pub verbose: bool,
    /// Path of a log file for every iteration.
    pub log: Option<PathBuf>,
}

/// Writes messages to standard error and to the log, at the requested level of detail.
#[derive(Debug)]
pub struct Console {
    /// Number of threads of the computation.
    pub threads: usize,
    /// Whether a result whose verdict is `wrong` ends the command with an exit code of its own.
    pub strict: bool,
    style: Style,
    verbose: bool,
    log: Option<Log>,
    began: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Quiet,
    Lines,
    Bars,
}

#[derive(Debug)]
struct Log {
    path: PathBuf,
    file: BufWriter<File>,
    failed: bool,
}

impl Console {
    /// Makes a console for these messages and this terminal. `threads` is the number of threads, for records.
    ///
    /// # Errors
    /// The log file cannot be written, or a file of another kind has its name.
    pub fn new(messages: &Messages, threads: usize) -> Result<Console, CliError> {
        let style = match (messages.quiet, std::io::stderr().is_terminal()) {
            (true, _) => Style::Quiet,
            (false, true) if !messages.verbose => Style::Bars,
            (false, _) => Style::Lines,
        };
        let log = match &messages.log {
            None => None,
            Some(path) if holds_something_else(path) => return Err(CliError::NotALog { path: path.clone() }),
            Some(path) => {
                let file = File::create(path).map_err(|source| CliError::Write { path: path.clone(), source })?;
                outputs::protect(path, "the log");
                Some(Log { path: path.clone(), file: BufWriter::new(file), failed: false })
            }
        };
        Ok(Console { threads, strict: false, style, verbose: messages.verbose, log, began: Instant::now() })
    }

    /// Prints a message of one line, and writes it to the log.
    pub fn note(&mut self, text: impl Display) {
        if self.style != Style::Quiet {
            say(&text);
        }
        self.write_log(&text);
    }

    /// Prints a warning, even if the user asked for quiet.
    pub fn warn(&mut self, text: impl Display) {
        say(format_args!("warning: {text}"));
        self.write_log(&format_args!("warning: {text}"));
    }

    /// When the command of the program began.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Refuses a result whose verdict is `wrong`, if the console is strict; `what` is the result in words.
    ///
    /// # Errors
    /// [`CliError::Wrong`] for such a result.
    pub fn judge(&self, what: &str, verdict: Option<&Verdict>) -> Result<(), CliError> {
        match verdict {
            Some(verdict) if self.strict && verdict.judgement == Judgement::Wrong => {
                Err(CliError::Wrong { results: vec![format!("{what} ({})", verdict.reasons.join("; "))] })
            }
            _ => Ok(()),
        }
    }

    /// Ends a command with many results, some of which may be wrong by their verdicts.
    ///
    /// # Errors
    /// [`CliError::Wrong`] for such results, if the console is strict.
    pub fn judge_all(&self, results: Vec<String>) -> Result<(), CliError> {
        if self.strict && !results.is_empty() { Err(CliError::Wrong { results }) } else { Ok(()) }
    }

    /// Runs the stages of a registration and shows their progress.
    pub fn watch<T>(&mut self, run: impl FnOnce(&mut Watcher) -> T) -> T {
        let mut watcher = Watcher { console: self, bar: None, last: None, since: Instant::now() };
        let value = run(&mut watcher);
        watcher.end_stage();
        value
    }

    /// A bar of subjects that have ended; hidden where no bars are shown. Messages are printed while it is suspended.
    pub fn bar(&self) -> ProgressBar {
        if self.style != Style::Bars {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{spinner} [{bar:30}] {pos}/{len} subjects, {msg} ({elapsed})");
        ProgressBar::new(0).with_message("reading").with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    }

    /// Whether the iterations of a registration are shown or logged.
    pub fn wants_iterations(&self) -> bool {
        self.verbose || self.log.is_some()
    }

    /// Reports an iteration, with the name of the subject if there are several subjects. The report is printed if every
    /// iteration is to be shown, and written to the log.
    pub fn iteration(&mut self, subject: Option<&str>, report: &Report) {
        if !self.wants_iterations() {
            return;
        }
        let text = subject.map_or(String::new(), |subject| format!("{subject}: ")) + &line(report);
        if self.verbose {
            self.note(text);
        } else {
            self.write_log(&text);
        }
    }

    fn write_log(&mut self, text: &dyn Display) {
        let seconds = self.began.elapsed().as_secs_f64();
        let Some(log) = &mut self.log else { return };
        let written = writeln!(log.file, "{seconds:9.2} s  {text}").and_then(|()| log.file.flush());
        if let Err(error) = written
            && !log.failed
        {
            log.failed = true;
            say(format_args!("warning: {}: {error}; the log ends here", log.path.display()));
        }
    }
}

/// Whether the file with this name exists but is not a message log of this program, for example because it is an image.
fn holds_something_else(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(13).read_to_end(&mut start));
    // The format in which `write_log` begins each line of a log.
    let is_log = std::str::from_utf8(&start).ok().and_then(|start| start.strip_suffix(" s  "));
    read.is_ok() && !start.is_empty() && is_log.is_none_or(|seconds| seconds.trim().parse::<f64>().is_err())
}

/// Shows the progress of the running registration stages on the console: as a bar on a terminal, otherwise as lines.
pub struct Watcher<'a> {
    console: &'a mut Console,
    bar: Option<ProgressBar>,
    /// The last report of the registration about an iteration or a search step; `None` before the first report.
    last: Option<Report>,
    /// Time at which the present level of the registration, or the present step of the linear search, began.
    since: Instant,
}

impl Watcher<'_> {
    /// Prints a line for the level, or the step of a search, that has ended.
    fn end_level(&mut self) {
        let Some(last) = self.last.take() else { return };
        let seconds = self.since.elapsed().as_secs_f64();
        self.since = Instant::now();
        let place = format!("{} {}/{}, {}", name(last.step.stage()), last.level + 1, last.levels, last.step);
        let line = match last.step.stage() {
            Stage::Linear => format!("{place}: cost {:.6}, {seconds:.2} s", last.energy),
            Stage::Deformable => {
                format!("{place}: {} iterations, energy {:.6}, {seconds:.2} s", last.iteration, last.energy)
            }
        };
        match &self.bar {
            Some(bar) => {
                bar.suspend(|| say(&line));
                self.console.write_log(&line);
            }
            None => self.console.note(line),
        }
    }

    /// Removes the progress bar of a registration stage that has ended, so that messages about the stage can be
    /// printed.
    pub fn end_stage(&mut self) -> &mut Console {
        self.end_level();
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.since = Instant::now();
        self.console
    }
}

impl Observer for Watcher<'_> {
    fn report(&mut self, report: &Report) -> ControlFlow<()> {
        // The iterations of a level are reported one after the other; the first report of the next level ends the
        // level.
        if self.last.as_ref().is_some_and(|last| last.level != report.level || last.step != report.step) {
            self.end_level();
        }
        self.last = Some(report.clone());
        if self.console.style == Style::Bars {
            let bar = self.bar.get_or_insert_with(new_bar);
            bar.set_prefix(format!("{} {}/{}", name(report.step.stage()), report.level + 1, report.levels));
            bar.set_length(report.iterations as u64);
            bar.set_position(report.iteration as u64);
            bar.set_message(format!("{}, energy {:.6}", report.step, report.energy));
        }
        self.console.iteration(None, report);
        // A step of the linear search is reported once, when it ends.
        if report.step.stage() == Stage::Linear {
            self.end_level();
        }
        ControlFlow::Continue(())
    }
}

impl Progress for Watcher<'_> {
    fn stage_ended(&mut self, _: usize, outcome: &StageOutcome, seconds: f64) {
        let console = self.end_stage();
        match outcome {
            StageOutcome::Linear(outcome) => {
                console.note(format_args!("affine: cost {:.6}, {seconds:.2} s", outcome.cost));
            }
            StageOutcome::Deformable(_) => console.note(format_args!("syn: {seconds:.2} s")),
        }
    }
}

/// Returns the report of an iteration as one line of text.
fn line(report: &Report) -> String {
    format!(
        "{} {}/{}, {}: iteration {} of {}, energy {:.6}",
        name(report.step.stage()),
        report.level + 1,
        report.levels,
        report.step,
        report.iteration,
        report.iterations,
        report.energy
    )
}

/// Short name of a stage in messages: `affine` or `syn`.
pub fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Linear => "affine",
        Stage::Deformable => "syn",
    }
}

fn new_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix:<11} [{bar:30}] {pos}/{len} {msg} ({elapsed})");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use antsreg_core::report::{SearchStep, Step};

    use super::*;

    #[test]
    fn the_seconds_of_a_step_stand_on_its_own_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run.log");
        let messages = Messages { quiet: true, verbose: false, log: Some(path.clone()) };
        let mut console = Console::new(&messages, 1).expect("a console");
        let report = |search| Report {
            step: Step::Linear { mm: 8.0, search },
            level: 0,
            levels: 1,
            iteration: 1,
            iterations: 5,
            energy: 0.5,
        };
        console.watch(|watcher| {
            let _ = watcher.report(&report(SearchStep::Orientations));
            std::thread::sleep(Duration::from_millis(60));
            let _ = watcher.report(&report(SearchStep::AllTogether));
        });
        let log = std::fs::read_to_string(&path).expect("the log");
        let line = log.lines().find(|line| line.contains("all together: cost")).expect("a line");
        let (_, seconds) = line.rsplit_once(", ").expect("seconds");
        let seconds: f64 = seconds.trim_end_matches(" s").parse().expect("a number");
        assert!(seconds >= 0.05, "{log}");
    }
}
