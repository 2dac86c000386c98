//! Options that cannot be combined.

/// Options that cannot be combined. clap finds the simpler cases.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum UsageError {
    /// An option that has no effect.
    #[error("{option} has no effect with {with}; leave one of them out")]
    NoEffect {
        /// Name of the option without effect.
        option: &'static str,
        /// The other option or value that makes the option ineffective.
        with: String,
    },
    /// A shrink factor larger than the image.
    #[error(
        "shrink factor {factor} leaves fewer than {least} voxels of the {extent} along an axis; give a smaller one"
    )]
    Shrink {
        /// The shrink factor.
        factor: usize,
        /// Voxels along the shortest axis of the image.
        extent: usize,
        /// Least number of voxels along an axis after shrinking.
        least: usize,
    },
    /// More than one device was given for a single registration.
    #[error("--device {asked}: several devices are for batch, where each takes some of the subjects; name one here")]
    SeveralDevices {
        /// The list of devices, as given.
        asked: String,
    },
    /// The number of label maps differs from the number of subjects.
    #[error("--labels, one a subject: expected {expected}, found {found}")]
    Labels {
        /// Number of subjects.
        expected: usize,
        /// Number of label maps.
        found: usize,
    },
    /// An option is missing.
    #[error("{option} is needed {why}")]
    Missing {
        /// Name of the missing option.
        option: &'static str,
        /// Why the option is needed.
        why: &'static str,
    },
    /// The name of a folder instead of a prefix of file names.
    #[error("--output {0}: the names of all files would begin so; for files in that folder give {0}/")]
    HiddenPrefix(String),
    /// The program cannot tell which of two formats a file has.
    #[error("{0}: cannot tell whether this is ITK's or FSL's; say so with --from or --to")]
    UnclearFormat(String),
}

impl UsageError {
    /// Refuses a start of output names that ends in `.` or `..`: the files would be hidden.
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
