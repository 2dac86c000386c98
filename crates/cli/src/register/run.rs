//! One registration from files to files: read (`inputs`), planned, computed (`compute`), written (`results`).

use std::fmt::Display;

use antsreg_core::overlap::Overlap;
use antsreg_kernels::Cpu;
use antsreg_linear as linear;
use antsreg_syn as syn;

use super::args::Args;
use super::check::check;
use super::compute::{self, Listener};
use super::doubts::undone;
use super::files::Files;
use super::fit::Fitted;
use super::found::Wanted;
use super::inputs::Inputs;
use super::profile::Profile;
use super::record::Seconds;
use super::results::{self, Measured, Registration, Written};
use super::show;
use super::window::choose;
use crate::device::{self, Device, DeviceChoice, Opened};
use crate::error::{CliError, UsageError};
use crate::progress::{Console, Watcher};

/// Runs `register`. Gives the overlap of the labels, if there were any to score.
pub fn run(args: &Args, console: &mut Console) -> Result<Option<Overlap>, CliError> {
    check(&args.settings, &args.channels)?;
    let masked = args.fixed_mask.is_some() || args.moving_mask.is_some();
    let (devices, too_wide) = choose(&args.settings, &args.channels, masked);
    let choice = devices.one()?;
    if let Some(reason) = too_wide.filter(|_| args.profile) {
        return Err(no_profile(&reason).into());
    }
    if args.profile && choice == DeviceChoice::Cpu {
        return Err(UsageError::NoEffect { option: "--profile", with: "--device cpu".into() }.into());
    }
    let files = Files::new(args);
    files.check(args)?;
    if let Some(reason) = too_wide {
        console.note(device::instead(&reason));
    }
    let (inputs, opened) = read_and_open(args, choice, console)?;
    let opening = opened.seconds;
    let (device, Fitted { plan, memory, .. }) = settle(args, &inputs, choice, opened, console)?;
    // A dry run shows what there would be too little memory for.
    if args.dry_run {
        crate::output::print(&show::plan(args, &inputs, &plan, memory.as_ref(), &files, console.threads))?;
    }
    if let Some(too_little) = memory.and_then(|memory| memory.too_little(plan.device.choice())) {
        return Err(CliError::DeviceMemory(too_little));
    }
    if args.dry_run {
        return Ok(None);
    }
    let request = inputs.request(&plan, Wanted::new(args, &plan.device));
    let mut seconds = Seconds { read: console.elapsed().as_secs_f64(), device: opening, ..Seconds::default() };
    if let (true, Some(cuda)) = (args.profile, device.cuda()) {
        cuda.start_profile();
    }
    let found = console.watch(|watcher| match &device {
        Device::Cpu => compute::register(&Cpu, &request, None, &mut seconds, watcher),
        Device::Cuda(cuda) => compute::register(cuda.as_ref(), &request, None, &mut seconds, watcher),
    })?;
    let mut measured = Measured { seconds, ..Measured::default() };
    if let Some(cuda) = device.cuda() {
        measured.device_memory = memory.map(|memory| memory.after(cuda)).transpose()?;
        measured.profile = args.profile.then(|| Profile::finish(cuda, console)).transpose()?;
    }
    let total = |_: &Seconds| console.elapsed().as_secs_f64();
    let Written { record, overlap, paths } = std::thread::scope(|scope| {
        // A driver takes a while to let go of a device.
        scope.spawn(|| drop(device));
        let of = Registration { args, inputs: &inputs, plan: &plan, files: &files, threads: console.threads };
        results::write(of, found, measured, total)
    })?;
    for path in paths {
        console.note(format_args!("wrote {}", path.display()));
    }
    for path in files.left_over(args) {
        console.warn(format_args!("{} is from an earlier run and does not belong to these files", path.display()));
    }
    record.warnings.iter().for_each(|warning| console.warn(warning));
    crate::output::print(&show::outcome(&record))?;
    Ok(overlap)
}

/// Reads the files while the device gets ready. The device is waited for even where reading fails: a program must not
/// end while a driver starts.
fn read_and_open(args: &Args, device: DeviceChoice, console: &mut Console) -> Result<(Inputs, Opened), CliError> {
    let (inputs, opened) = std::thread::scope(|scope| {
        let opening = scope.spawn(|| device.open());
        let inputs = Inputs::read(args, console);
        (inputs, opening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    Ok((inputs?, opened?))
}

/// The device that registers, and the plan for it.
fn settle(
    args: &Args,
    inputs: &Inputs,
    choice: DeviceChoice,
    opened: Opened,
    console: &mut Console,
) -> Result<(Device, Fitted), CliError> {
    if let Some(note) = opened.note() {
        console.note(note);
    }
    let Opened { device, description, instead_of_gpu, .. } = opened;
    let memory = device.cuda().map(|cuda| cuda.memory().map_err(CliError::Device)).transpose()?;
    let fitted = Fitted::new(args, inputs, choice, description, memory.map(|memory| memory.free))?;
    let too_little = fitted.too_little_for_auto.as_ref().map(ToString::to_string);
    let instead_of_gpu = instead_of_gpu.as_ref().map(ToString::to_string).or_else(|| too_little.clone());
    if let (true, Some(reason)) = (args.profile, instead_of_gpu) {
        return Err(no_profile(&reason).into());
    }
    match too_little {
        None => Ok((device, fitted)),
        Some(too_little) => {
            console.warn(format_args!("{too_little}; --device auto takes the CPU"));
            Ok((Device::Cpu, fitted))
        }
    }
}

/// Without a GPU there is nothing to profile.
fn no_profile(reason: &dyn Display) -> UsageError {
    let with = format!("the CPU, which --device auto takes because {reason}");
    UsageError::NoEffect { option: "--profile", with }
}

impl Listener for Watcher<'_> {
    fn affine_found(&mut self, outcome: &linear::Outcome, seconds: f64) {
        self.end_stage().note(format_args!("affine: cost {:.6}, {seconds:.2} s", outcome.cost));
    }

    fn warps_found(&mut self, course: &syn::Course, seconds: f64) {
        let console = self.end_stage();
        undone(course).for_each(|line| console.note(line));
        console.note(format_args!("syn: {seconds:.2} s"));
    }
}
