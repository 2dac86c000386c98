//! What can be wrong with a list of subjects.

use std::path::PathBuf;

/// Many subjects that cannot be told from what was given.
#[derive(Debug, thiserror::Error)]
pub enum SubjectsError {
    /// A subject with more or fewer images than there are channels; or as many fixed images, or weights.
    #[error("{of}: expected {expected} of them, one a channel, found {found}")]
    Channels {
        /// Whose they are.
        of: String,
        /// How many channels there are.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// A table without a column that is needed.
    #[error("{}: there is no column `{column}`; found {found}", path.display())]
    MissingColumn {
        /// The table.
        path: PathBuf,
        /// The column.
        column: String,
        /// The columns there are.
        found: String,
    },
    /// A table with a column that means nothing.
    #[error("{}: unknown column `{column}`, expected {known}", path.display())]
    UnknownColumn {
        /// The table.
        path: PathBuf,
        /// The column.
        column: String,
        /// Columns that would do.
        known: String,
    },
    /// A cell that must not be empty.
    #[error("{}: line {line} has nothing in the column `{column}`", path.display())]
    EmptyCell {
        /// The table.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The column.
        column: String,
    },
    /// A table or folder without any subject.
    #[error("{}: no subject was found, expected {expected}", path.display())]
    NoneFound {
        /// The table or folder.
        path: PathBuf,
        /// What would do.
        expected: String,
    },
    /// A name that no file can begin with.
    #[error("the subject of {} is called `{name}`, and names of files begin so; give another name", image.display())]
    Name {
        /// The name.
        name: String,
        /// The subject's image.
        image: PathBuf,
    },
    /// Two subjects whose files would have the same names.
    #[error("two subjects are called `{name}`, {} and {}; their files would have the same names", first.display(), second.display())]
    Twice {
        /// The name.
        name: String,
        /// The image of one.
        first: PathBuf,
        /// The image of the other.
        second: PathBuf,
    },
}
