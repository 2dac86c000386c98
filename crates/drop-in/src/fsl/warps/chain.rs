//! Chains of FSL's matrices and warps. All coordinates are FSL's (scaled mm) of the image in whose space a point lies.

use std::path::Path;

use antsreg_console::{CliError, Refusal};
use antsreg_core::io::fsl_warp::Vectors;
use antsreg_core::io::{fsl, fsl_warp};
use antsreg_core::{AffineTransform, Grid, Transform};

use super::options::Given;
use crate::fsl::names;

/// The transforms of the options `given`, in the order in which they act on a point of the reference: each name is an
/// option with a matrix, which maps towards the reference and so is inverted, or with a warp.
///
/// # Errors
/// Files that cannot be read; a singular matrix.
pub fn read(given: &Given, options: &[(&str, Kind)], vectors: Option<Vectors>) -> Result<Vec<Transform>, CliError> {
    let mut chain = Vec::new();
    for (name, kind) in options {
        let option = format!("--{name}");
        let Some(value) = given.value(name) else { continue };
        chain.push(match kind {
            Kind::Matrix => {
                let path = names::existing(&option, value)?;
                let singular = || Refusal::new(&option, "the matrix is singular: it has no inverse");
                let matrix = fsl::inverse(&fsl::read_numbers(&path)?).ok_or_else(singular)?;
                Transform::Affine(AffineTransform::from_homogeneous(&matrix))
            }
            Kind::Warp => Transform::Displacement(fsl_warp::read_warp(&names::input(&option, value)?, vectors)?),
        });
    }
    Ok(chain)
}

/// What the file of an option holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A matrix.
    Matrix,
    /// A warp.
    Warp,
}

/// A chain between FSL's coordinates of two images as a chain between their worlds, RAS mm.
///
/// # Errors
/// An image whose axes lie in one plane.
pub fn in_world(
    chain: Vec<Transform>,
    fixed: (&Path, &Grid),
    moving: (&Path, &Grid),
) -> Result<Vec<Transform>, Refusal> {
    let to_scaled = |(path, grid): (&Path, &Grid)| {
        let flat = || Refusal::new(path.display(), "the axes of the image lie in one plane");
        fsl::world_to_scaled(grid).ok_or_else(flat)
    };
    let flat = || Refusal::new(moving.0.display(), "a voxel size of the image is 0");
    let first = Transform::Affine(to_scaled(fixed)?);
    let last = Transform::Affine(to_scaled(moving)?.inverse().ok_or_else(flat)?);
    Ok([first].into_iter().chain(chain).chain([last]).collect())
}
