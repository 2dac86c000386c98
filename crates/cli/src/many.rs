//! Shows the registrations of many subjects to one fixed image: the plan, the progress and the outcome. `batch` and
//! `normalise` are its front ends.

use std::fmt::Display;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antsreg_console::{CliError, Console, ProgressBar, advice, command_line::command_line, device_notes, output};
use antsreg_core::report::Report;
use antsreg_register::DeviceNote;
use antsreg_study::batch::{BatchObserver, Order, Plan, Steps};
use antsreg_study::pair::Record;
use antsreg_study::{Error as StudyError, Invocation, RunWarning};

mod show;

/// Seconds from which the preparation of a subject gets a line of its own.
const SHORTEST_SHOWN: f64 = 0.5;

/// Runs a study that `plan` makes ready, or only shows the plan (`dry_run`), and prints the outcome of all subjects.
pub fn run<'a, S: Steps + 'a>(
    order: &Order,
    dry_run: bool,
    console: &mut Console,
    plan: impl FnOnce(&dyn BatchObserver) -> Result<Plan<'a, S>, StudyError>,
) -> Result<(), CliError> {
    let (command_line, threads, began) = (command_line(), console.threads, console.began());
    let invocation = Invocation { threads, command_line: &command_line, began };
    let bar = console.bar();
    let lines = Lines { iterations: console.wants_iterations(), console: Mutex::new(console), bar };
    let mut plan = plan(&lines)?;
    if dry_run {
        let devices = plan.devices(&lines)?;
        return output::print(&show::plan(&plan, &devices));
    }
    let outcome = plan.run(&invocation, &lines);
    lines.bar.finish_and_clear();
    let outcome = outcome?;
    output::print(&show::outcome(&outcome))?;
    match outcome.failed() {
        none if none.is_empty() => lines.console().judge_all(outcome.wrong()),
        failed => Err(CliError::SomeFailed { failed, of: outcome.rows.len(), summary: order.of_all.summary.clone() }),
    }
}

/// Prints the progress of many registrations: a line for each event and, on a terminal, a bar of the subjects.
struct Lines<'a> {
    console: Mutex<&'a mut Console>,
    iterations: bool,
    /// The subjects that have ended; hidden where no bars are shown.
    bar: ProgressBar,
}

impl<'a> Lines<'a> {
    /// Locks the console for printing.
    fn console(&self) -> MutexGuard<'_, &'a mut Console> {
        self.console.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints a line above the bar.
    fn note(&self, line: impl Display) {
        self.bar.suspend(|| self.console().note(line));
    }

    /// Prints a warning above the bar.
    fn warn(&self, line: impl Display) {
        self.bar.suspend(|| self.console().warn(line));
    }
}

impl BatchObserver for Lines<'_> {
    fn device(&self, note: &DeviceNote) {
        self.bar.suspend(|| device_notes::show(note, &mut self.console()));
    }

    fn warning(&self, subject: &str, warning: &RunWarning) {
        self.warn(format_args!("{subject}: {warning}{}", advice::of_run(warning)));
    }

    fn begins(&self, subjects: usize) {
        self.bar.set_length(subjects as u64);
        self.bar.enable_steady_tick(Duration::from_millis(200));
    }

    fn prepared(&self, subject: &str, seconds: f64) {
        self.bar.set_message(format!("registering {subject}"));
        // What takes no time was not needed: an image without shading and skull to remove.
        if seconds >= SHORTEST_SHOWN {
            self.note(format_args!("{subject}: prepared (shading, brain), {seconds:.2} s"));
        }
    }

    fn iteration(&self, subject: &str, report: &Report) -> ControlFlow<()> {
        if self.iterations {
            self.bar.suspend(|| self.console().iteration(Some(subject), report));
        }
        ControlFlow::Continue(())
    }

    fn done(&self, [ended, count]: [usize; 2], subject: &str, record: &Record) {
        self.bar.set_position(ended as u64);
        self.note(format_args!("[{ended}/{count}] {subject}: {}", show::done(record)));
    }

    fn failed(&self, [ended, count]: [usize; 2], subject: &str, error: &StudyError) {
        let advice = advice::of_study(error);
        self.bar.set_position(ended as u64);
        self.warn(format_args!("[{ended}/{count}] {subject} failed: {error}{advice}"));
    }

    fn wrote(&self, path: &Path) {
        self.note(format_args!("wrote {}", path.display()));
    }
}
