//! What can be wrong with a file: which one, what was expected, what was found.

use std::path::{Path, PathBuf};

use crate::GridError;
use crate::memory::Shortage;

/// A file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {kind}", path.display())]
pub struct Error {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub kind: ErrorKind,
}

impl Error {
    /// `kind`, said of `path`.
    pub(crate) fn new(path: &Path, kind: impl Into<ErrorKind>) -> Error {
        Error { path: path.to_owned(), kind: kind.into() }
    }
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is nothing under that name.
    #[error("no such file")]
    Missing,
    /// The folder to write into does not exist.
    #[error("its folder does not exist")]
    MissingFolder,
    /// The name cannot be that of an output.
    #[error("{0}")]
    Output(super::outputs::OutputErrorKind),
    /// A folder, a pipe or a device: it has no size, and cannot be read twice.
    #[error("is {0}, expected a regular file")]
    NotAFile(&'static str),
    /// More than a file of this kind can need.
    #[error("holds more than {most} bytes, the most that {what} may have")]
    TooLong {
        /// What the file should be.
        what: &'static str,
        /// Bytes that it may have, unpacked.
        most: u64,
    },
    /// Reading it takes more memory than there is.
    #[error("{0}")]
    Memory(#[from] Shortage),
    /// The system refused.
    #[error("{0}")]
    System(std::io::Error),
    /// Zero bytes.
    #[error("the file is empty")]
    Empty,
    /// The file ends too early.
    #[error("truncated: expected {expected} bytes{}, found {found}", if *unpacked { " once unpacked" } else { "" })]
    Truncated {
        /// Bytes that the header announces.
        expected: u64,
        /// Bytes there are.
        found: u64,
        /// Whether both counts are of the decompressed file.
        unpacked: bool,
    },
    /// The header announces more than the file can hold, however well it is packed.
    #[error("the header announces {announced} bytes, more than a gzip file of {packed} bytes can hold")]
    Announced {
        /// Bytes that the header announces.
        announced: u64,
        /// Size of the file.
        packed: u64,
    },
    /// A gzip stream is damaged.
    #[error("the gzip stream is damaged: {0}")]
    Gzip(std::io::Error),
    /// Not the format it should be.
    #[error("not {expected}: found {found}")]
    Format {
        /// What the file should be.
        expected: &'static str,
        /// What it starts with or says instead.
        found: String,
    },
    /// A NIfTI header of a kind that is not read.
    #[error("{0} is not supported, expected NIfTI-1")]
    Unsupported(&'static str),
    /// Dimensions that no volume can have.
    #[error("impossible dimensions: dim = {dim:?}, expected dim[0] from 1 to 7 and every used dimension positive")]
    Dimensions {
        /// `dim` of the header.
        dim: [i16; 8],
    },
    /// A map of the world that is none of its first two axes.
    #[error(
        "the transform moves points out of the plane of the first two axes, which ITK's two-dimensional one cannot"
    )]
    OutOfPlane,
    /// A flat image whose plane is not that of the first two axes.
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
        /// How many volumes.
        count: u64,
        /// `dim` of the header.
        dim: [i16; 8],
    },
    /// A series that the format does not hold.
    #[error("{found} volumes, expected from 1 to 32767")]
    Volumes {
        /// How many.
        found: usize,
    },
    /// Not a vector image as ITK writes displacement fields.
    #[error("not a displacement field: dim = {dim:?}, expected [5, nx, ny, nz, 1, 3, 1, 1]")]
    NotWarp {
        /// `dim` of the header.
        dim: [i16; 8],
    },
    /// Voxels that are not one real number each.
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
        /// How many.
        count: usize,
        /// Index of the first, first axis fastest.
        first: [usize; 3],
    },
    /// Values that are no labels.
    #[error(
        "{count} voxels are not whole numbers within 32 bits, the first at {first:?} is {value}; expected labels"
    )]
    NotLabels {
        /// How many.
        count: usize,
        /// Index of the first, first axis fastest.
        first: [usize; 3],
        /// Its value.
        value: f64,
    },
    /// The header does not describe a usable grid.
    #[error("{0}")]
    Grid(#[from] GridError),
    /// A quaternion that is no rotation.
    #[error("the qform's b, c and d have a squared length of {0}, expected at most 1")]
    Quaternion(f64),
    /// A transform of a kind that is not read.
    #[error("transform of type {found}, expected {expected}")]
    TransformType {
        /// What can be read.
        expected: &'static str,
        /// What the file says.
        found: String,
    },
    /// A wrong count of numbers.
    #[error("{what}: expected {expected} numbers, found {found}")]
    Count {
        /// Of what.
        what: &'static str,
        /// Numbers expected.
        expected: usize,
        /// Numbers there are.
        found: usize,
    },
    /// A transform with a NaN or infinite number.
    #[error("number {index} of the {what} is {value}, expected a finite number")]
    NotFiniteNumber {
        /// Of what.
        what: &'static str,
        /// Which, from 0.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// An affine that cannot be inverted where its inverse is needed.
    #[error("the matrix is singular")]
    Singular,
    /// A homogeneous matrix that does more than an affine map.
    #[error("the last row of the matrix is {0:?}, expected 0 0 0 1")]
    LastRow([f64; 4]),
    /// Text that is no number or has no place there.
    #[error("line {line}: expected {expected}, found \"{found}\"")]
    Syntax {
        /// Counted from 1.
        line: usize,
        /// What should stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A file name that does not say a known format.
    #[error("unknown file extension, expected {0}")]
    Extension(&'static str),
    /// An HDF5 file that is damaged or lacks a part.
    #[error("{0}")]
    Hdf5(Box<hdf5_reader::error::Error>),
    /// What HDF5 cannot hold.
    #[error("{0}")]
    Hdf5Written(Box<hdf5_writer::Error>),
    /// A list of labels without any.
    #[error("the list of labels is empty")]
    NoLabels,
    /// A table without a column it must have.
    #[error("no column \"{expected}\", found {found:?}")]
    Column {
        /// Name of the column.
        expected: &'static str,
        /// The columns there are.
        found: Vec<String>,
    },
    /// A table with two columns of one name, of which only one can count.
    #[error("two columns are called \"{0}\", expected one")]
    ColumnTwice(String),
    /// A table that is not well formed.
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

/// The error without the name of a temporary file, which `tempfile` adds: the user knows the file by another name.
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
        // No file can be made there, whoever asks.
        let error = tempfile::Builder::new().suffix(".part").tempfile_in("/proc/self").unwrap_err();
        assert!(error.to_string().contains(".part"), "the path is what is to be removed: {error}");
        let error = tempfile::Builder::new().suffix(".part").tempfile_in("/sys").unwrap_err();
        let text = ErrorKind::from(error).to_string();
        assert!(!text.contains(".part") && !text.is_empty(), "{text}");
    }
}
