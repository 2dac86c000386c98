//! The subcommand (verb) `normalise`: normalises raw scans of heads to a template.

mod args;

use antsreg_console::{CliError, Console};
use antsreg_study::batch;

use crate::many::{self, OfAll, Order, Study};

pub use args::Args;

/// Runs the subcommand (verb) `normalise`, which normalises raw scans of heads to a template.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    let plan = args.request()?.plan()?;
    // With `--shard` (only a part of the scans is processed), no summary table and no HTML page about all scans are
    // written, because they would contain only this part.
    let folder = plan.dataset.as_ref().map(|dataset| &dataset.folder).filter(|_| args.shard.is_none());
    let order = Order {
        devices: &args.registration.device,
        workers: args.workers,
        resume: args.resume,
        dry_run: args.dry_run,
        folders: plan.folders(),
        sources: &args.scans,
        of_all: OfAll {
            summary: folder.map(|folder| batch::summary_name(folder)),
            page: folder.filter(|_| args.report()).map(|folder| batch::page_name(folder)),
            dataset: plan.dataset.clone(),
        },
    };
    let study =
        Study { shared: plan.shared.clone(), recipe: plan.recipe.clone(), jobs: plan.jobs.clone(), masked: false };
    many::run(&study, &order, &plan.steps, || plan.fixed(), console)
}
