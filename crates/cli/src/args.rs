//! The command line as typed: the verbs, the options they share, and the way to each verb's own file.

use clap::{CommandFactory, Parser, Subcommand};

use crate::common::{Common, available_threads};
use crate::error::CliError;
use crate::progress::Console;
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
            Verb::Register(args) => args.first_gpus(),
            Verb::Batch(args) => args.first_gpus(),
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
        Verb::Register(args) => register::run(*args, &mut console),
        Verb::Batch(args) => batch::run(&args, &mut console),
        Verb::Apply(args) => apply::run(args, &mut console),
        Verb::Labels(args) => labels::run(&args, &mut console),
        Verb::Atlas(args) => atlas::run(&args, &mut console),
        Verb::Overlap(args) => overlap::run(&args, &mut console),
        Verb::Compare(args) => compare::run(&args, &mut console),
        Verb::Jacobian(args) => jacobian::run(&args, &mut console),
        Verb::Convert(args) => convert::run(&args, &mut console),
        Verb::Info(args) => info::run(&args, &mut console),
        Verb::Completions(args) => completions::run(&args, Cli::command()),
    }
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
