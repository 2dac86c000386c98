//! `apply`: an image, a label map or points through a chain of transforms.

mod args;
mod run;
mod series;

pub use args::Args;
pub use run::run;
