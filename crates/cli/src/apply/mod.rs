//! The subcommand (verb) `apply`: applies transforms to an image, a label map or points.

mod args;
mod points;
mod run;
mod series;

pub use args::Args;
pub use run::run;
