//! Parts that all command lines of antsreg-gpu share: results on standard output, messages and progress on standard
//! error, errors with their exit codes, signals.

pub mod command_line;
pub mod device_notes;
pub mod ending;
mod error;
pub mod interruption;
pub mod output;
mod progress;
pub mod threads;

pub use error::{CliError, Refusal, UsageError, advice};
pub use indicatif::ProgressBar;
pub use progress::{Console, Messages, Watcher, name};
