//! Command-line options that all verbs have.

use std::path::PathBuf;

use antsreg_console::Messages;

use crate::values;

/// Command-line options that all verbs have.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Common options")]
pub struct Common {
    /// Number of threads [default: all cores]. The results do not depend on it
    #[arg(long, value_name = "N", global = true, value_parser = values::threads, allow_negative_numbers = true)]
    pub threads: Option<usize>,
    /// Print only results, warnings and errors, no progress
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Report every iteration, not only every level
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// Also write a report of every iteration to this file. The file is kept even if the command fails
    #[arg(long, value_name = "FILE", global = true)]
    pub log: Option<PathBuf>,
    /// End with exit code 4 if the verdict on a result is `wrong`. The files are written nevertheless
    #[arg(long, global = true)]
    pub strict: bool,
}

impl Common {
    /// The kinds of messages that the user wants to see.
    pub fn messages(&self) -> Messages {
        Messages { quiet: self.quiet, verbose: self.verbose, log: self.log.clone() }
    }
}
