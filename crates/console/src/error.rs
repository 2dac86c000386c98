//! Errors of commands, and their exit codes. `advice.rs` adds to the messages what the user can do.

pub mod advice;
mod refusal;
mod usage;

use std::path::{Path, PathBuf};

use antsreg_core::chain::ChainError;
use antsreg_core::io;
use antsreg_core::io::outputs::{NamesPath, OutputError, OutputErrorKind};
use antsreg_register as register;
use antsreg_study as study;
use antsreg_study::labels::AtlasesError;

pub use refusal::Refusal;
pub use usage::UsageError;

/// An error that ends a command.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Options that cannot be combined.
    #[error("{0}")]
    Usage(#[from] UsageError),
    /// A part of a command line of ANTs or FSL that this program does not support.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A command of ANTs, FSL or c3d that this program runs in place of the original failed.
    #[error("{command}: {source}")]
    Foreign {
        /// Name of the command.
        command: &'static str,
        /// The error that ended the command.
        source: Box<CliError>,
    },
    /// The threads could not be started.
    #[error("the threads could not be started: {0}; try a smaller --threads")]
    Threads(#[source] rayon::ThreadPoolBuildError),
    /// The stack of the process is too small.
    #[error("the stack is limited to {} kB (ulimit -s), expected at least {} kB", bytes >> 10, least >> 10)]
    Stack {
        /// The limit, bytes.
        bytes: u64,
        /// The smallest limit with which the program starts, bytes.
        least: u64,
    },
    /// A file of images or transforms could not be read or written.
    #[error(transparent)]
    File(#[from] io::Error),
    /// A file could not be written.
    #[error("{}: could not be written: {source}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The error of the file system.
        source: std::io::Error,
    },
    /// Standard output was closed or is full.
    #[error("standard output: {0}")]
    Stdout(#[source] std::io::Error),
    /// An output file cannot be written, for example because its folder does not exist.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The name of an output file has no known extension.
    #[error("{}: unknown file extension, expected {expected}", path.display())]
    OutputExtension {
        /// Name of the output file.
        path: PathBuf,
        /// Extensions that the name of this output file can have.
        expected: &'static str,
    },
    /// The file given as the log of messages exists, but it is not a log of this program.
    #[error("{}: the file exists and is no log of this program; give another name for the log", path.display())]
    NotALog {
        /// Path of the file.
        path: PathBuf,
    },
    /// A voxel value does not fit into an integer type.
    #[error("{}: the voxel value {value:e} does not fit into a 32-bit integer; leave --integer out", path.display())]
    NoInteger {
        /// Path of the image.
        path: PathBuf,
        /// The voxel value of the image that does not fit into a 32-bit integer.
        value: f32,
    },
    /// The given transforms cannot form a chain.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// Two volumes lie on different grids.
    #[error(transparent)]
    Grid(#[from] antsreg_core::GridMismatch),
    /// The logarithm of the Jacobian determinant was requested, and some determinants are not positive.
    #[error(
        "{}: folds in {folded} voxels, where the Jacobian determinant has no logarithm; leave --logarithm out",
        path.display()
    )]
    Folded {
        /// Path of the file with the warp.
        path: PathBuf,
        /// Number of voxels at which the Jacobian determinant of the warp is not positive (folds).
        folded: usize,
    },
    /// Landmarks of two tables cannot be compared.
    #[error("{} and {}: {why}", paths[0].display(), paths[1].display())]
    Landmarks {
        /// Files of the landmarks of the fixed and of the moving image.
        paths: [PathBuf; 2],
        /// Why they cannot be compared.
        why: antsreg_core::landmarks::LandmarkError,
    },
    /// A study (registrations of many subjects) cannot use its files, or cannot continue.
    #[error("{source}{advice}", advice = advice::of_study(.source))]
    Study {
        /// The error in the files or in the course of the study (the registrations of many subjects).
        source: Box<study::Error>,
    },
    /// A registration was refused or failed.
    #[error("{source}{advice}", advice = advice::of_register(.source))]
    Register {
        /// The error of the registration library: why the registration was refused or failed.
        source: Box<register::Error>,
    },
    /// The computer has too little free main memory.
    #[error("{what} {shortage}")]
    Memory {
        /// Beginning of the error message: the file, and the computation that needs the memory.
        what: String,
        /// The main memory that the computation needs, and the main memory that is available.
        shortage: antsreg_core::memory::Shortage,
    },
    /// Some subjects failed; the results of the other subjects were written.
    #[error("{} of {of} subjects failed: {}; {}", failed.len(), first(failed, ", "), reasons(summary.as_deref()))]
    SomeFailed {
        /// Names of the subjects that failed.
        failed: Vec<String>,
        /// Number of all subjects of the command, including those that succeeded.
        of: usize,
        /// Path of the table that lists the result or the error of every subject; `None` if no such table was written.
        summary: Option<PathBuf>,
    },
    /// A template was made without some of its subjects.
    #[error("{} of {all} subjects were left out of the template: {}", subjects.len(), first(subjects, "; "))]
    LeftOut {
        /// Names of the subjects that are not part of the template, each with the reason.
        subjects: Vec<String>,
        /// Number of all subjects that were given for the template.
        all: usize,
    },
    /// Some atlases failed; the labels come from the other atlases.
    #[error("{failed} of the {of} atlases could not be used; the labels come from the other atlases")]
    AtlasesLeftOut {
        /// Number of atlases that failed.
        failed: usize,
        /// Number of all atlases (images with label maps) that were given.
        of: usize,
    },
    /// Some volumes of a series could not be aligned; the other volumes are corrected.
    #[error("{count} of {of} volumes could not be aligned; the other volumes are corrected")]
    VolumesLeftOut {
        /// Number of volumes that could not be aligned.
        count: usize,
        /// Number of volumes of the series.
        of: usize,
    },
    /// The verdict on results is `wrong`; their files were written.
    #[error("{} probably wrong: {}; the files were written", if results.len() == 1 { "a result is" } else { "results are" }, first(results, ", "))]
    Wrong {
        /// Names of the results.
        results: Vec<String>,
    },
    /// Some pairs of atlases could not be registered to each other. The overlaps of labels were computed without these
    /// pairs.
    #[error(
        "some pairs of atlases could not be registered to each other; the overlaps of labels were computed without \
         these pairs"
    )]
    NotEveryPair,
}

/// Joins the first names and the number of further names, because a line with thousands of names is not readable.
fn first(names: &[String], separator: &str) -> String {
    const SHOWN: usize = 10;
    let shown = names[..names.len().min(SHOWN)].join(separator);
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}{separator}and {more} more"),
    }
}

impl From<study::Error> for CliError {
    fn from(error: study::Error) -> CliError {
        match error {
            study::Error::Register(source) => source.into(),
            study::Error::Pool(antsreg_pool::Error::Register(source)) => source.into(),
            study::Error::File(error) => CliError::File(error),
            study::Error::Output(error) => CliError::Output(error),
            study::Error::NoKernels { why } => UsageError::no_kernels(why.as_ref()).into(),
            source => CliError::Study { source: Box::new(source) },
        }
    }
}

impl From<register::Error> for CliError {
    fn from(source: register::Error) -> CliError {
        CliError::Register { source: Box::new(source) }
    }
}

impl From<register::RecipeError> for CliError {
    fn from(error: register::RecipeError) -> CliError {
        study::Error::from(error).into()
    }
}

impl From<study::subjects::Error> for CliError {
    fn from(error: study::subjects::Error) -> CliError {
        study::Error::from(error).into()
    }
}

impl From<antsreg_pool::Error> for CliError {
    fn from(error: antsreg_pool::Error) -> CliError {
        study::Error::from(error).into()
    }
}

impl CliError {
    /// The exit code: 2 for a command line that was not understood, 3 if some of many subjects failed, 4 if a result is
    /// wrong by its verdict, 1 for every other error.
    pub fn exit_code(&self) -> u8 {
        match self {
            CliError::Usage(_) => 2,
            CliError::Refused(_) => Refusal::EXIT_CODE,
            CliError::Foreign { source, .. } => source.exit_code(),
            CliError::Study { source } => of_study(source),
            CliError::Register { source } => match **source {
                register::Error::Shrink { .. } | register::Error::Window(_) => 2,
                _ => 1,
            },
            CliError::Output(OutputError {
                kind: OutputErrorKind::IsInput | OutputErrorKind::IsOtherOutput, ..
            }) => 2,
            CliError::SomeFailed { failed, of, .. } if failed.len() == *of => 1,
            CliError::SomeFailed { .. }
            | CliError::LeftOut { .. }
            | CliError::VolumesLeftOut { .. }
            | CliError::AtlasesLeftOut { .. }
            | CliError::NotEveryPair => 3,
            CliError::Wrong { .. } => 4,
            _ => 1,
        }
    }
}

/// The part of an error message that says where the reasons for the failures of subjects are listed.
fn reasons(summary: Option<&Path>) -> String {
    summary
        .map_or("the reasons are listed above".into(), |summary| format!("the reasons are in {}", summary.display()))
}

/// The exit code for an error of files or of a study: 2 if the command line is wrong, else 1.
fn of_study(error: &study::Error) -> u8 {
    match error {
        study::Error::Recipe(_)
        | study::Error::Subjects(
            study::subjects::Error::Channels { .. } | study::subjects::Error::OnePrefix { .. },
        ) => 2,
        study::Error::Atlases(AtlasesError::Twice { .. } | AtlasesError::TooFew { .. }) => 2,
        study::Error::NotOwn { .. } => 2,
        study::Error::Template(error) => of_template(error),
        _ => 1,
    }
}

/// The exit code for an error in building a template image from many subjects: 2 if the command line is wrong, else 1.
fn of_template(error: &study::template::Error) -> u8 {
    use study::template::Error::*;
    match error {
        TooFew { .. } | TooFewToTrim { .. } | BadName { .. } | SameName { .. } | NoSubject { .. } => 2,
        Count { .. } | Range { .. } | Model { .. } | TooLarge { .. } | NoPass { .. } => 2,
        Changed { .. } | PlanFormat { .. } | NotAPlan { .. } | PlanChanged { .. } => 2,
        Foreign { .. } | InputAmongOutputs { .. } => 2,
        _ => 1,
    }
}

impl NamesPath for CliError {
    fn about(self, path: &Path) -> CliError {
        match self {
            CliError::File(error) => CliError::File(error.about(path)),
            CliError::Output(error) => CliError::Output(error.about(path)),
            CliError::Write { source, .. } => CliError::Write { path: path.into(), source },
            CliError::Study { source } => CliError::Study { source: Box::new(source.about(path)) },
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_thousands_that_fail_the_first_are_named() {
        let message = |failed: usize| {
            let failed = (0..failed).map(|n| format!("s{n}")).collect();
            CliError::SomeFailed { failed, of: 20_000, summary: Some("summary.csv".into()) }.to_string()
        };
        assert_eq!(message(2), "2 of 20000 subjects failed: s0, s1; the reasons are in summary.csv");
        assert!(message(10).contains("s8, s9; the reasons"), "{}", message(10));
        assert!(message(10_000).contains("s8, s9, and 9990 more; the reasons"), "{}", message(10_000));
    }
}
