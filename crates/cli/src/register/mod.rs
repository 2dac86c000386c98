//! `register`: from two images to transforms, warped images and a record.
//!
//! `inputs` reads, `compute` takes the stages, `results` writes. `run` does that once, `batch` many times at once.

mod args;
mod channels;
mod check;
mod choices;
pub mod compute;
mod coverage;
pub mod device_memory;
mod doubts;
mod files;
mod fit;
mod found;
mod images;
mod inputs;
pub mod memory;
mod parameters;
mod plan;
mod profile;
mod record;
mod request;
mod results;
mod run;
mod settings;
mod show;
mod window;
mod writing;

pub use args::Args;
pub use channels::ChannelFiles;
pub use check::check;
pub use doubts::undone;
pub use files::Files;
pub use found::{Diffeomorphism, Found, Wanted};
pub use images::WantedImages;
pub use inputs::{FixedInputs, Inputs};
pub use parameters::{LinearParameters, Parameters, SynParameters};
pub use plan::Plan;
pub use record::Seconds;
pub use request::Request;
pub use results::{Measured, Registration, write};
pub use run::run;
pub use settings::{Model, Settings, Start};
pub use show::stages;
pub use window::devices;
pub use writing::{Format, WritingArgs};
