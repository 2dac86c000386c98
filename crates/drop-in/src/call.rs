//! A call of a command of ANTs or FSL: its arguments, settings and messages.

use antsreg_console::{CliError, Console, Messages, output::say};
use antsreg_register::Description;

use crate::settings::Settings;

/// A call of a command of ANTs or FSL: its name, arguments and settings.
#[derive(Debug)]
pub struct Call {
    /// The command's name.
    pub name: &'static str,
    /// The command-line arguments of the call.
    pub arguments: Vec<String>,
    /// Settings of the call that are read from environment variables: device, threads and fallback.
    pub settings: Settings,
}

impl Call {
    /// Makes the console that prints the messages of the command. If `verbose` is false, it prints only warnings.
    ///
    /// # Errors
    /// The log file cannot be opened. Here there is no log file, so no error occurs.
    pub fn console(&self, verbose: bool) -> Result<Console, CliError> {
        let threads = self.settings.threads;
        Console::new(&Messages { quiet: !verbose, verbose: false, log: None }, threads)
    }

    /// Prints a message on standard error.
    pub fn note(&self, text: &str) {
        say(format_args!("{}: {text}", self.name));
    }

    /// Prints the line that says that this program did the work, on which device, and which parts of the command were
    /// replaced by other methods.
    pub fn tell(&self, device: &Description, replaced: &[String]) {
        let what = match replaced {
            [] => String::new(),
            replaced => format!("; {}", replaced.join("; ")),
        };
        let (name, version) = (self.name, env!("CARGO_PKG_VERSION"));
        say(format_args!("{name}: done by antsreg-gpu {version} on {device}{what}"));
    }
}
