//! `labels`: carry labels to another image, from one label map or from several atlases, and score them.

mod args;
mod fusion;
mod run;
mod show;

pub use args::Args;
pub use run::run;
