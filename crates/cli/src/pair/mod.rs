//! One registration from files to files: runs it and shows its progress and results. `register` and `labels` use this
//! module.

mod command;
mod job;
mod profile;
mod run;
mod show;

pub use job::Job;
pub use run::run;
pub use show::{found_brain, stages};
