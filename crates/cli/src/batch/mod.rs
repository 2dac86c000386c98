//! `batch`: many subjects to one fixed image.

mod args;
mod run;
mod show;

pub use args::Args;
pub use run::run;
