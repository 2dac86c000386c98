//! `completions`: a script that completes this program's options in a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::CliError;

/// Print a completion script for a shell.
///
/// Bash: antsreg-gpu completions bash > ~/.local/share/bash-completion/completions/antsreg-gpu
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs `completions`.
pub fn run(args: &Args) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "antsreg-gpu", &mut script);
    crate::output::print(&String::from_utf8_lossy(&script))
}
