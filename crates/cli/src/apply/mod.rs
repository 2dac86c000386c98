//! `apply`: an image, a label map or points through a chain of transforms.

mod args;
mod run;

pub use args::Args;
pub use run::run;
