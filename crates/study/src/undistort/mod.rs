//! Distortion of echo-planar images along their phase encoding, from files to files: found from images with opposite
//! encodings or computed from a field map, and removed.

mod encoding;
mod error;
mod files;
mod record;
mod run;
mod sidecar;

pub use antsreg_distortion::{Level, LevelOutcome, Options};
pub use encoding::PhaseEncoding;
pub use error::Error;
pub use files::Names;
pub use run::{ImageOutcome, Task, Undistorted, run};
pub use sidecar::EncodedFile;
