//! The steps of the building of a template, by name.

use std::fmt::{Display, Formatter};

/// A step of the building of a template. Every step writes a manifest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The first template is made.
    Start,
    /// A subject is registered to the template of the pass before.
    Register {
        /// The pass.
        pass: usize,
        /// The subject's name.
        subject: String,
    },
    /// The subjects of a pass are averaged.
    Average {
        /// The pass.
        pass: usize,
    },
    /// The average of a pass is moved to the mean shape: the template of this pass.
    Update {
        /// The pass.
        pass: usize,
    },
    /// A subject's transforms to the last template and its images there are written.
    FinishSubject {
        /// The subject's name.
        subject: String,
        /// The extension of images and warps.
        extension: &'static str,
    },
    /// The template that is handed out is written.
    Finish {
        /// The extension of images and warps.
        extension: &'static str,
    },
}

/// As manifests have it.
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
