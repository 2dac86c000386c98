//! What a run tells its caller while it runs: the device, what was found, the files that were written, and warnings.
//! All of it is data; the caller words what is shown.

use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};
use std::time::Instant;

use antsreg_heads::bias::LevelOutcome;
use antsreg_register::{Device, DeviceNote, Progress, Warning};

use crate::pair::{KernelTimes, WhiteMatterRecord};
use crate::skulls::ExtractedRecord;

/// Receives what a run tells while it runs.
pub trait Observer {
    /// A step with stages of registration begins. Returns the receiver of the iterations of this step.
    fn progress(&mut self) -> &mut dyn Progress;
    /// The device that computes is known. All its other handles are dropped when the run ends.
    fn device(&mut self, _device: &Device) {}
    /// Something happened.
    fn tell(&mut self, event: &Event);
}

/// Something that happened in a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// A device is ready, or is not used.
    Device(&'a DeviceNote),
    /// A warning.
    Warning(&'a RunWarning),
    /// The brain of an image is registered instead of the whole head.
    Brain {
        /// The side of the image: `fixed` or `moving`.
        side: &'static str,
        /// The brain that was found.
        brain: &'a ExtractedRecord,
        /// Whether the brain was extracted because the other image shows a brain without a skull.
        automatic: bool,
    },
    /// White matter was found in the fixed image.
    WhiteMatter(&'a WhiteMatterRecord),
    /// The times of the GPU's kernels were measured.
    Kernels(&'a KernelTimes),
    /// A level of the estimation of a bias field has ended. The levels are counted from 1.
    BiasLevel {
        /// Number of the level.
        level: usize,
        /// Number of all levels.
        of: usize,
        /// Iterations and last change of the level.
        outcome: LevelOutcome,
    },
    /// A step of a longer run has ended; the text says what was found.
    Step(&'a str),
    /// An output file was written.
    Wrote(&'a Path),
}

/// A warning of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunWarning {
    /// A sentence about the inputs, or about a subject.
    Text(String),
    /// A sentence about an image.
    Image {
        /// Path of the image.
        path: PathBuf,
        /// The sentence.
        text: String,
    },
    /// The prefix of the output names is an existing folder, but the outputs are not written into the folder.
    FolderPrefix {
        /// The prefix.
        prefix: String,
    },
    /// A file of an earlier run has a name like the new outputs, but was not written again.
    LeftOver(PathBuf),
    /// The copy bandwidth of the device could not be measured; the text is the reason.
    NoBandwidth(String),
    /// A warning about the result of a registration.
    Result(Warning),
}

impl Display for RunWarning {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            RunWarning::Text(text) => write!(f, "{text}"),
            RunWarning::Image { path, text } => write!(f, "{}: {text}", path.display()),
            RunWarning::FolderPrefix { prefix } => write!(
                f,
                "{prefix} is a folder, but the outputs are not written into it: their names begin with {prefix}, as in \
                 {prefix}record.json; to write into the folder, give {prefix}/"
            ),
            RunWarning::LeftOver(path) => {
                write!(f, "{} is from an earlier run and does not belong to these files", path.display())
            }
            RunWarning::NoBandwidth(reason) => {
                write!(f, "the copy bandwidth of the device could not be measured: {reason}")
            }
            RunWarning::Result(warning) => write!(f, "{warning}"),
        }
    }
}

/// How a run was started: kept in the records of its results.
#[derive(Debug, Clone, Copy)]
pub struct Invocation<'a> {
    /// Number of threads that compute.
    pub threads: usize,
    /// The command line of the program; empty if there is none.
    pub command_line: &'a [String],
    /// When the program began.
    pub began: Instant,
}
