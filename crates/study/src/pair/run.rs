//! Runs one registration from files to files: reads the files while the device is opened, registers the images, and
//! writes the outputs.

use std::path::Path;

use antsreg_register::{DeviceChoice, DeviceNote, Fitted, Options, Recipe, Registration};

use super::compute::compute;
use super::files::{Names, PairFiles};
use super::inputs::Inputs;
use super::kernel_times;
use super::record::{DeviceMemory, Seconds};
use super::write::{Context, Written, write};
use crate::Error;
use crate::observer::{Event, Invocation, Observer, RunWarning};
use crate::skulls::BrainChoice;

/// A registration of two images: files, options and device.
#[derive(Debug, Clone)]
pub struct Request {
    /// Paths of the input files of the registration, and names of its output files.
    pub files: PairFiles,
    /// Options of the registration, except the initial transform, which may be in a file.
    pub recipe: Recipe,
    /// The device.
    pub device: DeviceChoice,
    /// Whether the times of GPU kernels are measured.
    pub profile: bool,
}

/// A registration that is ready to run: its inputs have been read, and its device is open.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The registration as requested.
    pub request: &'a Request,
    /// The images, masks and labels that have been read.
    pub inputs: Inputs,
    /// The complete options of the registration.
    pub options: Options,
    /// The device, its memory, and the reason if the CPU replaces a GPU.
    pub fitted: Fitted,
    /// Names of the output files.
    pub names: Names,
    /// Time to open the GPU, s.
    opening: Option<f64>,
}

/// A finished registration whose files are written.
#[derive(Debug)]
pub struct Done {
    /// The inputs, with the brains and the white matter that were found.
    pub inputs: Inputs,
    /// The result of the registration.
    pub found: Registration,
    /// The record, the overlap of the label maps, and the paths of the files.
    pub written: Written,
}

/// Runs a registration from files to files.
///
/// # Errors
/// The errors of [`plan`] and [`Plan::run`].
pub fn run(request: &Request, invocation: &Invocation, observer: &mut dyn Observer) -> Result<Done, Error> {
    plan(request, observer)?.run(invocation, observer)
}

/// Checks the names of the outputs, reads the inputs while the device is opened, and completes the options. Nothing is
/// written. The memory of a GPU is not checked yet ([`Fitted::check_memory`]).
///
/// # Errors
/// Outputs that cannot be written; files that cannot be read, or do not fit each other; options that do not suit the
/// images; a device that cannot be used.
pub fn plan<'a>(request: &'a Request, observer: &mut dyn Observer) -> Result<Plan<'a>, Error> {
    let names = Names::new(&request.files, request.recipe.model.is_deformable());
    names.check(&request.files)?;
    let choice = choose(request, observer)?;
    let (read, opened) = choice.open_during(|| read(request));
    let (inputs, options) = read?;
    let prefix = &request.files.prefix;
    if Path::new(prefix).is_dir() && !prefix.ends_with('/') {
        observer.tell(&Event::Warning(&RunWarning::FolderPrefix { prefix: prefix.clone() }));
    }
    for warning in &inputs.warnings {
        observer.tell(&Event::Warning(&RunWarning::Text(warning.clone())));
    }
    let opened = opened?;
    if let Some(note @ DeviceNote::Ready(..)) = &opened.note() {
        observer.tell(&Event::Device(note));
    }
    let opening = opened.seconds;
    let fitted = opened.fit(choice, &options, &inputs.grids(), &[])?;
    options.check_device(&fitted.device, &inputs.grids())?;
    if let Some(note) = fitted.note() {
        refuse_profile(request, &note)?;
        observer.tell(&Event::Device(&note));
    }
    Ok(Plan { request, inputs, options, fitted, names, opening })
}

/// Returns the device to open: the CPU in place of `auto`, if no GPU supports the window of the cross-correlation.
fn choose(request: &Request, observer: &mut dyn Observer) -> Result<DeviceChoice, Error> {
    let (choice, note) = request.device.for_window(request.recipe.too_wide_for_gpu(request.files.masked()));
    match note {
        Some(note) => {
            refuse_profile(request, &note)?;
            observer.tell(&Event::Device(&note));
        }
        None if request.profile && choice == DeviceChoice::Cpu => return Err(Error::NoKernels { why: None }),
        None => (),
    }
    Ok(choice)
}

/// Refuses to measure kernels on the CPU, which replaces a GPU for the reason in `note`.
fn refuse_profile(request: &Request, note: &DeviceNote) -> Result<(), Error> {
    match note {
        DeviceNote::CpuBecause(why) if request.profile => Err(Error::NoKernels { why: Some(why.clone()) }),
        _ => Ok(()),
    }
}

/// Reads the inputs, and completes the options by the grids of the images and the initial transform.
fn read(request: &Request) -> Result<(Inputs, Options), Error> {
    let inputs = Inputs::read(&request.files)?;
    let recipe = Recipe { start: inputs.fixed.start, ..request.recipe.clone() };
    let options = recipe.options(inputs.fixed.side.grid().shape)?;
    options.precheck(inputs.sides()).map_err(|error| inputs.blame(&request.files, error))?;
    Ok((inputs, options))
}

impl Plan<'_> {
    /// Registers the images and writes the outputs. The files appear together at the end.
    ///
    /// # Errors
    /// Too little memory; an image whose shading, brain or white matter cannot be found; a registration that fails or
    /// was stopped; a file that cannot be written.
    pub fn run(self, invocation: &Invocation, observer: &mut dyn Observer) -> Result<Done, Error> {
        let Plan { request, mut inputs, options, fitted, names, opening } = self;
        let files = &request.files;
        fitted.check_memory()?;
        let seconds =
            Seconds { read: invocation.began.elapsed().as_secs_f64(), device: opening, ..Seconds::default() };
        let Fitted { device, memory, .. } = fitted;
        observer.device(&device);
        if request.profile {
            kernel_times::start(&device);
        }
        inputs.remove_shading(files, &device)?;
        inputs.extract_brains(files, &device, observer.progress())?;
        tell_brains(files, &inputs, observer);
        inputs.find_white_matter(&files.fixed, &options, &device, observer.progress())?;
        tell_white_matter(files, &inputs, observer);
        let (computed, ahead) = compute(files, &names, &inputs, &options, &device, observer.progress())?;
        let device_memory = memory.map(|planned| {
            let free = device.memory().ok().flatten().map(|memory| memory.free);
            DeviceMemory {
                planned_bytes: planned.planned_bytes,
                free_bytes: planned.free_bytes,
                taken_bytes: free.map(|free| planned.free_bytes.saturating_sub(free)),
            }
        });
        let kernels = if request.profile { kernel_times::finish(&device, observer)? } else { None };
        let in_record = |source| Error::Json { path: names.record.clone(), source };
        let of = Context {
            files,
            names: &names,
            inputs: &inputs,
            options: &options,
            device: &device.description().clone(),
            threads: invocation.threads,
            command_line: invocation.command_line,
            device_memory,
            profile: kernels.map(serde_json::to_value).transpose().map_err(in_record)?,
        };
        let found = computed.finish(inputs.sides(), &options)?;
        let written = write(&of, &found, ahead, seconds, |_| invocation.began.elapsed().as_secs_f64())?;
        written.paths.iter().for_each(|path| observer.tell(&Event::Wrote(path)));
        let left_over = names.left_over(&files.prefix).into_iter().map(RunWarning::LeftOver);
        let of_result = found.warnings.iter().cloned().map(RunWarning::Result);
        left_over.chain(of_result).for_each(|warning| observer.tell(&Event::Warning(&warning)));
        Ok(Done { inputs, found, written })
    }
}

/// Tells which brains were extracted, and the warnings about them.
fn tell_brains(files: &PairFiles, inputs: &Inputs, observer: &mut dyn Observer) {
    let sides = [("fixed", &files.fixed), ("moving", &files.moving)];
    for ((side, path), skull) in sides.into_iter().zip(&inputs.skulls) {
        let Some(skull) = skull else { continue };
        let automatic = files.brain == BrainChoice::Auto;
        observer.tell(&Event::Brain { side, brain: &skull.record, automatic });
        warn_of_image(path, &skull.record.warnings, observer);
    }
}

/// Tells the white matter that was found in the fixed image, and the warnings about it.
fn tell_white_matter(files: &PairFiles, inputs: &Inputs, observer: &mut dyn Observer) {
    let Some(found) = &inputs.white_matter else { return };
    observer.tell(&Event::WhiteMatter(found));
    warn_of_image(&files.fixed, &found.warnings, observer);
}

fn warn_of_image(path: &Path, warnings: &[String], observer: &mut dyn Observer) {
    for text in warnings {
        observer.tell(&Event::Warning(&RunWarning::Image { path: path.into(), text: text.clone() }));
    }
}
