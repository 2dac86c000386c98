//! Errors in a list of subjects.

use std::path::PathBuf;

/// Why a list of subjects cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A subject's number of images, or a number of fixed images or weights, differs from the number of channels.
    #[error("{of}: expected {expected} images or values, one for each channel, found {found}")]
    Channels {
        /// Name of the subject or option that has the wrong number of images or values.
        of: String,
        /// Number of channels.
        expected: usize,
        /// Number of images or values that the subject or option has.
        found: usize,
    },
    /// A table without a required column.
    #[error("{}: there is no column `{column}`; found {found}", path.display())]
    MissingColumn {
        /// Path of the table.
        path: PathBuf,
        /// Name of the column.
        column: String,
        /// Names of the columns that the table has.
        found: String,
    },
    /// A table with an unknown column.
    #[error("{}: unknown column `{column}`, expected {known}", path.display())]
    UnknownColumn {
        /// Path of the table.
        path: PathBuf,
        /// Name of the column.
        column: String,
        /// Names of the columns that the table may have.
        known: String,
    },
    /// A row of a table has an empty cell where a value is required.
    #[error("{}: line {line}: the column `{column}` is empty, expected a value", path.display())]
    EmptyCell {
        /// Path of the table.
        path: PathBuf,
        /// Number of the faulty line of the table, counted from 1.
        line: u64,
        /// Name of the column.
        column: String,
    },
    /// A table or folder without any subject.
    #[error("{}: no subject was found, expected {expected}", path.display())]
    NoneFound {
        /// Path of the table or folder.
        path: PathBuf,
        /// What the table or folder of subjects should contain, for the message.
        expected: String,
    },
    /// An image of a BIDS folder whose subject has no label.
    #[error("{}: the subject `sub-` has no label; name the image `sub-LABEL_…`", path.display())]
    NoLabel {
        /// Path of the image.
        path: PathBuf,
    },
    /// Several subjects were found where one prefix of output names serves only one subject.
    #[error(
        "{prefix}: a prefix can name the output files of only one subject, found {found} subjects; expected a folder"
    )]
    OnePrefix {
        /// The prefix: the start of the names of the output files.
        prefix: String,
        /// Number of subjects found.
        found: usize,
    },
    /// A subject's name that cannot be the start of a file name.
    #[error("the subject of {} is called `{name}`, which cannot begin the name of a file; give another name", image.display())]
    Name {
        /// The refused name of the subject.
        name: String,
        /// Path of the subject's image.
        image: PathBuf,
    },
    /// A subject's name with line ends, escapes or other control characters.
    #[error("the subject of {image:?} is called {name:?}, with control characters; give another name")]
    ControlCharacter {
        /// The refused name of the subject.
        name: String,
        /// Path of the subject's image.
        image: PathBuf,
    },
    /// A subject's name that spreadsheets read as a formula.
    #[error(
        "the subject of {} is called `{name}`; spreadsheets read names that begin with =, +, - or @ as formulas; give another \
         name", image.display()
    )]
    Formula {
        /// The refused name of the subject.
        name: String,
        /// Path of the subject's image.
        image: PathBuf,
    },
    /// Two subjects whose files would have the same names, at least on systems that ignore upper and lower case.
    #[error(
        "two subjects are called {}, with the images {} and {}; their output files would have the same names",
        if names[0] == names[1] { format!("`{}`", names[0]) } else { format!("`{}` and `{}`", names[0], names[1]) },
        images[0].display(), images[1].display()
    )]
    Twice {
        /// Names of the two subjects, which differ at most in upper and lower case.
        names: [String; 2],
        /// The path of one image of each subject.
        images: [PathBuf; 2],
    },
    /// Two columns of a table have the same name.
    #[error("{}: there are two columns `{column}`; rename or remove one of them", path.display())]
    DuplicateColumn {
        /// Path of the table.
        path: PathBuf,
        /// Name of the column.
        column: String,
    },
    /// A row of a table begins with `#`, like a comment.
    #[error(
        "{}: line {line} begins with `#`, expected the names of columns, or a subject; a table cannot have \
         comments: remove the line, or put the name in quotes", path.display()
    )]
    Comment {
        /// Path of the table.
        path: PathBuf,
        /// Number of the faulty line of the table, counted from 1.
        line: u64,
    },
    /// A row whose number of cells differs from the number of columns.
    #[error("{}: line {line}: expected {expected} cells, one for each column, found {found}", path.display())]
    Cells {
        /// Path of the table.
        path: PathBuf,
        /// Number of the faulty line of the table, counted from 1.
        line: u64,
        /// Number of columns of the table.
        expected: usize,
        /// Number of cells of the faulty row.
        found: usize,
    },
    /// A malformed table.
    #[error("{}: {source}", path.display())]
    Table {
        /// Path of the table.
        path: PathBuf,
        /// The error of the CSV library. Its text can contain the number of the line in the table.
        source: csv::Error,
    },
    /// The path of a table names a pipe or a device instead of a file.
    #[error("{}: is a pipe or a device, expected a file", path.display())]
    NotAFile {
        /// Path given for a table, which names a pipe or a device.
        path: PathBuf,
    },
    /// A file that is larger than the largest allowed table.
    #[error(
        "{}: the file has {found} bytes, expected a table of at most {largest} bytes; is it the right file?",
        path.display()
    )]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// Largest allowed size of a table, bytes.
        largest: u64,
        /// Size of the file, bytes.
        found: u64,
    },
    /// A table or folder that cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// Path of the table or folder.
        path: PathBuf,
        /// The error of the file system.
        source: std::io::Error,
    },
}
