//! The subcommand (verb) `batch`: registers many subjects to one fixed image.

mod args;

use antsreg_console::{CliError, Console};
use antsreg_study::Invocation;
use antsreg_study::batch::{self, Alone, BatchObserver, OfAll, Order, Outcome};

use crate::many;

pub use args::Args;

/// Runs `batch`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let study = args.study()?;
    let order = order(args);
    let read = || batch::read_fixed(&study.shared);
    many::run(&order, args.dry_run, console, |observer| batch::plan(&study, &order, &Alone, read, observer))
}

/// Registers the subjects and returns the outcome, without showing it.
pub fn outcome(args: &Args, invocation: &Invocation, observer: &dyn BatchObserver) -> Result<Outcome, CliError> {
    let study = args.study()?;
    let read = || batch::read_fixed(&study.shared);
    Ok(batch::run(&study, &order(args), &Alone, read, invocation, observer)?)
}

fn order(args: &Args) -> Order<'_> {
    Order {
        devices: &args.registration.device,
        workers: args.workers,
        resume: args.resume,
        folders: vec![args.output.clone()],
        sources: &args.subjects,
        of_all: OfAll {
            summary: Some(batch::summary_name(&args.output)),
            page: args.report().then(|| batch::page_name(&args.output)),
            texts: Vec::new(),
        },
    }
}
