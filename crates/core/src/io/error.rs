//! Errors of files. A message names the file, what was expected and what was found.

use std::path::{Path, PathBuf};

use super::outputs::{NamesPath, OutputError, OutputErrorKind};
use crate::GridError;
use crate::memory::Shortage;

/// The error that a file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {kind}", path.display())]
pub struct Error {
    /// Path of the file.
    pub path: PathBuf,
    /// What is wrong with the file.
    pub kind: ErrorKind,
}

impl Error {
    /// Makes an error of the given kind for the file `path`.
    pub(crate) fn new(path: &Path, kind: impl Into<ErrorKind>) -> Error {
        Error { path: path.to_owned(), kind: kind.into() }
    }
}

/// A field of a header with a valid value that is not supported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the field `{field}` of the header is \"{found}\", expected {expected}")]
pub struct FieldNotServed {
    /// Name of the field.
    pub field: String,
    /// Value of the field.
    pub found: String,
    /// Values that are supported.
    pub expected: &'static str,
}

/// Reasons why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file does not exist.
    #[error("no such file")]
    Missing,
    /// The folder to write into does not exist.
    #[error("the folder of this file does not exist")]
    MissingFolder,
    /// The path cannot be used for an output file.
    #[error("{0}")]
    Output(OutputErrorKind),
    /// The path is that of a folder, a pipe or a device. These have no size, or cannot be read twice.
    #[error("the path leads to {0}, expected a regular file")]
    NotAFile(&'static str),
    /// The file is larger than files of its kind may be.
    #[error("the file has more than {most} bytes, the most that {what} may have")]
    TooLong {
        /// Name of the kind of file that was expected, such as "a table".
        what: &'static str,
        /// Largest allowed size of such a file after decompression, bytes.
        most: u64,
    },
    /// Reading the file needs more memory than is available.
    #[error("{0}")]
    Memory(#[from] Shortage),
    /// The operating system reported an error of reading or writing.
    #[error("{0}")]
    System(std::io::Error),
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// The file ends before all its data.
    #[error(
        "the file is truncated: expected {expected} bytes{}, found {found}",
        if *unpacked { " after decompression" } else { "" }
    )]
    Truncated {
        /// Number of bytes that the file needs according to its header.
        expected: u64,
        /// Number of bytes found in the file.
        found: u64,
        /// Whether the file is compressed, so that the expected and the found number of bytes are counted after
        /// decompression.
        unpacked: bool,
    },
    /// The header announces more bytes than a compressed file of this size can contain.
    #[error("the header announces {announced} bytes, more than a gzip file of {packed} bytes can hold")]
    Announced {
        /// Number of bytes that the file needs according to its header.
        announced: u64,
        /// Size of the compressed file, bytes.
        packed: u64,
    },
    /// A gzip stream is damaged; the message is that of the decompressor.
    #[error("the gzip stream is damaged: {0}")]
    Gzip(std::io::Error),
    /// The file has another format than the expected one.
    #[error("not {expected}: found {found}")]
    Format {
        /// Name of the file format that was expected.
        expected: &'static str,
        /// Description of the format found at the start of the file.
        found: String,
    },
    /// A header that is text has no end.
    #[error("the header has no end: the file stops before the line that ends it")]
    Unended,
    /// A header lacks a field.
    #[error("the header has no field `{0}`")]
    FieldMissing(&'static str),
    /// A field of a header is malformed.
    #[error("the field `{field}` of the header cannot be read: found \"{found}\"")]
    Field {
        /// Name of the field.
        field: Box<str>,
        /// Value of the field, shortened.
        found: Box<str>,
    },
    /// A field of a header has a valid value that is not supported.
    #[error("{0}")]
    FieldNotServed(Box<FieldNotServed>),
    /// The format of the output cannot store this kind of transform.
    #[error("{format} files cannot store {what}; choose another format")]
    NotHeld {
        /// Name of the format.
        format: &'static str,
        /// What cannot be stored.
        what: &'static str,
    },
    /// The format needs the grids of both images.
    #[error("a transform of this format needs the fixed and the moving image")]
    SpacesUnknown,
    /// An image is oblique, and AFNI's programs ignore this when they apply a matrix.
    #[error("an image is oblique: AFNI's programs would apply the matrix as if its axes were those of the world")]
    Oblique,
    /// The format of the output cannot store the image.
    #[error("{format} files cannot store {what}; write NIfTI instead")]
    NotStorable {
        /// Name of the format.
        format: &'static str,
        /// What cannot be stored.
        what: String,
    },
    /// A dimension in the header of an image is impossible, for instance negative.
    #[error("impossible dimensions: dim = {dim:?}, expected dim[0] from 1 to 7 and every used dimension positive")]
    Dimensions {
        /// The field `dim` of the header, as in NIfTI: the number of axes, then the number of elements along each axis.
        dim: Box<[i64; 8]>,
    },
    /// The transform moves points out of the plane of the slices, so it cannot be written as a two-dimensional
    /// transform.
    #[error(
        "the transform moves points out of the plane of the first two axes; a two-dimensional transform of ITK \
         cannot do this"
    )]
    OutOfPlane,
    /// A two-dimensional image whose plane is not that of the first two axes: one of these axes has a single voxel.
    #[error(
        "the image has {shape:?} voxels, expected at least 2 along each of the first two axes: only the third axis of \
         a two-dimensional image has 1 voxel"
    )]
    Flat {
        /// Number of voxels along each axis.
        shape: [usize; 3],
    },
    /// The file holds a series or another array of more than three dimensions where one volume was expected.
    #[error("the file holds {count} volumes (dim = {dim:?}), expected one")]
    SeveralVolumes {
        /// Number of volumes in the file.
        count: u64,
        /// The field `dim` of the header, as in NIfTI: the number of axes, then the number of elements along each axis.
        dim: Box<[i64; 8]>,
    },
    /// The number of volumes is 0, or more than an image can have.
    #[error("the file would have {found} volumes, expected from 1 to 2147483647")]
    Volumes {
        /// Number of volumes that the caller wants to write to the file.
        found: usize,
    },
    /// The file is not a displacement field in the form of ITK.
    #[error("not a displacement field: dim = {dim:?}, expected [5, nx, ny, nz, 1, 3, 1, 1]")]
    NotWarp {
        /// The field `dim` of the header, as in NIfTI: the number of axes, then the number of elements along each axis.
        dim: Box<[i64; 8]>,
    },
    /// The voxels are not single real numbers but, for instance, complex numbers or colours.
    #[error("voxels of type {found}, expected integers or real numbers of up to 64 bits")]
    VoxelType {
        /// Name of the voxel type in the `nifti` crate, or its code in the header.
        found: String,
    },
    /// Some vectors of a displacement field are NaN, infinite, or too large for single precision.
    #[error(
        "{count} numbers of the displacement field are NaN, infinite or beyond single precision, the first at voxel \
         {first:?}"
    )]
    NotFinite {
        /// Number of components of vectors that are not finite.
        count: usize,
        /// Index along each axis of the first voxel with such a component; voxels are searched with the first axis fastest.
        first: [usize; 3],
    },
    /// Some voxels of a label map are not integers of 32 bits.
    #[error(
        "{count} voxels are not whole numbers within 32 bits, the first at {first:?} is {value}; expected labels"
    )]
    NotLabels {
        /// Number of voxels that are not integer labels.
        count: usize,
        /// Index along each axis of the first voxel that is no label; voxels are searched with the first axis fastest.
        first: [usize; 3],
        /// Value of the first voxel that is not an integer label.
        value: f64,
    },
    /// A volume of labels has more distinct values than can be told apart.
    #[error("the file has more than {most} distinct values; expected labels")]
    ManyValues {
        /// Largest number of distinct values.
        most: usize,
    },
    /// A value cannot be stored in the type of the output without a change.
    #[error("the value {value} cannot be stored exactly as {stored}; choose another type for the output")]
    NotExact {
        /// The value.
        value: i128,
        /// Name of the storage type.
        stored: &'static str,
    },
    /// The NIfTI header does not describe a usable grid.
    #[error("{0}")]
    Grid(#[from] GridError),
    /// The three numbers of the qform's quaternion are too large to be part of a rotation.
    #[error("the quaternion of the qform has b² + c² + d² = {0}, expected at most 1")]
    Quaternion(f64),
    /// The file holds a kind of transform that is not supported.
    #[error("transform of type {found}, expected {expected}")]
    TransformType {
        /// Supported kinds.
        expected: &'static str,
        /// Name of the kind of transform that the file contains.
        found: String,
    },
    /// A list of numbers in a file, or the voxels of a volume to be written, has another length than expected.
    #[error("{what}: expected {expected} numbers, found {found}")]
    Count {
        /// Description of the numbers that are counted, for instance "parameters" or "voxels".
        what: &'static str,
        /// Numbers expected.
        expected: usize,
        /// Number found.
        found: usize,
    },
    /// A number of a transform is NaN or infinite.
    #[error("number {index} of the {what} is {value}, expected a finite number")]
    NotFiniteNumber {
        /// Name of the part of the transform that contains the NaN or infinite number, such as "parameters".
        what: &'static str,
        /// Index of the NaN or infinite number within the named part of the transform, counted from 0.
        index: usize,
        /// The number found in the transform file: NaN or infinite.
        value: f64,
    },
    /// A matrix in a file is singular, but its inverse is needed.
    #[error("the matrix is singular")]
    Singular,
    /// The last row of a homogeneous 4×4 matrix is not 0 0 0 1, so the map is not affine.
    #[error("the last row of the matrix is {0:?}, expected 0 0 0 1")]
    LastRow([f64; 4]),
    /// A word in a text file is not a number, or is not expected at this position.
    #[error("line {line}: expected {expected}, found \"{found}\"")]
    Syntax {
        /// Number of the line in the text file, counted from 1.
        line: usize,
        /// Description of the text that was expected on this line.
        expected: &'static str,
        /// The text found on this line.
        found: String,
    },
    /// The file has an extension that belongs to no known format.
    #[error("unknown file extension, expected {0}")]
    Extension(&'static str),
    /// The HDF5 file is damaged or incomplete.
    #[error("{0}")]
    Hdf5(Box<hdf5_reader::error::Error>),
    /// Links in a composite transform that lead nowhere.
    #[error("{dead} of {expected} transforms are links that lead nowhere; expected the transforms in the file")]
    DeadLinks {
        /// Number of links that lead nowhere.
        dead: usize,
        /// Number of all links.
        expected: usize,
    },
    /// The data cannot be stored in an HDF5 file.
    #[error("{0}")]
    Hdf5Written(Box<hdf5_writer::Error>),
    /// A file that should list labels contains no label.
    #[error("the list of labels is empty")]
    NoLabels,
    /// A table has no column of a required name.
    #[error("no column \"{expected}\", found {found:?}")]
    Column {
        /// Name of the column that the table of points lacks.
        expected: &'static str,
        /// Names of the columns that the table of points has.
        found: Vec<String>,
    },
    /// A table has two columns of the same name.
    #[error("two columns are called \"{0}\", expected one")]
    ColumnTwice(String),
    /// A part of a file of points, surfaces or tracts is not as expected.
    #[error("{what}: expected {expected}, found \"{found}\"")]
    Part {
        /// Name of the part.
        what: &'static str,
        /// Description of what is expected there.
        expected: String,
        /// What was found, shortened.
        found: String,
    },
    /// The file does not say how its coordinates lie in the world.
    #[error("the file does not say whether its coordinates are RAS or LPS; give their coordinate system")]
    WorldUnknown,
    /// A coordinate of a point is NaN, infinite or far outside any body.
    #[error("point {number} has the coordinate {value}, expected a number within ±1e9 mm")]
    Coordinate {
        /// Number of the point in the file, counted from 1.
        number: u64,
        /// The coordinate.
        value: f64,
    },
    /// A malformed table.
    #[error("{0}")]
    Table(csv::Error),
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

impl NamesPath for Error {
    fn about(self, path: &Path) -> Error {
        Error { path: path.to_owned(), ..self }
    }
}

impl From<OutputError> for Error {
    fn from(OutputError { path, kind }: OutputError) -> Error {
        Error { path, kind: ErrorKind::Output(kind) }
    }
}

impl From<Error> for OutputError {
    fn from(Error { path, kind }: Error) -> OutputError {
        let kind = match kind {
            ErrorKind::Output(kind) => kind,
            ErrorKind::System(source) => OutputErrorKind::Write(source),
            other => OutputErrorKind::Write(std::io::Error::other(other)),
        };
        OutputError { path, kind }
    }
}

/// Removes the name of the temporary file, which the crate `tempfile` adds to messages. Users know only the final
/// name of the file.
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
        // No user may create a file in the folder `/proc/self`, so an attempt gives an error.
        let error = tempfile::Builder::new().suffix(".part").tempfile_in("/proc/self").unwrap_err();
        assert!(error.to_string().contains(".part"), "the path is what is to be removed: {error}");
        let error = tempfile::Builder::new().suffix(".part").tempfile_in("/sys").unwrap_err();
        let text = ErrorKind::from(error).to_string();
        assert!(!text.contains(".part") && !text.is_empty(), "{text}");
    }
}
