//! What is asked for, and what would be done.

use antsreg_register::{DeviceChoice, Fitted, Options, Recipe};
use antsreg_study::pair::{Inputs, Names, PairFiles};

/// A registration of files, as asked for.
#[derive(Debug, Clone)]
pub struct Job {
    /// The files.
    pub files: PairFiles,
    /// The registration, but for its start, which may be in a file.
    pub recipe: Recipe,
    /// The device.
    pub device: DeviceChoice,
    /// Whether to show the plan and stop.
    pub dry_run: bool,
    /// Whether to time the kernels of a GPU.
    pub profile: bool,
}

/// What would be done.
pub struct Plan<'a> {
    /// What was asked for.
    pub job: &'a Job,
    /// What was read.
    pub inputs: &'a Inputs,
    /// What would be registered.
    pub options: &'a Options,
    /// Where.
    pub fitted: &'a Fitted,
    /// What would be written.
    pub names: &'a Names,
}
