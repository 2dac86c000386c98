//! What can go wrong in building an atlas, beyond its registrations.

use std::path::PathBuf;

use antsreg_cohort::template::{ShapeError, StretchError};

/// Why an atlas was not built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Fewer than two subjects.
    #[error("an atlas needs at least two subjects that can be read, found {found}")]
    TooFew {
        /// How many there are.
        found: usize,
    },
    /// Fewer than two subjects that can be read, of more that were given.
    #[error("an atlas needs at least two subjects that can be read, found {found}: {}", reasons.join("; "))]
    TooFewRead {
        /// How many there are.
        found: usize,
        /// The others, and why they cannot be read.
        reasons: Vec<String>,
    },
    /// Fewer than four subjects, of which two would be left out.
    #[error("--average trimmed needs at least four subjects that can be read, found {found}")]
    TooFewToTrim {
        /// How many there are.
        found: usize,
    },
    /// Subjects that could not be read; the atlas is of the others.
    #[error("{} of {all} subjects left out, the template is of the others: {}", subjects.len(), subjects.join("; "))]
    LeftOut {
        /// Their names and reasons.
        subjects: Vec<String>,
        /// Subjects in all.
        all: usize,
    },
    /// A name that cannot be part of a file's.
    #[error(
        "`{name}` cannot be a subject's name: expected letters, digits, `.`, `_`, `-`, and a letter or digit first"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// No subject of this name.
    #[error("there is no subject called {name}; there are {}", there.join(", "))]
    NoSubject {
        /// The name.
        name: String,
        /// The names there are.
        there: Vec<String>,
    },
    /// Counts that do not match.
    #[error("{what}: expected {expected}, found {found}")]
    Count {
        /// Of what.
        what: String,
        /// As many as there should be.
        expected: usize,
        /// As many as there are.
        found: usize,
    },
    /// The folder holds an atlas of other subjects or options.
    #[error(
        "{}: holds an atlas made with another {}; give another --output, or --restart to make again what does not fit",
        folder.display(), differing.join(", ")
    )]
    Changed {
        /// The folder.
        folder: PathBuf,
        /// What differs.
        differing: Vec<String>,
    },
    /// Another process works in the folder.
    #[error("{}: another antsreg-gpu is building this atlas", folder.display())]
    Busy {
        /// The folder.
        folder: PathBuf,
    },
    /// Names with which two files would be one.
    #[error("{}: two files of the atlas would have this name; rename a subject or a channel", path.display())]
    Collision {
        /// The path of both files, below the atlas's folder.
        path: PathBuf,
    },
    /// A pass that the plan does not have.
    #[error("pass {pass}: the plan has passes {first} to {last}")]
    NoPass {
        /// The pass asked for.
        pass: usize,
        /// The first pass.
        first: usize,
        /// The last pass.
        last: usize,
    },
    /// The plan or a manifest cannot be understood.
    #[error("{}: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// The plan's command line is not one of this program.
    #[error("{}: the command line in it is not understood by this version", path.display())]
    CommandLine {
        /// The plan.
        path: PathBuf,
    },
    /// A subject that could not be registered.
    #[error("pass {pass}, subject {subject}: {reason}")]
    Subject {
        /// The pass.
        pass: usize,
        /// The subject.
        subject: String,
        /// Why.
        reason: Box<crate::error::CliError>,
    },
    /// Affines without a mean.
    #[error("the affine transforms have no mean: {0}")]
    Stretch(#[from] StretchError),
    /// A template without a shape.
    #[error("the template has no new shape: {0}")]
    Shape(#[from] ShapeError),
    /// Files that are not as their manifests say.
    #[error("{} of {all} files are not as the manifests say: {}", files.len(), files.join(", "))]
    Unlike {
        /// The files.
        files: Vec<String>,
        /// Files looked at.
        all: usize,
    },
    /// A chart or picture could not be drawn.
    #[error("the report could not be drawn: {0}")]
    Drawing(String),
}

impl Error {
    /// 2 where the command as typed is at fault, 3 where an atlas was made of fewer subjects, else 1.
    pub fn exit_code(&self) -> u8 {
        use Error::*;
        match self {
            TooFew { .. } | TooFewToTrim { .. } | BadName { .. } | NoSubject { .. } => 2,
            Count { .. } | Changed { .. } | NoPass { .. } | Collision { .. } => 2,
            LeftOut { .. } => 3,
            _ => 1,
        }
    }
}
