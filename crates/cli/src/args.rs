//! The command line as typed: the verbs, the options they share, and the way to each verb's own file.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::error::CliError;
use crate::progress::Console;
use crate::values;
use crate::{apply, atlas, batch, compare, completions, convert, info, jacobian, labels, overlap, register};

/// Brain image registration: affine by correlation ratio, then diffeomorphic (SyN).
///
/// Transforms and file names are those of ANTs. Results go to standard output, everything else to standard error.
///
/// Exit code: 0 done, 1 failed, 2 not understood, 3 some of many subjects failed, 130 interrupted (143 by SIGTERM). A
/// command that fails leaves no file behind.
#[derive(Debug, Parser)]
#[command(name = "antsreg-gpu", version, max_term_width = 110, propagate_version = true)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    verb: Verb,
}

/// Options every verb takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Threads that compute [default: all cores]. The result does not depend on it
    #[arg(long, value_name = "N", global = true, value_parser = values::threads, allow_negative_numbers = true)]
    pub threads: Option<usize>,
    /// No progress: results, warnings and errors alone
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Report every iteration, not only every level
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// Also write the report of every iteration to this file, which stays whatever happens
    #[arg(long, value_name = "FILE", global = true)]
    pub log: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Register(Box<register::Args>),
    Batch(Box<batch::Args>),
    Apply(apply::Args),
    Labels(Box<labels::Args>),
    Atlas(Box<atlas::Args>),
    Overlap(overlap::Args),
    Compare(compare::Args),
    Jacobian(jacobian::Args),
    Convert(convert::Args),
    Info(info::Args),
    Completions(completions::Args),
}

impl Cli {
    /// How many of the first GPUs the command can use, where that is known before the driver starts.
    pub fn first_gpus(&self) -> Option<usize> {
        match &self.verb {
            Verb::Register(args) => args.settings.device.first_gpus(true),
            Verb::Batch(args) => args.settings.device.first_gpus(false),
            Verb::Labels(args) => args.first_gpus(),
            Verb::Atlas(args) => args.first_gpus(),
            _ => None,
        }
    }
}

/// Runs what was typed.
pub fn run(cli: Cli) -> Result<(), CliError> {
    let threads = cli.common.threads.unwrap_or_else(available_threads);
    // The one pool all work runs in; this thread waits meanwhile, so that no more than `threads` compute.
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(CliError::Threads)?;
    let mut console = Console::new(&cli.common, threads)?;
    match cli.verb {
        Verb::Register(args) => register::run(&args, &mut console).map(drop),
        Verb::Batch(args) => batch::run(&args, &mut console),
        Verb::Apply(args) => apply::run(args, &mut console),
        Verb::Labels(args) => labels::run(*args, &mut console),
        Verb::Atlas(args) => atlas::run(&args, &mut console),
        Verb::Overlap(args) => overlap::run(&args, &mut console),
        Verb::Compare(args) => compare::run(&args, &mut console),
        Verb::Jacobian(args) => jacobian::run(&args, &mut console),
        Verb::Convert(args) => convert::run(&args, &mut console),
        Verb::Info(args) => info::run(&args, &mut console),
        Verb::Completions(args) => completions::run(&args),
    }
}

/// The options of a command line that builds an atlas; `None` if it is another one.
pub fn atlas(command_line: &[String]) -> Option<atlas::Args> {
    match Cli::try_parse_from(command_line).ok()?.verb {
        Verb::Atlas(args) => Some(*args),
        _ => None,
    }
}

/// Cores this process may use.
pub fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
