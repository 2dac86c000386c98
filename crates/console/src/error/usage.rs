//! Errors in the use of options, such as options that cannot be combined.

use antsreg_register::WhyCpu;

/// An error in the use of options. The parser of the command line (clap) finds simpler errors.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum UsageError {
    /// An option was given that has no effect.
    #[error("{option} has no effect with {with}; leave one of them out")]
    NoEffect {
        /// Name of the option without effect.
        option: &'static str,
        /// The other option or value that makes the option ineffective.
        with: String,
    },
    /// An option that the library refuses, with its reason.
    #[error("{0}")]
    Option(String),
    /// A shrink factor is too large for the image.
    #[error(
        "shrink factor {factor} leaves fewer than {least} voxels of the {extent} along an axis; give a smaller shrink \
         factor"
    )]
    Shrink {
        /// The shrink factor that is too large: the factor by which a level reduces the image.
        factor: usize,
        /// Voxels along the shortest axis of the image.
        extent: usize,
        /// Least number of voxels along an axis after shrinking.
        least: usize,
    },
    /// More than one device was given for a single registration.
    #[error(
        "--device {asked}: this command uses one device; only commands with many registrations, such as batch, use \
         several; give one device"
    )]
    SeveralDevices {
        /// The several devices as the user gave them, such as `cuda:0,1`.
        asked: String,
    },
    /// Boundary-based registration was requested, but this command has no white-matter segmentation of the fixed image.
    #[error(
        "--cost bbr needs a white-matter segmentation of the fixed image; only the command register, and labels with \
         one atlas, provide one; give another --cost"
    )]
    BoundaryOfMany,
    /// The number of label maps differs from the number of subjects.
    #[error("--labels: expected one label map for each of the {expected} subjects, found {found} label maps")]
    Labels {
        /// Number of subjects, which is the expected number of label maps.
        expected: usize,
        /// Number of label maps.
        found: usize,
    },
    /// An option is missing.
    #[error("{option} is missing: {why}")]
    Missing {
        /// Name of the missing option.
        option: &'static str,
        /// Why the option is needed.
        why: &'static str,
    },
    /// The prefix of the output names ends in `.` or `..`, so the output files would be hidden.
    #[error("--output {0}: the names of all output files would begin with a dot; for files in this folder give {0}/")]
    HiddenPrefix(String),
    /// The program cannot tell which of two formats a file has.
    #[error("{0}: the format is not clear from this name; give the format with --to")]
    UnclearFormat(String),
}

impl UsageError {
    /// The error that `--profile` has no effect on the CPU, which `--device auto` takes for this reason, if any.
    pub(super) fn no_kernels(why: Option<&WhyCpu>) -> UsageError {
        let with =
            why.map_or("--device cpu".into(), |why| format!("the CPU, which --device auto takes because {why}"));
        UsageError::NoEffect { option: "--profile", with }
    }

    /// Refuses a prefix of output names that ends in `.` or `..`: the output files would be hidden.
    ///
    /// # Errors
    /// [`UsageError::HiddenPrefix`].
    pub fn check_prefix(prefix: &str) -> Result<(), UsageError> {
        match prefix.rsplit('/').next() {
            Some("." | "..") => Err(UsageError::HiddenPrefix(prefix.into())),
            _ => Ok(()),
        }
    }
}
