//! What a header says: its fields, and where the voxels are.

use super::super::source::Packing;
use super::header::Header;

/// What the bytes of a header say.
pub(super) struct Parsed {
    pub header: Header,
    pub place: Place,
}

/// The place of an image's voxels.
pub(super) struct Place {
    pub file: File,
    pub start: Start,
    pub packing: Packing,
    /// Number of components of each voxel, if these are stored together. Otherwise all voxels of the first component
    /// come first, then all of the second, and so on.
    pub together: Option<u64>,
}

/// The file with the voxels.
pub(super) enum File {
    /// The file of the header.
    Same,
    /// The file that belongs to the header of a `.hdr` and `.img` pair.
    Pair,
    /// The file of this name in the folder of the header.
    Named(String),
}

/// Position of the first voxel in its file.
pub(super) enum Start {
    /// This number of bytes after the start.
    At(u64),
    /// The voxels are the last bytes of the file.
    AtEnd,
}

impl Place {
    pub fn here(start: u64) -> Place {
        Place { file: File::Same, start: Start::At(start), packing: Packing::None, together: None }
    }

    pub fn pair(start: u64) -> Place {
        Place { file: File::Pair, ..Place::here(start) }
    }
}
