//! Volumes, label maps and NIfTI files (.nii, .nii.gz).

mod header;
mod read;
mod voxels;
mod write;

pub(crate) use read::read_warp;
pub use read::{read_labels, read_volume};
pub(crate) use write::write_warp;
pub use write::{write_labels, write_volume};
