//! The registration itself: read, check, compute; `results` does the rest.

use std::time::Instant;

use antsreg_core::overlap::Overlap;
use antsreg_kernels::{Backend, Cpu};
use antsreg_linear as linear;
use antsreg_syn as syn;

use super::args::Args;
use super::files::Files;
use super::found::{Diffeomorphism, Found, Wanted};
use super::images::{Images, Pair};
use super::inputs::Inputs;
use super::memory::DeviceMemory;
use super::plan::{self, Plan};
use super::profile::Profile;
use super::record::Seconds;
use super::results::{self, Registration, Written};
use super::show;
use crate::device::{Device, DeviceChoice, Opened};
use crate::error::{CliError, UsageError};
use crate::progress::Console;

/// Runs `register`. Gives the overlap of the labels, if there were any to score.
pub fn run(args: &Args, console: &mut Console) -> Result<Option<Overlap>, CliError> {
    plan::check(&args.settings, &args.channels)?;
    let device = args.settings.device.one()?;
    if args.profile && device == DeviceChoice::Cpu {
        return Err(UsageError::NoEffect { option: "--profile", with: "--device cpu".into() }.into());
    }
    let files = Files::new(args);
    files.check(args)?;
    let (inputs, opened) = read_and_open(args, device, console)?;
    if let Some(note) = opened.note() {
        console.note(note);
    }
    if let (true, Some(reason)) = (args.profile, &opened.instead_of_gpu) {
        let with = format!("the CPU, which --device auto takes because {reason}");
        return Err(UsageError::NoEffect { option: "--profile", with }.into());
    }
    let Opened { device, description, seconds: opening, .. } = opened;
    let plan = Plan::resolve(&args.settings, &inputs, description)?;
    let wanted = Wanted::new(args);
    let memory = device.cuda().map(|cuda| DeviceMemory::before(cuda, &inputs, &plan, wanted)).transpose()?;
    // A dry run shows what there would be too little memory for.
    if args.dry_run {
        crate::output::print(&show::plan(args, &inputs, &plan, memory.as_ref(), &files, console.threads))?;
    }
    if let Some(memory) = memory {
        memory.check(&plan)?;
    }
    if args.dry_run {
        return Ok(None);
    }
    let mut seconds = Seconds { read: console.elapsed().as_secs_f64(), device: opening, ..Seconds::default() };
    if let (true, Some(cuda)) = (args.profile, device.cuda()) {
        cuda.start_profile();
    }
    let mut found = match &device {
        Device::Cpu => stages(&Cpu, &inputs, &plan, wanted.without_images(), &mut seconds, console)?,
        Device::Cuda(cuda) => stages(cuda.as_ref(), &inputs, &plan, wanted, &mut seconds, console)?,
    };
    if let Some(cuda) = device.cuda() {
        found.device_memory = memory.map(|memory| memory.after(cuda)).transpose()?;
        found.profile = args.profile.then(|| Profile::finish(cuda, console)).transpose()?;
    }
    let total = |_: &Seconds| console.elapsed().as_secs_f64();
    let Written { record, overlap, paths } = std::thread::scope(|scope| {
        // A driver takes a while to let go of a device.
        scope.spawn(|| drop(device));
        let of = Registration { args, inputs: &inputs, plan: &plan, files: &files, threads: console.threads };
        results::write(of, found, seconds, total)
    })?;
    for path in paths {
        console.note(format_args!("wrote {}", path.display()));
    }
    for path in files.left_over(args) {
        console.warn(format_args!("{} is from an earlier run and does not belong to these files", path.display()));
    }
    crate::output::print(&show::outcome(&record))?;
    Ok(overlap)
}

/// Reads the files while the device gets ready. The device is waited for even where reading fails: a program must not
/// end while a driver starts.
fn read_and_open(args: &Args, device: DeviceChoice, console: &mut Console) -> Result<(Inputs, Opened), CliError> {
    let (inputs, opened) = std::thread::scope(|scope| {
        let opening = scope.spawn(|| device.open_alone());
        let inputs = Inputs::read(args, console);
        (inputs, opening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    Ok((inputs?, opened?))
}

/// Both stages on one device, and what it makes of the images.
fn stages<B: Backend>(
    backend: &B,
    inputs: &Inputs,
    plan: &Plan,
    wanted: Wanted,
    seconds: &mut Seconds,
    console: &mut Console,
) -> Result<Found, CliError> {
    let [fixed_mask, moving_mask] = inputs.masks();
    let (fixed, moving) = ((inputs.fixed.as_ref(), fixed_mask), (&inputs.moving, moving_mask));
    let mut found =
        Found { affine: inputs.initial, linear: None, syn: None, images: None, device_memory: None, profile: None };
    if let Some(options) = &plan.linear {
        let (outcome, took) = console
            .stage(|observer| linear::register(backend, fixed.0, moving.0, fixed.1, moving.1, options, observer));
        let outcome = outcome?;
        seconds.linear = Some(took.as_secs_f64());
        console.note(format_args!("affine: cost {:.6}, {:.2} s", outcome.cost, took.as_secs_f64()));
        found.affine = outcome.transform;
        found.linear = Some(outcome);
    }
    let mut warps = None;
    if let Some(options) = &plan.syn {
        let [fixed, moving] = inputs.sides();
        let (outcome, took) = console.stage(|observer| {
            let fixed = syn::Fixed::new(backend, fixed, options)?;
            let (warps, course) = fixed.find(backend, moving, &found.affine, observer)?;
            let fetched = Diffeomorphism::fetch(backend, &fixed, &warps, course, wanted)?;
            Ok::<_, CliError>((warps, fetched))
        });
        let (on_device, fetched) = outcome?;
        let levels = &fetched.course.levels;
        for (n, _) in levels.iter().enumerate().filter(|(_, level)| level.undone) {
            let (number, all) = (n + 1, levels.len());
            console.note(format_args!("syn {number}/{all}: undone, as it left the images no more alike"));
        }
        (warps, found.syn) = (Some(on_device), Some(fetched));
        seconds.syn = Some(took.as_secs_f64());
        console.note(format_args!("syn: {:.2} s", took.as_secs_f64()));
    }
    if let Some(wanted) = wanted.images {
        let began = Instant::now();
        let pair =
            Pair { fixed: fixed.0, mask: fixed.1, moving: moving.0, initial: inputs.initial, affine: found.affine };
        found.images = Images::by(backend, &pair, warps.as_ref(), wanted).map_err(CliError::Device)?;
        seconds.outputs += began.elapsed().as_secs_f64();
    }
    Ok(found)
}
