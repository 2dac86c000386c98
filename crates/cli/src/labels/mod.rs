//! The subcommand (verb) `labels`: resamples labels on another image, from one label map or from several atlases, and
//! scores them.

mod args;
mod fusion;
mod run;
mod show;

pub use args::Args;
pub use run::run;
