//! antsreg-gpu: brain image registration, affine and diffeomorphic. The program as a library: `antsreg-gpu` and the Python
//! package, which installs the same command, both call [`run`].
//!
//! Arguments as typed (`args`) become a checked plan, the plan runs, and its files appear together (`antsreg_core::io::outputs`).

mod apply;
mod args;
mod atlas;
mod batch;
mod bias;
mod brain;
mod common;
mod compare;
mod completions;
mod convert;
mod device_notes;
mod info;
mod jacobian;
mod labels;
mod many;
mod motion;
mod normalise;
mod options;
mod overlap;
mod pair;
mod register;
mod table;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use antsreg_console::{CliError, command_line, interruption, output};
use clap::{CommandFactory, Parser};

/// Lets the driver see the first GPUs only: it takes 0.1 s longer to start for each that it sees.
#[cfg(feature = "cuda")]
#[expect(unsafe_code, reason = "no safe function sets a variable of the environment")]
fn show_first(gpus: usize) {
    use antsreg_kernels::cuda::{VISIBLE_DEVICES, first_visible};

    let now = std::env::var(VISIBLE_DEVICES).ok();
    if let Some(first) = first_visible(now.as_deref(), gpus) {
        // SAFETY: `run` calls this before it starts a thread, so nothing reads the environment meanwhile.
        unsafe { std::env::set_var(VISIBLE_DEVICES, first) };
    }
}

/// There is no driver in this build.
#[cfg(not(feature = "cuda"))]
fn show_first(_: usize) {}

/// Whether these words, of which the first one is the name by which the program is called, are a command line with values that
/// make sense: of a verb, or of a command of another program. No image is read and nothing is written.
pub fn understands(words: Vec<OsString>) -> bool {
    let text: Option<Vec<String>> = words.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    text.as_deref().and_then(antsreg_drop_in::understands).unwrap_or_else(|| {
        args::Cli::try_parse_from(words).is_ok_and(|cli| {
            cli.first_gpus();
            true
        })
    })
}

/// The command line as data: for man pages.
pub fn described() -> clap::Command {
    args::Cli::command()
}

/// Runs a command, the name of the program first, and returns its exit code. `program` is the file by which the program is
/// called again, if it is known. To be called once, by a process that does nothing else and has one thread: the command handles
/// signals, and may end the process.
pub fn run(program: Option<PathBuf>, words: Vec<OsString>) -> u8 {
    command_line::remember(program, &words);
    if let Some(invocation) = antsreg_drop_in::invoked(&words) {
        return start(invocation.first_gpus(), || invocation.run());
    }
    match args::Cli::try_parse_from(words) {
        Ok(cli) => start(cli.first_gpus(), || args::run(cli)),
        Err(told) => {
            // Help and versions are told this way as well. A terminal that is gone cannot be told anything.
            let _ = told.print();
            u8::try_from(told.exit_code()).unwrap_or(2)
        }
    }
}

/// Runs a command that can use at most this number of GPUs, counted from the first; all of them for `None`.
fn start(first_gpus: Option<usize>, run: impl FnOnce() -> Result<(), CliError>) -> u8 {
    if let Some(gpus) = first_gpus {
        show_first(gpus);
    }
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
