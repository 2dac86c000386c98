//! The steps of building a template, by name.

use std::fmt::{Display, Formatter};

/// A step of building a template. Every step writes a manifest: the list of the files that the step read and wrote.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Makes the first template.
    Start,
    /// Registers a subject to the template of the previous pass.
    Register {
        /// Number of the pass, counted from 1.
        pass: usize,
        /// The subject's name.
        subject: String,
    },
    /// Averages the subjects of a pass.
    Average {
        /// Number of the pass, counted from 1.
        pass: usize,
    },
    /// Moves the average of a pass to the mean shape, which gives the template of this pass.
    Update {
        /// Number of the pass, counted from 1.
        pass: usize,
    },
    /// Writes a subject's transforms to the final template, and the subject's images on the template's grid.
    FinishSubject {
        /// The subject's name.
        subject: String,
        /// File name extension of the final images and warps, such as `nii.gz`.
        extension: &'static str,
    },
    /// Writes the final template.
    Finish {
        /// File name extension of the final images and warps, such as `nii.gz`.
        extension: &'static str,
    },
}

/// Writes the name of the step, as stored in the step's manifest.
impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Step::Start => write!(f, "start"),
            Step::Register { pass, subject } => write!(f, "register {subject} in pass {pass}"),
            Step::Average { pass } => write!(f, "average pass {pass}"),
            Step::Update { pass } => write!(f, "update pass {pass}"),
            Step::FinishSubject { subject, extension } => write!(f, "finish {subject} as {extension}"),
            Step::Finish { extension } => write!(f, "finish as {extension}"),
        }
    }
}
