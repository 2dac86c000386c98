//! `register`: from two images to transforms, warped images and a record.

mod args;
mod files;
mod inputs;
pub mod memory;
mod plan;
mod profile;
mod record;
mod results;
mod run;
mod settings;
mod show;

pub use args::{Args, Format};
pub use run::run;
pub use settings::Settings;
