//! The subcommand (verb) `completions`: prints a script with which a shell completes the program's options.

use antsreg_console::CliError;
use clap::Command;
use clap_complete::Shell;

/// Print a completion script for a shell.
///
/// Bash: antsreg-gpu completions bash > ~/.local/share/bash-completion/completions/antsreg-gpu
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the completion script of this program.
pub fn run(args: &Args, mut program: Command) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "antsreg-gpu", &mut script);
    let script = String::from_utf8_lossy(&script);
    antsreg_console::output::print(&match args.shell {
        // clap_complete 4.6 writes the dash of the program's name in two ways, so that no verb would be found.
        Shell::Bash => script.replace("antsreg__subcmd__gpu", "antsreg__gpu"),
        _ => script.into_owned(),
    })
}
