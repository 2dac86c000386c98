//! antsreg-gpu: brain image registration, affine and diffeomorphic. This is the program as a library: the program
//! `antsreg-gpu` and the Python package, which installs the same command, both call [`run`].
//!
//! The command line (`args`) becomes a checked plan, the plan is run, and its files appear together
//! (`antsreg_core::io::outputs`).

mod apply;
mod args;
mod batch;
mod bias;
mod brain;
mod common;
mod compare;
mod completions;
mod convert;
pub mod described;
mod info;
mod jacobian;
mod labels;
mod longitudinal;
mod many;
mod motion;
pub mod named;
mod normalise;
mod options;
mod overlap;
mod pair;
mod register;
mod shown;
mod table;
mod template;
mod undistort;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use antsreg_console::{CliError, command_line, ending, interruption, output, threads};
use antsreg_pool::GpuUse;
use clap::{CommandFactory, Parser};

/// Makes the CUDA driver start faster, if this machine has one, and returns whether it has. The driver prepares only what
/// the command can use.
#[cfg(feature = "cuda")]
#[expect(unsafe_code, reason = "Rust can set an environment variable only by an unsafe function")]
fn prepare_driver(gpus: GpuUse) -> bool {
    use antsreg_kernels::cuda::{has_driver, quick_start};

    for (name, value) in quick_start(gpus.first, gpus.one_worker, |name| std::env::var(name).ok()) {
        // SAFETY: the process has one thread when `run` calls this function. So no other thread reads or writes the
        // environment.
        unsafe { std::env::set_var(name, value) };
    }
    has_driver()
}

/// False: this build of the program has no CUDA, so it starts no driver.
#[cfg(not(feature = "cuda"))]
fn prepare_driver(_: GpuUse) -> bool {
    false
}

/// Whether these words are a valid command line of a verb, or of a command of another program for which this program
/// is a drop-in. The first word is the name by which the program is called. No image is read and nothing is written.
pub fn understands(words: Vec<OsString>) -> bool {
    let text: Option<Vec<String>> = words.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    text.as_deref().and_then(antsreg_drop_in::understands).unwrap_or_else(|| {
        args::Cli::try_parse_from(words).is_ok_and(|cli| {
            cli.gpu_use();
            true
        })
    })
}

/// Description of all verbs and options, from which man pages are made.
pub fn described() -> clap::Command {
    args::Cli::command()
}

/// Runs a command and returns its exit code. The first word is the name of the program; `program` is its path, if
/// known. The function handles signals and may end the process, so it must be called once, by a process with one
/// thread that does nothing else.
pub fn run(program: Option<PathBuf>, words: Vec<OsString>) -> u8 {
    command_line::remember(program, &words);
    if let Err(error) = threads::check_stack() {
        output::say(format_args!("error: {error}"));
        return error.exit_code();
    }
    if let Some(invocation) = antsreg_drop_in::invoked(&words) {
        return start(invocation.gpu_use(), || invocation.run());
    }
    match args::Cli::try_parse_from(words) {
        Ok(cli) => start(cli.gpu_use(), || args::run(cli)),
        Err(told) => {
            // Prints what the parser of the command line reports: an error, the help text or the version.
            let code = u8::try_from(told.exit_code()).unwrap_or(2);
            if told.print().is_err() { code.max(1) } else { code }
        }
    }
}

/// Runs a command that uses these GPUs; `None` means all GPUs, or none.
fn start(gpus: Option<GpuUse>, run: impl FnOnce() -> Result<(), CliError>) -> u8 {
    if gpus.is_some_and(prepare_driver) { ending::in_child(|| to_the_end(run)) } else { to_the_end(run) }
}

/// Runs a command, prints its error, and returns its exit code.
fn to_the_end(run: impl FnOnce() -> Result<(), CliError>) -> u8 {
    interruption::clean_up_on_signals();
    let result = run();
    interruption::clean_up();
    match result {
        Ok(()) => 0,
        Err(error) => {
            output::say(format_args!("error: {error}"));
            error.exit_code()
        }
    }
}
