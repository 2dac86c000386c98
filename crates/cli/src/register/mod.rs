//! `register`: from two images to transforms, warped images and a record.

mod args;
mod channels;
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
pub use files::Files;
pub use inputs::{FixedInputs, Inputs};
pub use plan::{Plan, check};
pub use record::{Parameters, Seconds};
pub use results::{parameters, write};
pub use run::{Found, run};
pub use settings::Settings;
pub use show::stages;
