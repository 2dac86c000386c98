//! The subcommand (verb) `longitudinal`: images of one person through time.

mod args;
mod run;

pub use args::Args;
pub use run::run;
