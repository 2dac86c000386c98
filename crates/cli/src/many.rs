//! Shows the registrations of many subjects to one fixed image: the plan, the progress and the outcome. `batch` and
//! `normalise` are its front ends.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use antsreg_console::{CliError, Console, advice, command_line::command_line, device_notes, output};
use antsreg_core::report::Report;
use antsreg_register::DeviceNote;
use antsreg_study::batch::{BatchObserver, Order, Plan, Steps};
use antsreg_study::pair::Record;
use antsreg_study::{Error as StudyError, Invocation, RunWarning};

mod show;

/// Runs a study that `plan` makes ready, or only shows the plan (`dry_run`), and prints the outcome of all subjects.
pub fn run<'a, S: Steps + 'a>(
    order: &Order,
    dry_run: bool,
    console: &mut Console,
    plan: impl FnOnce(&dyn BatchObserver) -> Result<Plan<'a, S>, StudyError>,
) -> Result<(), CliError> {
    let (command_line, threads, began) = (command_line(), console.threads, console.began());
    let invocation = Invocation { threads, command_line: &command_line, began };
    let lines = Lines { iterations: console.wants_iterations(), console: Mutex::new(console) };
    let mut plan = plan(&lines)?;
    if dry_run {
        let devices = plan.devices(&lines)?;
        return output::print(&show::plan(&plan, &devices));
    }
    let outcome = plan.run(&invocation, &lines)?;
    output::print(&show::outcome(&outcome))?;
    match outcome.failed() {
        none if none.is_empty() => lines.console().judge_all(outcome.wrong()),
        failed => Err(CliError::SomeFailed { failed, of: outcome.rows.len(), summary: order.of_all.summary.clone() }),
    }
}

/// Prints the progress of many registrations, a line for each event.
struct Lines<'a> {
    console: Mutex<&'a mut Console>,
    iterations: bool,
}

impl<'a> Lines<'a> {
    /// Locks the console for printing.
    fn console(&self) -> MutexGuard<'_, &'a mut Console> {
        self.console.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BatchObserver for Lines<'_> {
    fn device(&self, note: &DeviceNote) {
        device_notes::show(note, &mut self.console());
    }

    fn warning(&self, subject: &str, warning: &RunWarning) {
        self.console().warn(format_args!("{subject}: {warning}{}", advice::of_run(warning)));
    }

    fn iteration(&self, subject: &str, report: &Report) -> ControlFlow<()> {
        if self.iterations {
            self.console().iteration(Some(subject), report);
        }
        ControlFlow::Continue(())
    }

    fn done(&self, [ended, count]: [usize; 2], subject: &str, record: &Record) {
        self.console().note(format_args!("[{ended}/{count}] {subject}: {}", show::done(record)));
    }

    fn failed(&self, [ended, count]: [usize; 2], subject: &str, error: &StudyError) {
        let advice = advice::of_study(error);
        self.console().warn(format_args!("[{ended}/{count}] {subject} failed: {error}{advice}"));
    }

    fn wrote(&self, path: &Path) {
        self.console().note(format_args!("wrote {}", path.display()));
    }
}
