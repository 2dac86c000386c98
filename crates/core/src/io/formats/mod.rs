//! File formats of images: what their headers say, where their voxels are, and the bytes of their headers. One module
//! for each format. The format of a file is recognised by its content; that of a new file is chosen by its name.

pub(super) mod header;
mod meta;
mod mgh;
mod name;
mod nifti;
mod nrrd;
mod open;
mod place;
pub(super) mod text;

use std::path::Path;

use ::nifti::NiftiType;

use super::ErrorKind;
use header::Header;

pub use name::{ImageFormat, companion};
pub(super) use open::{Opened, open};

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
