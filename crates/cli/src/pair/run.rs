//! Runs one registration: reads the files while the device is opened, registers the images, and writes the outputs.

use std::fmt::Display;
use std::path::Path;

use antsreg_console::{CliError, Console, UsageError, advice, command_line::command_line, ending, opening};
use antsreg_core::overlap::Overlap;
use antsreg_register::{DeviceChoice, Fitted, Opened, Options, Recipe};
use antsreg_study::pair::{Context, DeviceMemory, Inputs, Names, Seconds, Written, compute, write};

use super::job::{Job, Plan};
use super::profile::Profile;
use super::show;

/// Runs the registration of two images. Returns the overlap of the moving and the fixed label map after registration,
/// if both are given.
pub fn run(job: &Job, console: &mut Console) -> Result<Option<Overlap>, CliError> {
    let names = Names::new(&job.files, job.recipe.model.is_deformable());
    check(job, &names)?;
    let choice = choose(job, console)?;
    let (mut inputs, options, opened) = read_and_open(job, choice, console)?;
    let opening = opened.seconds;
    let fitted = fit(job, choice, opened, &options, &inputs, console)?;
    if job.dry_run {
        // The plan is shown before the memory is checked, so that it is shown also if memory is too small.
        let plan = Plan { job, inputs: &inputs, options: &options, fitted: &fitted, names: &names };
        antsreg_console::output::print(&show::plan(&plan, console.threads))?;
    }
    fitted.check_memory()?;
    if job.dry_run {
        return Ok(None);
    }
    let seconds = Seconds { read: console.elapsed().as_secs_f64(), device: opening, ..Seconds::default() };
    let Fitted { device, memory, .. } = fitted;
    ending::keep_open(&device);
    if job.profile {
        Profile::start(&device);
    }
    inputs.remove_shading(&job.files, &device)?;
    console.watch(|watcher| inputs.extract_brains(&job.files, &device, watcher))?;
    show::brains(&job.files, &inputs, console);
    console.watch(|watcher| inputs.find_white_matter(&job.files.fixed, &options, &device, watcher))?;
    show::white_matter(&job.files, &inputs, console);
    let (computed, ahead) =
        console.watch(|watcher| compute(&job.files, &names, &inputs, &options, &device, watcher))?;
    let memory = memory.map(|planned| {
        let free = device.memory().ok().flatten().map(|memory| memory.free);
        DeviceMemory {
            planned_bytes: planned.planned_bytes,
            free_bytes: planned.free_bytes,
            taken_bytes: free.map(|free| planned.free_bytes.saturating_sub(free)),
        }
    });
    let profile = if job.profile { Profile::finish(&device, console)? } else { None };
    let command_line = command_line();
    let of = Context {
        files: &job.files,
        names: &names,
        inputs: &inputs,
        options: &options,
        device: &device.description().clone(),
        threads: console.threads,
        command_line: &command_line,
        device_memory: memory,
        profile: profile.map(serde_json::to_value).transpose().map_err(CliError::Profile)?,
    };
    let found = computed.finish(inputs.sides(), &options)?;
    let Written { record, overlap, paths } = write(&of, &found, ahead, seconds, |_| console.elapsed().as_secs_f64())?;
    for path in paths {
        console.note(format_args!("wrote {}", path.display()));
    }
    for path in names.left_over(&job.files.prefix) {
        console.warn(format_args!("{} is from an earlier run and does not belong to these files", path.display()));
    }
    found.warnings.iter().for_each(|warning| console.warn(format_args!("{warning}{}", advice::of_warning(warning))));
    antsreg_console::output::print(&show::outcome(&record))?;
    ending::leave((inputs, found));
    Ok(overlap)
}

/// Checks that the outputs can be written, and that their prefix would not make hidden files.
fn check(job: &Job, names: &Names) -> Result<(), CliError> {
    UsageError::check_prefix(&job.files.prefix)?;
    Ok(names.check(&job.files)?)
}

/// Returns the device to open. The setting `auto` becomes the CPU if the GPU kernels do not support the size of the
/// window of windowed cross-correlation.
fn choose(job: &Job, console: &mut Console) -> Result<DeviceChoice, CliError> {
    let masked = job.files.fixed_mask.is_some() || job.files.moving_mask.is_some();
    let too_wide = job.recipe.too_wide_for_gpu(masked).filter(|_| job.device == DeviceChoice::Auto);
    if let (true, Some(reason)) = (job.profile, too_wide) {
        return Err(no_profile(&reason).into());
    }
    if job.profile && job.device == DeviceChoice::Cpu {
        return Err(UsageError::NoEffect { option: "--profile", with: "--device cpu".into() }.into());
    }
    Ok(match too_wide {
        Some(reason) => {
            console.note(format_args!("device: cpu, because {reason}"));
            DeviceChoice::Cpu
        }
        None => job.device,
    })
}

/// Reads the files while the device is opened. Images that cannot be registered are errors.
fn read_and_open(
    job: &Job,
    device: DeviceChoice,
    console: &mut Console,
) -> Result<(Inputs, Options, Opened), CliError> {
    let (read, opened) = opening::while_reading(device, || read(job));
    let (inputs, options) = read?;
    let prefix = &job.files.prefix;
    if Path::new(prefix).is_dir() && !prefix.ends_with('/') {
        console.warn(format_args!(
            "{prefix} is a folder, but the outputs are not written into it: their names begin with {prefix}, as in \
             {prefix}record.json; to write into the folder, give {prefix}/"
        ));
    }
    inputs.warnings.iter().for_each(|warning| console.warn(warning));
    let opened = opened?;
    if let Some(seconds) = opened.seconds {
        console.note(format_args!("device: {}, ready in {seconds:.2} s", opened.device.description()));
    }
    Ok((inputs, options, opened))
}

/// Reads the inputs. Makes the complete options of the registration from the settings on the command line (the recipe),
/// the grids of the images, and the initial transform.
fn read(job: &Job) -> Result<(Inputs, Options), CliError> {
    let inputs = Inputs::read(&job.files)?;
    let shape = inputs.fixed.side.grid().shape;
    let recipe = Recipe { start: inputs.fixed.start, ..job.recipe.clone() };
    let options = recipe.options(shape)?;
    options.precheck(inputs.sides()).map_err(|error| inputs.blame(&job.files, error))?;
    Ok((inputs, options))
}

/// Chooses the device that runs the registration: the opened device, or the CPU if `auto` finds too little memory on
/// the GPU.
fn fit(
    job: &Job,
    choice: DeviceChoice,
    opened: Opened,
    options: &Options,
    inputs: &Inputs,
    console: &mut Console,
) -> Result<Fitted, CliError> {
    let fitted = opened.fit(choice, options, &inputs.grids(), &[])?;
    options.check_device(&fitted.device, &inputs.grids())?;
    if let Some(reason) = &fitted.instead_of_gpu {
        if job.profile {
            return Err(no_profile(reason).into());
        }
        console.note(format_args!("device: cpu, because {reason}"));
    }
    Ok(fitted)
}

/// The error that `--profile` has no effect, because the registration would run on the CPU.
fn no_profile(reason: &dyn Display) -> UsageError {
    let with = format!("the CPU, which --device auto takes because {reason}");
    UsageError::NoEffect { option: "--profile", with }
}
