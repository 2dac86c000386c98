//! The command line of the program: its verbs, and the options that all verbs share.

use antsreg_console::{CliError, Console, threads};
use antsreg_pool::GpuUse;
use clap::{Arg, CommandFactory, Parser, Subcommand};

use crate::common::Common;
use crate::{
    apply, batch, bias, brain, compare, completions, convert, info, jacobian, labels, longitudinal, motion,
    normalise, overlap, register, template, undistort,
};

/// Brain image registration: affine by correlation ratio, then diffeomorphic (SyN).
///
/// Transforms and file names are those of ANTs. Results go to standard output, everything else to standard error.
///
/// Exit code: 0 done, 1 failed, 2 command line not understood, 3 some of many subjects failed, 4 a result is wrong by
/// its verdict (with --strict), 130 interrupted (143 by SIGTERM). A command that fails leaves no file behind.
#[derive(Debug, Parser)]
#[command(name = "antsreg-gpu", bin_name = "antsreg-gpu", version, max_term_width = 110, propagate_version = true)]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(mut_subcommands(|verb| verb.mut_args(accept_negative)))]
pub struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    #[command(flatten)]
    Own(OwnVerb),
    As(antsreg_drop_in::Args),
}

/// The subcommands (verbs) that have the common options, such as `--threads`.
#[derive(Debug, Subcommand)]
enum OwnVerb {
    Register(Box<register::Args>),
    Batch(Box<batch::Args>),
    #[command(visible_alias = "normalize")]
    Normalise(Box<normalise::Args>),
    Longitudinal(Box<longitudinal::Args>),
    Motion(motion::Args),
    Undistort(undistort::Args),
    Apply(apply::Args),
    Bias(Box<bias::Args>),
    Brain(Box<brain::Args>),
    Labels(Box<labels::Args>),
    #[command(visible_alias = "atlas")]
    Template(Box<template::Args>),
    Overlap(overlap::Args),
    Compare(compare::Args),
    Jacobian(jacobian::Args),
    Convert(convert::Args),
    Info(info::Args),
    Completions(completions::Args),
    Links(antsreg_drop_in::LinksArgs),
}

/// Lets the values of an option begin with a minus sign and a digit. Then the error for `--margin -1` says which range
/// the number must have. Otherwise, the error would say that there is no option `-1`.
fn accept_negative(arg: Arg) -> Arg {
    if arg.get_action().takes_values() { arg.allow_negative_numbers(true) } else { arg }
}

impl Cli {
    /// The GPUs that the command may use; `None` if this is not known before the CUDA driver starts.
    pub fn gpu_use(&self) -> Option<GpuUse> {
        match &self.verb {
            Verb::As(args) => args.invocation().ok()?.gpu_use(),
            Verb::Own(OwnVerb::Register(args)) => args.gpu_use(),
            Verb::Own(OwnVerb::Batch(args)) => args.gpu_use(),
            Verb::Own(OwnVerb::Normalise(args)) => args.gpu_use(),
            Verb::Own(OwnVerb::Bias(args)) => args.gpu_use(),
            Verb::Own(OwnVerb::Brain(args)) => args.gpu_use(),
            Verb::Own(OwnVerb::Longitudinal(args)) => args.gpu_use(),
            Verb::Own(OwnVerb::Motion(args)) => args.gpu_use(),
            Verb::Own(OwnVerb::Labels(args)) => args.gpu_use(),
            Verb::Own(OwnVerb::Template(args)) => args.gpu_use(),
            Verb::Own(_) => None,
        }
    }
}

/// Runs the subcommand (verb) given on the command line.
pub fn run(cli: Cli) -> Result<(), CliError> {
    let verb = match cli.verb {
        // A drop-in command (`antsreg-gpu as …`) has the options of the program that it replaces. These options also
        // set the number of threads and the messages.
        Verb::As(args) => return args.invocation()?.run(),
        Verb::Own(verb) => verb,
    };
    let threads = cli.common.threads.unwrap_or_else(threads::available);
    threads::start(threads)?;
    let mut console = Console::new(&cli.common.messages(), threads)?;
    console.strict = cli.common.strict;
    match verb {
        OwnVerb::Register(args) => register::run(*args, &mut console),
        OwnVerb::Batch(args) => batch::run(&args, &mut console),
        OwnVerb::Normalise(args) => normalise::run(&args, &mut console),
        OwnVerb::Longitudinal(args) => longitudinal::run(&args, &mut console),
        OwnVerb::Motion(args) => motion::run(&args, &mut console),
        OwnVerb::Undistort(args) => undistort::run(&args, &mut console),
        OwnVerb::Apply(args) => apply::run(args, &mut console),
        OwnVerb::Bias(args) => bias::run(&args, &mut console),
        OwnVerb::Brain(args) => brain::run(&args, &mut console),
        OwnVerb::Labels(args) => labels::run(&args, &mut console),
        OwnVerb::Template(args) => template::run(&args, &mut console),
        OwnVerb::Overlap(args) => overlap::run(&args, &mut console),
        OwnVerb::Compare(args) => compare::run(&args, &mut console),
        OwnVerb::Jacobian(args) => jacobian::run(&args, &mut console),
        OwnVerb::Convert(args) => convert::run(&args, &mut console),
        OwnVerb::Info(args) => info::run(&args, &mut console),
        OwnVerb::Completions(args) => completions::run(&args, Cli::command()),
        OwnVerb::Links(args) => antsreg_drop_in::links(&args),
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
