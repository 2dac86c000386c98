//! The subcommand (verb) `normalise`: normalises raw scans of heads to a template.

mod args;

use antsreg_console::{CliError, Console};
use antsreg_study::batch::{BatchObserver, Outcome};
use antsreg_study::{Invocation, normalise};

use crate::many;

pub use args::Args;

/// Runs the subcommand (verb) `normalise`, which normalises raw scans of heads to a template.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let normalisation = args.request()?.plan()?;
    let order = normalisation.order(&args.registration.device, args.workers, args.resume, &args.scans);
    many::run(&order, args.dry_run, console, |observer| normalisation.plan(&order, observer))
}

/// Normalises the scans and returns the outcome, without showing it.
pub fn outcome(args: &Args, invocation: &Invocation, observer: &dyn BatchObserver) -> Result<Outcome, CliError> {
    let normalisation = args.request()?.plan()?;
    let order = normalisation.order(&args.registration.device, args.workers, args.resume, &args.scans);
    Ok(normalise::run(&normalisation, &order, invocation, observer)?)
}
