//! Errors of files: the file, what was expected, what was found.

use std::path::{Path, PathBuf};

use crate::GridError;
use crate::memory::Shortage;

/// A file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {kind}", path.display())]
pub struct Error {
    /// Path of the file.
    pub path: PathBuf,
    /// What is wrong with the file.
    pub kind: ErrorKind,
}

impl Error {
    /// Makes the error of this kind for the file `path`.
    pub(crate) fn new(path: &Path, kind: impl Into<ErrorKind>) -> Error {
        Error { path: path.to_owned(), kind: kind.into() }
    }
}

/// The problem with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file does not exist.
    #[error("no such file")]
    Missing,
    /// The folder to write into does not exist.
    #[error("its folder does not exist")]
    MissingFolder,
    /// The name cannot be used for an output.
    #[error("{0}")]
    Output(super::outputs::OutputErrorKind),
    /// The path is that of a folder, a pipe or a device. These have no size, or cannot be read twice.
    #[error("is {0}, expected a regular file")]
    NotAFile(&'static str),
    /// The file is larger than a file of its kind can be.
    #[error("holds more than {most} bytes, the most that {what} may have")]
    TooLong {
        /// Name of the expected kind of file.
        what: &'static str,
        /// Largest allowed size after decompression, bytes.
        most: u64,
    },
    /// Reading the file needs more memory than is available.
    #[error("{0}")]
    Memory(#[from] Shortage),
    /// The operating system reported an error.
    #[error("{0}")]
    System(std::io::Error),
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// The file ends too early.
    #[error("truncated: expected {expected} bytes{}, found {found}", if *unpacked { " once unpacked" } else { "" })]
    Truncated {
        /// Number of bytes according to the header.
        expected: u64,
        /// Number of bytes found.
        found: u64,
        /// Whether both counts are of the decompressed file.
        unpacked: bool,
    },
    /// The header announces more bytes than a compressed file of this size can contain.
    #[error("the header announces {announced} bytes, more than a gzip file of {packed} bytes can hold")]
    Announced {
        /// Number of bytes according to the header.
        announced: u64,
        /// Size of the compressed file, bytes.
        packed: u64,
    },
    /// A gzip stream is damaged.
    #[error("the gzip stream is damaged: {0}")]
    Gzip(std::io::Error),
    /// The file has another format.
    #[error("not {expected}: found {found}")]
    Format {
        /// Name of the expected format.
        expected: &'static str,
        /// Description of the format found at the start of the file.
        found: String,
    },
    /// A kind of NIfTI header that is not supported.
    #[error("{0} is not supported, expected NIfTI-1")]
    Unsupported(&'static str),
    /// A dimension in the NIfTI header is impossible, for instance negative.
    #[error("impossible dimensions: dim = {dim:?}, expected dim[0] from 1 to 7 and every used dimension positive")]
    Dimensions {
        /// The field `dim` of the header.
        dim: [i16; 8],
    },
    /// A map that cannot be written as a two-dimensional transform.
    #[error(
        "the transform moves points out of the plane of the first two axes, which ITK's two-dimensional one cannot"
    )]
    OutOfPlane,
    /// A two-dimensional image in another plane than that of the first two axes.
    #[error(
        "{shape:?} voxels, expected at least 2 along each of the first two axes: a two-dimensional image is 1 deep"
    )]
    Flat {
        /// Voxels along each axis.
        shape: [usize; 3],
    },
    /// A series, or another array of more than three dimensions.
    #[error("the file holds {count} volumes (dim = {dim:?}), expected one")]
    SeveralVolumes {
        /// Number of volumes.
        count: u64,
        /// The field `dim` of the header.
        dim: [i16; 8],
    },
    /// The number of volumes cannot be stored in this format.
    #[error("{found} volumes, expected from 1 to 32767")]
    Volumes {
        /// Number of volumes.
        found: usize,
    },
    /// The file is no displacement field in ITK's form.
    #[error("not a displacement field: dim = {dim:?}, expected [5, nx, ny, nz, 1, 3, 1, 1]")]
    NotWarp {
        /// The field `dim` of the header.
        dim: [i16; 8],
    },
    /// Voxels of a type that is not a single real number, such as complex numbers or colours.
    #[error("voxels of type {found}, expected integers or real numbers of up to 64 bits")]
    VoxelType {
        /// NIfTI's name of the type, or its code.
        found: String,
    },
    /// NaN or infinite voxels.
    #[error(
        "{count} voxels are NaN, infinite or beyond single precision, the first at {first:?}; set them to numbers \
         first (`fslmaths IN -nan OUT` makes zeros of NaN)"
    )]
    NotFinite {
        /// Number of voxels that are not finite.
        count: usize,
        /// Index along each axis of the first voxel that is not finite; voxels are searched with the first axis fastest.
        first: [usize; 3],
    },
    /// Values that are not integer labels.
    #[error(
        "{count} voxels are not whole numbers within 32 bits, the first at {first:?} is {value}; expected labels"
    )]
    NotLabels {
        /// Number of voxels that are not integer labels.
        count: usize,
        /// Index along each axis of the first voxel that is no label; voxels are searched with the first axis fastest.
        first: [usize; 3],
        /// Value of the first voxel that is no label.
        value: f64,
    },
    /// The header does not describe a usable grid.
    #[error("{0}")]
    Grid(#[from] GridError),
    /// A quaternion that is not a rotation.
    #[error("the qform's b, c and d have a squared length of {0}, expected at most 1")]
    Quaternion(f64),
    /// A kind of transform that is not supported.
    #[error("transform of type {found}, expected {expected}")]
    TransformType {
        /// Supported kinds.
        expected: &'static str,
        /// The kind of transform found.
        found: String,
    },
    /// The number of values differs from the expected number.
    #[error("{what}: expected {expected} numbers, found {found}")]
    Count {
        /// Name of the values.
        what: &'static str,
        /// Numbers expected.
        expected: usize,
        /// Number found.
        found: usize,
    },
    /// A transform with a NaN or infinite number.
    #[error("number {index} of the {what} is {value}, expected a finite number")]
    NotFiniteNumber {
        /// Name of the part of the transform that contains the number.
        what: &'static str,
        /// Index of the number, from 0.
        index: usize,
        /// Value of the number: NaN or infinite.
        value: f64,
    },
    /// An affine matrix is singular, but its inverse is needed.
    #[error("the matrix is singular")]
    Singular,
    /// A homogeneous matrix that is not affine.
    #[error("the last row of the matrix is {0:?}, expected 0 0 0 1")]
    LastRow([f64; 4]),
    /// A word in a text file is not a number, or is not expected at this position.
    #[error("line {line}: expected {expected}, found \"{found}\"")]
    Syntax {
        /// Line, counted from 1.
        line: usize,
        /// Description of the text expected on this line.
        expected: &'static str,
        /// The text found on this line.
        found: String,
    },
    /// A file extension of no known format.
    #[error("unknown file extension, expected {0}")]
    Extension(&'static str),
    /// An HDF5 file that is damaged or incomplete.
    #[error("{0}")]
    Hdf5(Box<hdf5_reader::error::Error>),
    /// Data that HDF5 cannot store.
    #[error("{0}")]
    Hdf5Written(Box<hdf5_writer::Error>),
    /// A list of labels without labels.
    #[error("the list of labels is empty")]
    NoLabels,
    /// A table without a required column.
    #[error("no column \"{expected}\", found {found:?}")]
    Column {
        /// Name of the column.
        expected: &'static str,
        /// The columns found.
        found: Vec<String>,
    },
    /// A table with two columns of the same name.
    #[error("two columns are called \"{0}\", expected one")]
    ColumnTwice(String),
    /// A malformed table.
    #[error("{0}")]
    Table(csv::Error),
    /// A volume too large for the format.
    #[error("{shape:?} voxels do not fit into NIfTI-1, whose axes have at most 32767")]
    TooLarge {
        /// Voxels along each axis.
        shape: [usize; 3],
    },
}

impl From<std::io::Error> for ErrorKind {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::Missing,
            _ => ErrorKind::System(without_path(error)),
        }
    }
}

impl From<hdf5_writer::Error> for ErrorKind {
    fn from(error: hdf5_writer::Error) -> Self {
        ErrorKind::Hdf5Written(Box::new(error))
    }
}

impl From<hdf5_reader::error::Error> for ErrorKind {
    fn from(error: hdf5_reader::error::Error) -> Self {
        ErrorKind::Hdf5(Box::new(error))
    }
}

/// Removes the name of the temporary file, which `tempfile` adds, from an error. The user knows only the final name
/// of the file.
fn without_path(error: std::io::Error) -> std::io::Error {
    let text = error.get_ref().map(ToString::to_string).unwrap_or_default();
    match text.split_once(" at path \"") {
        Some((reason, _)) => std::io::Error::new(error.kind(), reason),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_file_is_not_named() {
        // No user can create a file in this folder.
        let error = tempfile::Builder::new().suffix(".part").tempfile_in("/proc/self").unwrap_err();
        assert!(error.to_string().contains(".part"), "the path is what is to be removed: {error}");
        let error = tempfile::Builder::new().suffix(".part").tempfile_in("/sys").unwrap_err();
        let text = ErrorKind::from(error).to_string();
        assert!(!text.contains(".part") && !text.is_empty(), "{text}");
    }
}
