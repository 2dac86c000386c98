//! Why a template is not built, beyond what reading, registering and writing its files can fail by.

use std::path::PathBuf;

use antsreg_cohort::template::{ShapeError, StretchError};
use antsreg_register::Model;

use super::step::Step;

/// Why a template is not built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Fewer than two subjects.
    #[error("a template needs at least two subjects that can be read, found {found}")]
    TooFew {
        /// Subjects given.
        found: usize,
    },
    /// Fewer than two subjects that can be read, of more that were given.
    #[error("a template needs at least two subjects that can be read, found {found}: {}", reasons.join("; "))]
    TooFewRead {
        /// Subjects that can be read.
        found: usize,
        /// The other subjects, and why they cannot be read.
        reasons: Vec<String>,
    },
    /// Fewer than four subjects, two of which would not count at a voxel.
    #[error(
        "a mean without the smallest and the largest value needs at least four subjects that can be read, found {found}"
    )]
    TooFewToTrim {
        /// Subjects that can be read.
        found: usize,
    },
    /// A name that file names and the rules of workflow engines cannot hold.
    #[error(
        "`{name}` cannot be the name of a subject or channel: expected letters, digits, `.`, `_`, `-`, and a letter or digit \
         first"
    )]
    BadName {
        /// The name.
        name: String,
    },
    /// Two outputs of one name.
    #[error("two outputs would be called {}, by the names of subjects or channels; rename one of them", file.display())]
    SameName {
        /// The file, below the folder of the template.
        file: PathBuf,
    },
    /// No subject of this name takes part.
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
        /// The things that are counted.
        what: &'static str,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// An option out of range.
    #[error("{what} must be {expected}, found {found}")]
    Range {
        /// The option in words.
        what: &'static str,
        /// Its range.
        expected: String,
        /// Its value.
        found: String,
    },
    /// A registration of another model.
    #[error("a template is made by an affine and a SyN stage, found the model {found:?}")]
    Model {
        /// The model.
        found: Model,
    },
    /// A template with more voxels than there is memory for.
    #[error(
        "the template would have {} × {} × {} voxels, and take about {needed_mb} MB of memory; {free_mb} MB are free",
        shape[0], shape[1], shape[2]
    )]
    TooLarge {
        /// Its shape, voxels.
        shape: [usize; 3],
        /// Memory it would take.
        needed_mb: u64,
        /// Memory that is free.
        free_mb: u64,
    },
    /// The folder holds a template of other subjects or options.
    #[error("{}: holds a template made with another {}", folder.display(), differing.join(", "))]
    Changed {
        /// The folder.
        folder: PathBuf,
        /// What differs.
        differing: Vec<String>,
    },
    /// A plan in a format that this version does not read.
    #[error(
        "{}: the plan was made by version {version} of the program, in format {found}; this version reads format {expected}",
        path.display()
    )]
    PlanFormat {
        /// The plan.
        path: PathBuf,
        /// The version of the program that made it.
        version: String,
        /// Its format.
        found: u64,
        /// The format that is read.
        expected: u64,
    },
    /// A file under the name of the plan that is none.
    #[error("{}: is not the plan of a template", path.display())]
    NotAPlan {
        /// The file.
        path: PathBuf,
    },
    /// A plan whose data and digest do not belong together.
    #[error("{}: the plan was changed after it was made: another {}", path.display(), differing.join(", "))]
    PlanChanged {
        /// The plan.
        path: PathBuf,
        /// What differs.
        differing: Vec<String>,
    },
    /// A folder of other things.
    #[error("{}: expected a new or empty folder, or that of a template; found {} and no plan", folder.display(), found.display())]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// A file in it.
        found: PathBuf,
    },
    /// An input in the folder of the outputs.
    #[error(
        "{}: an input in {}, where the outputs go; expected inputs in other folders", input.display(), folder.display()
    )]
    InputAmongOutputs {
        /// The input.
        input: PathBuf,
        /// The folder of the template.
        folder: PathBuf,
    },
    /// Another process works in the folder.
    #[error("{}: another process is building this template", folder.display())]
    Busy {
        /// The folder.
        folder: PathBuf,
    },
    /// The lock of the folder cannot be made.
    #[error("{}: could not be made: {source}", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A step whose inputs are not there.
    #[error("{}: not there yet, or made from other files; it comes from the step `{step}`", missing.display())]
    NotYet {
        /// The manifest that is missing.
        missing: PathBuf,
        /// The folder of the template.
        folder: PathBuf,
        /// The step that writes it.
        step: Step,
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
    /// A subject that could not be registered.
    #[error("pass {pass}, subject {subject}: {reason}")]
    Subject {
        /// The pass.
        pass: usize,
        /// The subject.
        subject: String,
        /// Why.
        reason: Box<crate::Error>,
    },
    /// Affine transforms without a mean.
    #[error("the affine transforms have no mean: {0}")]
    Stretch(#[from] StretchError),
    /// A template whose shape cannot be updated.
    #[error("the shape of the template cannot be updated: {0}")]
    Shape(#[from] ShapeError),
    /// Files that differ from the plan or their manifests.
    #[error("{} of {all} files are not as the plan and the manifests say: {}", files.len(), files.join(", "))]
    Unlike {
        /// The files.
        files: Vec<String>,
        /// Files checked.
        all: usize,
    },
    /// A chart or picture could not be drawn.
    #[error("the report could not be drawn: {0}")]
    Drawing(String),
}
