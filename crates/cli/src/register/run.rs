//! The registration itself: read, check, compute; `results` does the rest.

use antsreg_core::AffineTransform;
use antsreg_core::overlap::Overlap;
use antsreg_kernels::{Backend, Cpu};
use antsreg_linear as linear;
use antsreg_syn as syn;

use super::args::Args;
use super::files::Files;
use super::inputs::Inputs;
use super::plan::{self, Plan};
use super::record::Seconds;
use super::{results, show};
use crate::device::Device;
use crate::error::CliError;
use crate::progress::Console;

/// Runs `register`. Gives the overlap of the labels, if there were any to score.
pub fn run(args: &Args, console: &mut Console) -> Result<Option<Overlap>, CliError> {
    plan::check(&args.settings)?;
    let files = Files::new(args);
    files.check(args)?;
    let inputs = Inputs::read(args, console)?;
    let plan = Plan::resolve(&args.settings, &inputs)?;
    if args.dry_run {
        crate::output::print(&show::plan(args, &inputs, &plan, &files, console.threads))?;
        return Ok(None);
    }
    let mut seconds = Seconds { read: console.elapsed().as_secs_f64(), ..Seconds::default() };
    let found = match plan.device {
        Device::Cpu => stages(&Cpu, &inputs, &plan, &mut seconds, console)?,
    };
    results::write(args, &inputs, &plan, &files, found, seconds, console)
}

/// What the stages found.
pub struct Found {
    /// Fixed → moving, RAS mm.
    pub affine: AffineTransform,
    /// Outcome of the affine stage.
    pub linear: Option<linear::Outcome>,
    /// Outcome of the diffeomorphic stage.
    pub syn: Option<syn::Outcome>,
}

/// Both stages on one device.
fn stages<B: Backend>(
    backend: &B,
    inputs: &Inputs,
    plan: &Plan,
    seconds: &mut Seconds,
    console: &mut Console,
) -> Result<Found, CliError> {
    let [fixed_mask, moving_mask] = inputs.masks();
    let (fixed, moving) = ((&inputs.fixed, fixed_mask), (&inputs.moving, moving_mask));
    let mut found = Found { affine: inputs.initial, linear: None, syn: None };
    if let Some(options) = &plan.linear {
        let (outcome, took) = console
            .stage(|observer| linear::register(backend, fixed.0, moving.0, fixed.1, moving.1, options, observer));
        let outcome = outcome?;
        seconds.linear = Some(took.as_secs_f64());
        console.note(format_args!("affine: cost {:.6}, {:.2} s", outcome.cost, took.as_secs_f64()));
        found.affine = outcome.transform;
        found.linear = Some(outcome);
    }
    if let Some(options) = &plan.syn {
        let (outcome, took) =
            console.stage(|observer| syn::register(backend, fixed, moving, &found.affine, options, observer));
        found.syn = Some(outcome?);
        seconds.syn = Some(took.as_secs_f64());
        console.note(format_args!("syn: {:.2} s", took.as_secs_f64()));
    }
    Ok(found)
}
