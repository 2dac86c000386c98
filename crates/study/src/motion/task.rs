//! The request to correct the motion of a series, as plain data.

use std::sync::Arc;

use antsreg_core::Volume;
use antsreg_core::io::nifti::Timing;
use antsreg_motion::Options;

use super::files::MotionFiles;
use crate::Error;
use crate::apply::Reading;

/// The input of a motion correction: files, options and the command line.
#[derive(Debug, Clone)]
pub struct Task {
    /// Paths of the input and output files of the motion correction.
    pub files: MotionFiles,
    /// The options of the alignment of volumes to the reference.
    pub options: Options,
    /// Interpolation of the volumes for the corrected series and for the images computed from it.
    pub reading: Reading,
    /// Whether volumes that cannot be aligned are left out, instead of ending the correction. Such a volume gets the
    /// transform of the previous volume.
    pub keep_going: bool,
    /// The command line of the program, kept in the JSON record of the motion correction.
    pub command_line: Vec<String>,
}

impl Task {
    /// The error for a reference volume that cannot be used, with the path of its file.
    pub(super) fn no_reference(&self, source: antsreg_motion::Error) -> Error {
        let path = self.files.reference.file().unwrap_or(&self.files.input);
        Error::MotionReference { path: path.into(), source }
    }

    /// Creates the error about volume `index` of the series.
    pub(super) fn of_volume(&self, index: usize, source: antsreg_motion::Error) -> Error {
        Error::MotionVolume { path: self.files.input.clone(), index, source }
    }
}

/// Progress of a motion correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Number of volumes that are aligned so far.
    pub aligned: usize,
    /// Number of alignments of volumes in total. Each volume is aligned twice if the reference is the mean of the
    /// series, else once.
    pub of: usize,
}

/// A series of volumes that is in memory already.
#[derive(Debug, Clone)]
pub struct InMemory {
    /// The volumes of the series, all on one grid.
    pub volumes: Vec<Arc<Volume>>,
    /// Times at which the volumes were acquired.
    pub timing: Timing,
}
