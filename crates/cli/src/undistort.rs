//! The subcommand (verb) `undistort`: removes the distortion of echo-planar images along their phase encoding.

use std::path::PathBuf;

use antsreg_console::{CliError, Console, UsageError};
use antsreg_study::undistort::{self, EncodedFile, Error, Names, Options, PhaseEncoding, Task};

use crate::shown::shown;
use crate::values;

/// Remove the distortion of echo-planar images (EPI) along their phase encoding.
///
/// The field is found from images with opposite phase encodings, any number of each, or given in Hz (--field-map).
/// Direction and readout time are given for each image, or stand in the JSON file beside the image
/// (PhaseEncodingDirection, TotalReadoutTime).
///
/// Writes for each image PREFIXUndistorted1.nii.gz, PREFIX1Warp.nii.gz (for `apply`) and PREFIX1Jacobian.nii.gz (the
/// factor of the intensity); PREFIXDisplacement.nii.gz (mm along the axis), PREFIXrecord.json and, if the readout time
/// is known, PREFIXFieldHz.nii.gz.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Image; repeat the option for each image, all on one grid
    #[arg(short, long, value_name = "IMAGE", required = true)]
    input: Vec<PathBuf>,
    /// Direction of the phase encoding of each image, in the order of the images: i, i-, j, j-, k or k-, the voxel axes
    /// of the file as in BIDS [default: from the JSON files]
    #[arg(long, value_name = "DIRECTION")]
    phase_encoding: Vec<PhaseEncoding>,
    /// Total readout time as in BIDS, seconds: one for all images, or one for each image [default: from the JSON files;
    /// without it there is no field in Hz]
    #[arg(long, value_name = "S", value_parser = values::positive)]
    readout_time: Vec<f64>,
    /// Start of all output names, folder included
    #[arg(short, long, value_name = "PREFIX")]
    output: String,
    /// Take the field from this image in Hz, aligned with the images, instead of from opposite encodings
    #[arg(long, value_name = "HZ")]
    field_map: Option<PathBuf>,
    /// Also find rigid motion of the head between the images, for a head that has moved: otherwise small rotations are
    /// found that are part of the field
    #[arg(long, conflicts_with = "field_map")]
    motion: bool,
}

impl Args {
    /// The images with their phase encodings.
    fn images(&self) -> Result<Vec<EncodedFile>, CliError> {
        let images = self.input.len();
        let wrong =
            |what, found, expected| antsreg_study::Error::from(Error::Count { what, found, images, expected });
        let (directions, times) = (&self.phase_encoding, &self.readout_time);
        if !directions.is_empty() && directions.len() != images {
            return Err(wrong("--phase-encoding", directions.len(), "one for each image, or none").into());
        }
        if times.len() > 1 && times.len() != images {
            return Err(wrong("--readout-time", times.len(), "one for each image, one, or none").into());
        }
        let of = |(n, path): (usize, &PathBuf)| {
            let time = if times.len() == 1 { times.first() } else { times.get(n) };
            Ok(EncodedFile::new(path, directions.get(n).copied(), time.copied())?)
        };
        self.input.iter().enumerate().map(of).collect()
    }
}

/// Runs `undistort`.
pub fn run(args: &Args, console: &mut Console) -> Result<(), CliError> {
    UsageError::check_prefix(&args.output)?;
    let task = Task {
        images: args.images()?,
        field_map: args.field_map.clone(),
        names: Names::of(&args.output, args.input.len()),
        options: Options { motion: args.motion, ..Options::default() },
    };
    shown(console, |invocation, observer| undistort::run(&task, invocation, observer))?;
    Ok(())
}
