//! Registration of two brain images. The input is two images and a list of stages as plain data; the output is
//! transforms and warnings. This crate reads no files and prints nothing.
//!
//! ```no_run
//! use antsreg_core::io::nifti;
//! use antsreg_register::{Device, Options, Side, register};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let [fixed, moving] = ["fixed.nii.gz", "moving.nii.gz"].map(|name| nifti::read_volume(name.as_ref()));
//!     let (fixed, moving) = (Side::from(fixed?), Side::from(moving?));
//!     let found = register(&fixed, &moving, &Options::default(), &Device::cpu(), &mut ())?.finish()?;
//!     println!("correlation {:?}", found.similarity.correlation);
//!     Ok(())
//! }
//! ```
//!
//! [`Options`] contains the initial transform and a list of [`Stage`]s. A [`Preset`] makes such lists. A [`Recipe`] is
//! a preset with changes, which adapts the stages to the shape of the images. A [`Side`] is an image with its channels
//! and its mask. [`Fixed`] is a fixed side that is prepared once for many registrations. A [`Device`] is the CPU or a
//! GPU. World coordinates are RAS mm; transforms map fixed points to moving points.
//!
//! This crate uses four other crates: `antsreg-core` has grids, volumes, transforms and file formats; `antsreg-kernels`
//! has the operations on whole volumes, on CPU and GPU; `antsreg-linear` and `antsreg-syn` have the two kinds of
//! stages.

mod assess;
mod backend;
mod check;
mod choice;
mod coarse;
mod computed;
mod coverage;
mod device;
mod device_note;
mod error;
mod fit;
mod image;
mod images;
mod interpolation;
mod lesion;
mod memory;
#[cfg(feature = "clap")]
pub mod option;
mod options;
#[cfg(feature = "cuda")]
mod preload;
mod preset;
mod progress;
mod recipe;
mod register;
mod registered;
mod registration;
pub mod resample;
mod resident;
mod run;
mod shared;
mod side;
mod warning;
mod window;

pub use choice::{Description, DeviceChoice, UnknownDevice};
pub use computed::Computed;
pub use coverage::Coverage;
pub use device::{Computation, Device, Memory, Opened, gpus, there};
pub use device_note::{DeviceNote, WhyCpu};
pub use error::{Error, TooLittleMemory};
pub use fit::{Fitted, PlannedMemory};
pub use image::Image;
pub use images::Similarity;
pub use interpolation::Interpolation;
pub use memory::Grids;
pub use options::{LEAST_VOXELS, Options, Stage, WarpedImages};
pub use preset::{Model, Preset};
pub use progress::{Progress, StageOutcome};
pub use recipe::{Recipe, RecipeError, Schedule};
pub use register::{Fixed, register};
pub use registered::{Continuation, Registered};
pub use registration::{Registration, Seconds};
pub use resident::Resident;
pub use run::{OnDevice, WarpsOnDevice};
pub use side::{Mask, Side};
pub use warning::Warning;
pub use window::TooWide;

// Crates whose types appear in this crate's interface.
pub use antsreg_core as core;
pub use antsreg_linear as linear;
pub use antsreg_syn as syn;
pub use antsreg_verdict as verdict;
