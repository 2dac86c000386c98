//! A command of another program that runs: its arguments, its settings, and its messages.

use antsreg_console::{CliError, Console, Messages, output::say};
use antsreg_register::Description;

use crate::settings::Settings;

/// A call of a command of another program.
#[derive(Debug)]
pub struct Call {
    /// The command's name.
    pub name: &'static str,
    /// The arguments of the command.
    pub arguments: Vec<String>,
    /// Settings from environment variables.
    pub settings: Settings,
}

impl Call {
    /// The console for messages: only warnings unless `verbose`.
    ///
    /// # Errors
    /// None that a console without a log has.
    pub fn console(&self, verbose: bool) -> Result<Console, CliError> {
        let threads = self.settings.threads;
        Console::new(&Messages { quiet: !verbose, verbose: false, log: None }, threads)
    }

    /// Prints a message on standard error.
    pub fn note(&self, text: &str) {
        say(format_args!("{}: {text}", self.name));
    }

    /// The one line on standard error: which program did the work, where, and what of the command was replaced by something
    /// of this program.
    pub fn tell(&self, device: &Description, replaced: &[String]) {
        let what = match replaced {
            [] => String::new(),
            replaced => format!("; replaced: {}", replaced.join("; ")),
        };
        let (name, version) = (self.name, env!("CARGO_PKG_VERSION"));
        say(format_args!("{name}: done by antsreg-gpu {version} on {device}{what}"));
    }
}
