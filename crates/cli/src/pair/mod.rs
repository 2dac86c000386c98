//! One registration from files to files, as `register` and `labels` run and show it.

mod command;
mod kernels;
mod run;
mod show;

pub use kernels::kernels;
pub use run::run;
pub use show::{brain, found_brain, stages, white_matter};
