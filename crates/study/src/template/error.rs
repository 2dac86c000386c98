//! Errors of building a template, in addition to those of reading, registering and writing.

use std::fmt;
use std::path::PathBuf;

use antsreg_cohort::template::{ShapeError, StretchError};
use antsreg_register::Model;

use super::step::Step;

/// Why a template cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Fewer than two subjects were given for a template.
    #[error("a template needs at least two subjects that can be read, found {found}")]
    TooFew {
        /// Number of subjects.
        found: usize,
    },
    /// Fewer than two subjects could be read.
    #[error("a template needs at least two subjects that can be read, found {found}: {}", reasons.join("; "))]
    TooFewRead {
        /// Number of subjects that could be read.
        found: usize,
        /// Why each of the other subjects could not be read.
        reasons: Vec<String>,
    },
    /// Fewer than four subjects for a mean that leaves out two values at each voxel.
    #[error(
        "a mean without the smallest and the largest value needs at least four subjects that can be read, found {found}"
    )]
    TooFewToTrim {
        /// Number of subjects that could be read.
        found: usize,
    },
    /// A name that is not allowed in file names and rules of workflow engines.
    #[error(
        "`{name}` cannot be the name of a subject or channel: expected letters, digits, `.`, `_`, `-`, and a letter or digit \
         first"
    )]
    BadName {
        /// The refused name of a subject or channel.
        name: String,
    },
    /// Two output files would have the same name.
    #[error(
        "two outputs would be called {}, because of the names of subjects or channels; rename a subject or a channel",
        file.display()
    )]
    SameName {
        /// Path of the file, relative to the folder of the template.
        file: PathBuf,
    },
    /// No subject of the template has this name.
    #[error("there is no subject called {name}; the subjects are {}", there.join(", "))]
    NoSubject {
        /// The given name, which no subject of the template has.
        name: String,
        /// The names of all subjects.
        there: Vec<String>,
    },
    /// An input has a wrong number of items, such as weights or images.
    #[error("{what}: expected {expected}, found {found}")]
    Count {
        /// Name of the counted items, such as weights or images, for the message.
        what: &'static str,
        /// Expected number of weights, images or other inputs.
        expected: usize,
        /// Number of weights, images or other inputs that were given.
        found: usize,
    },
    /// An option is out of range.
    #[error("{what} must be {expected}, found {found}")]
    Range {
        /// Name of the option, for the message.
        what: &'static str,
        /// Allowed values of the option, in words.
        expected: String,
        /// Value of the option that was given.
        found: String,
    },
    /// A transform model with which templates cannot be built.
    #[error("a template needs a registration with an affine and a SyN stage, found the model {found:?}")]
    Model {
        /// The model.
        found: Model,
    },
    /// The template needs more memory than is free.
    #[error(
        "the template would have {} × {} × {} voxels, and take about {needed_mb} MB of memory; {free_mb} MB are free",
        shape[0], shape[1], shape[2]
    )]
    TooLarge {
        /// Shape of the template, voxels.
        shape: [usize; 3],
        /// Memory that building the template needs, MB.
        needed_mb: u64,
        /// Free main memory and free swap together, MB.
        free_mb: u64,
    },
    /// The folder contains a template of other subjects or options.
    #[error(
        "{}: the folder contains a template that differs from the requested template by: {}", folder.display(),
        differing.join(", ")
    )]
    Changed {
        /// Path of the folder of the template.
        folder: PathBuf,
        /// Names of the data, such as options or subjects, in which the requested template differs from the template in
        /// the folder.
        differing: Vec<String>,
    },
    /// The template's plan has a format that this version of the program cannot read.
    #[error(
        "{}: the plan was made by version {version} of the program, in format {found}; this version reads format {expected}",
        path.display()
    )]
    PlanFormat {
        /// Path of the template's plan: the file of its subjects and options.
        path: PathBuf,
        /// Version of the program that made the template's plan.
        version: String,
        /// Number of the format in which the template's plan was written.
        found: u64,
        /// Number of the only format of a template's plan that this version of the program reads.
        expected: u64,
    },
    /// A file has the name of the plan of a template, but is no plan.
    #[error(
        "{}: is not the plan of a template; expected a file `atlas.json` that this program has written",
        path.display()
    )]
    NotAPlan {
        /// Path of the file.
        path: PathBuf,
    },
    /// The data in a template's plan do not match the digest in the plan: the file was edited.
    #[error("{}: the plan was changed after it was made; what changed: {}", path.display(), differing.join(", "))]
    PlanChanged {
        /// Path of the template's plan: the file of its subjects and options.
        path: PathBuf,
        /// Names of the data, such as options or subjects, that differ from the digests in the template's plan.
        differing: Vec<String>,
    },
    /// The folder contains files that do not belong to a template.
    #[error(
        "{}: expected a new or empty folder, or the folder of a template; found {} and no plan", folder.display(),
        found.display()
    )]
    Foreign {
        /// Path of the folder that was given for the template.
        folder: PathBuf,
        /// Path of a file in the folder that does not belong to a template.
        found: PathBuf,
    },
    /// An input file of the template lies in the folder of its outputs.
    #[error(
        "{}: this input lies in {}, the folder of the outputs; expected inputs in other folders", input.display(),
        folder.display()
    )]
    InputAmongOutputs {
        /// Path of the input.
        input: PathBuf,
        /// The folder of the template.
        folder: PathBuf,
    },
    /// Another process is using the folder of the template.
    #[error("{}: another process is building this template", folder.display())]
    Busy {
        /// Path of the folder of the template.
        folder: PathBuf,
    },
    /// The lock of the folder cannot be created.
    #[error("{}: the lock file could not be created: {source}", path.display())]
    Lock {
        /// Path of the file.
        path: PathBuf,
        /// The error of the file system.
        source: std::io::Error,
    },
    /// The inputs of a step do not exist yet.
    #[error(
        "{}: the file does not exist yet, or was made from other files; the step `{step}` makes the file",
        missing.display()
    )]
    NotYet {
        /// Path of the missing manifest: the list of the files that a step read and wrote.
        missing: PathBuf,
        /// The folder of the template.
        folder: PathBuf,
        /// The step that makes the missing files.
        step: Step,
    },
    /// The template's plan does not contain the requested pass.
    #[error("pass {pass} is not in the plan of the template, which has the passes {first} to {last}")]
    NoPass {
        /// Number of the requested pass.
        pass: usize,
        /// Number of the first pass that the template's plan contains.
        first: usize,
        /// Number of the last pass that the template's plan contains.
        last: usize,
    },
    /// A subject that could not be registered.
    #[error("pass {pass}, subject {subject}: {reason}")]
    Subject {
        /// Number of the pass.
        pass: usize,
        /// Name of the subject.
        subject: String,
        /// The error of the registration.
        reason: Box<crate::Error>,
    },
    /// The affine transforms of the subjects have no mean.
    #[error("the affine transforms have no mean: {0}")]
    Stretch(#[from] StretchError),
    /// The shape of the template cannot be updated.
    #[error("the shape of the template cannot be updated: {0}")]
    Shape(#[from] ShapeError),
    /// Files of a template, or its input files, are not as the template's plan and its manifests say.
    #[error("the files are not those of the template's plan: {0}")]
    Unlike(Box<Differences>),
}

/// Files by which the folder of a template, or its inputs, differ from what the plan and the manifests say.
#[derive(Debug, Default)]
pub struct Differences {
    /// Files that the plan expects and that do not exist.
    pub missing: Vec<PathBuf>,
    /// Files that have changed since the template was planned or built, or were made from other files.
    pub changed: Vec<PathBuf>,
    /// Files in the folder of the template that no step of its plan writes.
    pub foreign: Vec<PathBuf>,
}

impl Differences {
    /// Whether there are no differences.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.changed.is_empty() && self.foreign.is_empty()
    }
}

/// Writes the numbers of files, and the first files.
impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Number of files that are shown of each kind.
        const SHOWN: usize = 10;
        let kinds = [
            ("missing", &self.missing),
            ("changed", &self.changed),
            ("not written by any step of the plan", &self.foreign),
        ];
        for (n, (kind, files)) in kinds.into_iter().filter(|(_, files)| !files.is_empty()).enumerate() {
            let separator = if n > 0 { "; " } else { "" };
            let shown: Vec<String> = files.iter().take(SHOWN).map(|path| path.display().to_string()).collect();
            write!(f, "{separator}{} {kind}: {}", files.len(), shown.join(", "))?;
            if files.len() > SHOWN {
                write!(f, " and {} more", files.len() - SHOWN)?;
            }
        }
        Ok(())
    }
}
