//! File formats of images: what their headers say, where their voxels are, and the bytes of their headers. One module
//! for each format. The format of a file is recognised by its content; that of a new file is chosen by its name.

pub(super) mod header;
mod meta;
mod mgh;
mod name;
mod nifti;
mod nrrd;
mod open;
pub(super) mod text;

use std::path::Path;

use ::nifti::NiftiType;

use super::ErrorKind;
use super::source::Packing;
use header::Header;

pub use name::{ImageFormat, companion};
pub(super) use open::{Opened, open};

/// Largest length of a header that is text, bytes.
const LONGEST_TEXT: u64 = 1 << 18;

/// What the bytes of a header say.
struct Parsed {
    header: Header,
    place: Place,
}

/// The place of an image's voxels.
struct Place {
    file: File,
    start: Start,
    packing: Packing,
    /// Number of components of each voxel, if these are stored together. Otherwise all voxels of the first component
    /// come first, then all of the second, and so on.
    together: Option<u64>,
}

/// The file with the voxels.
enum File {
    /// The file of the header.
    Same,
    /// The file that belongs to the header of a `.hdr` and `.img` pair.
    Pair,
    /// The file of this name in the folder of the header.
    Named(String),
}

/// Position of the first voxel in its file.
enum Start {
    /// So many bytes after the start.
    At(u64),
    /// The voxels are the last bytes of the file.
    AtEnd,
}

impl Place {
    fn here(start: u64) -> Place {
        Place { file: File::Same, start: Start::At(start), packing: Packing::None, together: None }
    }

    fn pair(start: u64) -> Place {
        Place { file: File::Pair, ..Place::here(start) }
    }
}

/// Whether a file with these first bytes is an image.
pub(super) fn is_image(bytes: &[u8]) -> bool {
    nifti::length(bytes).is_some()
        || bytes.starts_with(&mgh::VERSION)
        || bytes.starts_with(nrrd::MAGIC)
        || meta::starts_like(bytes)
}

/// The bytes of a new file besides its voxels, and how these are stored.
pub(super) struct Layout {
    /// The header.
    pub head: Vec<u8>,
    /// What follows the voxels.
    pub tail: Vec<u8>,
    pub container: Container,
    pub big_endian: bool,
    /// Whether the components of a voxel are stored together.
    pub together: bool,
}

/// How the header and the voxels of a new file are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    /// One file without compression.
    Plain,
    /// One file, compressed as a whole by gzip.
    Gzip,
    /// The header as text, then the voxels compressed by gzip.
    GzipVoxels,
    /// The voxels in another file, compressed by gzip or not.
    Apart { gzipped: bool },
}

/// Makes the header of a new file. Its format is that of the name `path`.
pub(super) fn layout(path: &Path, header: &Header, datatype: NiftiType) -> Result<Layout, ErrorKind> {
    let format = ImageFormat::of(path).ok_or(ErrorKind::Extension(ImageFormat::NAMES))?;
    let plain = |head, container| Layout { head, tail: Vec::new(), container, big_endian: false, together: false };
    let voxels = |extension: &str| name::with_extension(path, extension);
    Ok(match format {
        ImageFormat::Nifti { gzipped } => {
            let container = if gzipped { Container::Gzip } else { Container::Plain };
            plain(nifti::to_bytes(header, datatype.size_of()), container)
        }
        ImageFormat::Mgh { gzipped } => {
            let (head, tail) = mgh::to_bytes(header, datatype)?;
            let container = if gzipped { Container::Gzip } else { Container::Plain };
            Layout { head, tail, container, big_endian: true, together: false }
        }
        ImageFormat::Nrrd => plain(nrrd::to_bytes(header, datatype, None)?, Container::GzipVoxels),
        ImageFormat::NrrdHeader => {
            plain(nrrd::to_bytes(header, datatype, Some(&voxels("raw.gz")))?, Container::Apart { gzipped: true })
        }
        ImageFormat::Meta => Layout {
            together: header.extent(5) > 1,
            ..plain(meta::to_bytes(header, datatype, None)?, Container::Plain)
        },
        ImageFormat::MetaHeader => Layout {
            together: header.extent(5) > 1,
            ..plain(meta::to_bytes(header, datatype, Some(&voxels("raw")))?, Container::Apart { gzipped: false })
        },
    })
}

/// The header that a reader gets from the bytes of a header.
pub(super) fn reread(bytes: &[u8]) -> Result<Option<Header>, ErrorKind> {
    Ok(open::parse(bytes)?.map(|parsed| parsed.header))
}
