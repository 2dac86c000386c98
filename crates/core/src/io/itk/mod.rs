//! ITK's transforms, as ANTs reads and writes them: affine `.mat`, `.txt` and `.tfm`, warp `.nii.gz`.
//!
//! ITK's world is LPS: x and y have the opposite sign of the RAS world used elsewhere. The sign flip happens in this
//! module only (and in [`points`](super::points) for tables of points).

mod affine;
mod kinds;
mod matlab;
mod text;
mod warp;

use std::path::Path;

use super::source::Source;
use super::{Error, nifti};
use crate::Transform;

pub use affine::{read_affine, write_affine};
pub use warp::{read_warp, write_warp};

/// Reads an affine map or a displacement field, whichever the file holds.
pub fn read_transform(path: &Path) -> Result<Transform, Error> {
    let start = Source::read_small(path, 4)?;
    if nifti::starts_like_nifti(&start) {
        Ok(Transform::Displacement(read_warp(path)?))
    } else {
        Ok(Transform::Affine(read_affine(path)?))
    }
}
