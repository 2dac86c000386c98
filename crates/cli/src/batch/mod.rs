//! `batch`: many subjects normalised to one fixed image, by one process that keeps every device busy.

mod args;
mod course;
mod resume;
mod run;
mod show;
mod summary;

pub use args::Args;
pub use run::run;
