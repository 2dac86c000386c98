//! ITK's transforms, as ANTs reads and writes them: affine `.mat`, `.txt` and `.tfm`, warp `.nii.gz`, composite
//! `.h5`.
//!
//! ITK's world is LPS: x and y have the opposite sign of the RAS world used elsewhere. The signs are converted only
//! in this module, and in [`points`](super::points) for tables of points.

mod affine;
mod affines;
mod composite;
mod composite_write;
mod geometry;
mod kinds;
mod matlab;
mod planar;
mod stored;
mod svd;
mod text;
mod warp;

use std::path::Path;

use super::formats;
use super::nifti::GridRule;
use super::{Error, small};
use crate::Transform;

pub use affine::{read_affine, read_centred_affine, stays_in_plane, write_affine, write_affine_of_slices};
pub use affines::{read_affines, write_affines};
pub use composite_write::{CompositePart, Dimensions, write_composite, write_composite_parts};
pub use geometry::ItkGeometry;
pub(crate) use geometry::are_same;
pub use warp::{read_warp, read_warp_by, stored_factors, write_deflated_warp, write_warp, write_warp_as};

/// Number of bytes by which the kind of a file is recognised.
const LONGEST_START: u64 = 16;

/// Reads the transforms of a file: an affine map, a displacement field, or the parts of a composite transform, which
/// can be of both kinds. The kind of file is recognised by its contents. The transforms are returned in the order in
/// which they act on a point.
pub fn read_transforms(path: &Path) -> Result<Vec<Transform>, Error> {
    read_transforms_by(GridRule::default(), path)
}

/// Reads transforms as [`read_transforms`] does. `rule` tells how the grid of a displacement field is read from its
/// NIfTI header.
pub fn read_transforms_by(rule: GridRule, path: &Path) -> Result<Vec<Transform>, Error> {
    let (start, _) = small::read_start(path, LONGEST_START)?;
    if start.starts_with(&composite::SIGNATURE) {
        composite::read(path)
    } else if formats::is_image(&start) {
        Ok(vec![Transform::Displacement(read_warp_by(rule, path)?)])
    } else {
        Ok(vec![Transform::Affine(read_affine(path)?)])
    }
}

/// Whether the name has the extension of a composite transform.
pub fn is_composite(path: &Path) -> bool {
    composite::is_name(&path.to_string_lossy().to_lowercase())
}

/// Whether the file contains a two-dimensional affine map. Such a map can be used for slices only, not for volumes.
pub fn is_affine_of_slices(path: &Path) -> Result<bool, Error> {
    let (start, _) = small::read_start(path, LONGEST_START)?;
    if start.starts_with(&composite::SIGNATURE) || formats::is_image(&start) {
        return Ok(false);
    }
    affine::is_of_slices(path)
}
