//! Command-line options that all verbs have.

use std::path::PathBuf;

use antsreg_console::Messages;

use crate::values;

/// Options every verb takes.
#[derive(Debug, Clone, clap::Args)]
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

impl Common {
    /// Which messages the user wants.
    pub fn messages(&self) -> Messages {
        Messages { quiet: self.quiet, verbose: self.verbose, log: self.log.clone() }
    }
}
