//! Commands of ANTs and FSL under their own names, so that pipelines run unchanged: each command line is converted to
//! options of the libraries. The table of all commands is in `served.rs`.
//!
//! A command is called by the name of a link to this program, or by `antsreg-gpu as NAME`. A call that is not supported
//! is refused before anything is written ([`Refusal`]). With `ANTSREG_FALLBACK=1`, the next program of that name on
//! `PATH` runs instead; for a command of which only some operations are served, it runs without this variable.

mod ants;
mod c3d_affine_tool;
mod call;
mod engine;
mod fallback;
mod fsl;
mod links;
mod served;
mod settings;
mod suite;
mod unserved;

use std::ffi::OsString;
use std::path::Path;

use antsreg_console::{CliError, Refusal, threads};
use antsreg_pool::GpuUse;
pub use links::{Args as LinksArgs, run as links};

use call::Call;
use served::{Command, command};
use settings::Settings;

/// Call a command of ANTs or FSL by its name, without a link of that name.
///
/// The arguments are those of that command. `antsreg-gpu links` lists the supported commands.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the command, followed by its arguments
    #[arg(required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true, value_name = "NAME")]
    words: Vec<OsString>,
}

/// A call of a command of ANTs or FSL: its name and its arguments.
pub struct Invocation {
    command: &'static Command,
    /// The name by which the command was called.
    name: String,
    arguments: Vec<OsString>,
}

impl Args {
    /// Returns the ANTs or FSL command that is called, and its arguments.
    ///
    /// # Errors
    /// The name of a command that is not supported.
    pub fn invocation(&self) -> Result<Invocation, CliError> {
        let name = self.words[0].to_string_lossy();
        let command = command(&name).ok_or_else(|| {
            let served = served::names().collect::<Vec<_>>().join(", ");
            Refusal::new(format!("as {name}"), "this program supports no command of this name")
                .instead(format!("use {served}"))
        })?;
        Ok(Invocation { command, name: name.into_owned(), arguments: self.words[1..].to_vec() })
    }
}

/// Returns the command by whose name this program was called, with its arguments. The name is the first of `words`.
/// Returns `None` if this program supports no command of that name.
pub fn invoked(words: &[OsString]) -> Option<Invocation> {
    let (own, arguments) = words.split_first()?;
    let name = Path::new(own).file_name()?.to_str()?;
    Some(Invocation { command: command(name)?, name: name.to_owned(), arguments: arguments.to_vec() })
}

/// Whether these words are a valid command line of the command that the first word names. No image is read and nothing
/// is written. `None` if the command is not supported, or if its arguments cannot be checked without running the
/// command.
pub fn understands(words: &[String]) -> Option<bool> {
    let (name, arguments) = words.split_first()?;
    let read = command(name)?.read?;
    Some(read(arguments).is_ok())
}

impl Invocation {
    /// The GPUs that the command may use; `None` if this is not known before the driver starts.
    pub fn gpu_use(&self) -> Option<GpuUse> {
        Settings::of(self.command.suite).ok()?.gpu_use()
    }

    /// Runs the command. If the command is refused, the next program of this name on `PATH` runs instead where the
    /// fallback is switched on, or where the table serves only some operations of the command.
    ///
    /// # Errors
    /// An argument that is wrong or not supported; an error of the command.
    pub fn run(&self) -> Result<(), CliError> {
        let Invocation { command, name, arguments } = self;
        let settings = Settings::of(command.suite)?;
        let error = match self.serve(settings) {
            Ok(()) => return Ok(()),
            Err(error) => unserved::refused(error, arguments),
        };
        let error = match (error, settings.fallback) {
            (error, _) if error.exit_code() != Refusal::EXIT_CODE => error,
            (error, Some(true)) => fallback::exec(name, arguments, error),
            (error, None) if command.extent.falls_back() => fallback::exec_if_present(name, arguments, error),
            (CliError::Refused(refusal), _) => refusal.or_by_the_next(name).into(),
            (error, _) => error,
        };
        Err(CliError::Foreign { command: command.name, source: Box::new(error) })
    }

    fn serve(&self, settings: Settings) -> Result<(), CliError> {
        let text = |word: &OsString| {
            let refusal = || {
                Refusal::new(word.to_string_lossy(), "this argument is not valid UTF-8; expected arguments in UTF-8")
            };
            word.to_str().map(str::to_owned).ok_or_else(refusal)
        };
        let arguments = self.arguments.iter().map(text).collect::<Result<Vec<_>, Refusal>>()?;
        threads::start(settings.threads)?;
        (self.command.run)(&Call { name: self.command.name, arguments, settings })
    }
}
