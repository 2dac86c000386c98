//! Reading and writing of volumes and label maps in NIfTI files (`.nii`, `.nii.gz`; `.hdr` with `.img` for reading).

mod coded;
mod file;
mod grid_rule;
mod header;
mod inspect;
mod itk_geometry;
mod planes;
mod read;
mod series;
mod voxels;
mod warnings;
mod write;
mod write_volumes;

pub use coded::{Coded, Values};
pub use grid_rule::GridRule;
pub use inspect::{Inspection, inspect};
pub use planes::{Planes, PlanesFile, PlanesReader, write_series, write_series_by_volume};
pub(crate) use read::{Vectors, read_vectors};
pub use read::{read_grid, read_labels, read_volume};
pub use series::{Series, SeriesReader, Timing, read_series};
pub use warnings::HeaderWarning;
pub use write::{stored_grid, write_deflated_volume, write_labels, write_values, write_volume};
pub(crate) use write::{write_deflated_vectors, write_vectors};
pub use write_volumes::Stored;

/// Whether a file with these first bytes is meant to be NIfTI: NIfTI-1 and NIfTI-2 both start with the length of the
/// header.
pub(crate) fn starts_like_nifti(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|size| {
        [348, 540].iter().any(|&n| [i32::from_le_bytes(*size), i32::from_be_bytes(*size)].contains(&n))
    })
}
