//! The registration of two images as given on the command line, and its plan: the inputs, options, device and names of
//! output files that follow.

use antsreg_register::{DeviceChoice, Fitted, Options, Recipe};
use antsreg_study::pair::{Inputs, Names, PairFiles};

/// A registration of two images as given on the command line: files, settings and device.
#[derive(Debug, Clone)]
pub struct Job {
    /// Paths of the input files of the registration, and names of its output files.
    pub files: PairFiles,
    /// Settings of the registration, except the initial transform, which may be in a file.
    pub recipe: Recipe,
    /// The device given on the command line.
    pub device: DeviceChoice,
    /// Whether the plan of the registration is only shown, and nothing is registered (`--dry-run`).
    pub dry_run: bool,
    /// Whether to measure the times of GPU kernels.
    pub profile: bool,
}

/// Plan of a registration: the job with its inputs, options, device and output names.
pub struct Plan<'a> {
    /// The registration as given on the command line.
    pub job: &'a Job,
    /// The inputs of the registration: images, masks and labels that have been read.
    pub inputs: &'a Inputs,
    /// The options of the registration.
    pub options: &'a Options,
    /// The device on which the registration would run, its memory, and the reason if the CPU replaces a GPU.
    pub fitted: &'a Fitted,
    /// Names of the output files that the registration writes.
    pub names: &'a Names,
}
