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
//!     let found = register(&fixed, &moving, &Options::default(), &Device::cpu(), &mut ())?;
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

mod coverage;
mod device;
mod error;
mod fit;
mod fixed;
mod image;
mod images;
mod interpolation;
mod memory;
mod options;
mod preset;
mod recipe;
mod registration;
pub mod resample;
mod resident;
mod run;
mod shared;
mod side;
mod warning;
mod window;

pub use coverage::Coverage;
pub use device::{Description, Device, DeviceChoice, Memory, Opened, UnknownDevice, gpus, there};
pub use error::Error;
pub use fit::{Fitted, PlannedMemory, WhyCpu};
pub use fixed::{Continuation, Fixed, Task, compute, compute_resident, register, register_and};
pub use image::Image;
pub use interpolation::Interpolation;
pub use memory::{Grids, TooLittleMemory};
pub use options::{LEAST_VOXELS, Options, Stage, WarpedImages};
pub use preset::{Model, Preset};
pub use recipe::{Recipe, RecipeError, Schedule};
pub use registration::{Computed, Registration, Seconds, Similarity, StageOutcome};
pub use resident::Resident;
pub use run::{OnDevice, Progress, WarpsOnDevice};
pub use side::{Mask, Side};
pub use warning::Warning;
pub use window::TooWide;

// Crates whose types appear in this crate's interface.
pub use antsreg_core as core;
pub use antsreg_linear as linear;
pub use antsreg_syn as syn;
