//! Errors in a list of subjects.

use std::path::PathBuf;

/// Why a list of subjects cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A subject's number of images, or a number of fixed images or weights, differs from the number of channels.
    #[error("{of}: expected {expected} of them, one a channel, found {found}")]
    Channels {
        /// The subject or option.
        of: String,
        /// Number of channels.
        expected: usize,
        /// Number given.
        found: usize,
    },
    /// A table without a required column.
    #[error("{}: there is no column `{column}`; found {found}", path.display())]
    MissingColumn {
        /// The table.
        path: PathBuf,
        /// The column.
        column: String,
        /// The columns found.
        found: String,
    },
    /// A table with an unknown column.
    #[error("{}: unknown column `{column}`, expected {known}", path.display())]
    UnknownColumn {
        /// The table.
        path: PathBuf,
        /// The column.
        column: String,
        /// The known columns.
        known: String,
    },
    /// An empty cell where a value is required.
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
        /// What was expected.
        expected: String,
    },
    /// Several subjects for names that begin the same.
    #[error("{prefix}: names for one subject, found {found} subjects; expected a folder for them")]
    OnePrefix {
        /// The start of the names.
        prefix: String,
        /// Subjects.
        found: usize,
    },
    /// A name that cannot be the start of a file name.
    #[error("the subject of {} is called `{name}`, and names of files begin so; give another name", image.display())]
    Name {
        /// The name.
        name: String,
        /// The subject's image.
        image: PathBuf,
    },
    /// A name with line ends, escapes or other control characters.
    #[error("the subject of {image:?} is called {name:?}, with control characters; give another name")]
    ControlCharacter {
        /// The name.
        name: String,
        /// The subject's image.
        image: PathBuf,
    },
    /// A name that spreadsheets read as a formula.
    #[error(
        "the subject of {} is called `{name}`; spreadsheets take what begins with =, +, - or @ for a formula; give another \
         name", image.display()
    )]
    Formula {
        /// The name.
        name: String,
        /// The subject's image.
        image: PathBuf,
    },
    /// Two subjects whose files would have the same names, at least on systems that ignore upper and lower case.
    #[error(
        "two subjects are called {}, {} and {}; their files would have the same names",
        if names[0] == names[1] { format!("`{}`", names[0]) } else { format!("`{}` and `{}`", names[0], names[1]) },
        images[0].display(), images[1].display()
    )]
    Twice {
        /// Both names.
        names: [String; 2],
        /// An image of each.
        images: [PathBuf; 2],
    },
    /// A table with two columns of the same name.
    #[error("{}: there are two columns `{column}`; rename or remove one", path.display())]
    DuplicateColumn {
        /// The table.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A row that looks like a comment.
    #[error(
        "{}: line {line} begins with `#`, expected names of columns or a subject: a table has no comments; remove the line, \
         or quote a name that begins so", path.display()
    )]
    Comment {
        /// The table.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
    },
    /// A row whose number of cells differs from the number of columns.
    #[error("{}: line {line}: expected {expected} cells, one a column, found {found}", path.display())]
    Cells {
        /// The table.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// Columns.
        expected: usize,
        /// Cells.
        found: usize,
    },
    /// A malformed table.
    #[error("{}: {source}", path.display())]
    Table {
        /// The table.
        path: PathBuf,
        /// Why, and in which line.
        source: csv::Error,
    },
    /// A pipe or a device instead of a file.
    #[error("{}: is a pipe or a device, expected a file", path.display())]
    NotAFile {
        /// The name.
        path: PathBuf,
    },
    /// A file too large for a table.
    #[error("{}: {found} bytes, expected a table of at most {largest}; is it the right file?", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Most bytes allowed.
        largest: u64,
        /// Size of the file.
        found: u64,
    },
    /// A table or folder that cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The table or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}
