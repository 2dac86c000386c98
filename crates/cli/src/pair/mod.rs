//! One registration from files to files: run, followed on the terminal, shown. `register` and `labels` use it.

mod command;
mod job;
mod profile;
mod run;
mod show;

pub use job::Job;
pub use run::run;
pub use show::stages;
