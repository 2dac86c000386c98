//! Displacement fields as NIfTI vector images of ITK: all x components, then all y, then all z, in LPS mm.

use std::path::Path;

use super::super::nifti::{self, GridRule, Planes, PlanesFile, Stored, Vectors};
use super::super::{Deflated, Error, Target};
use crate::{DisplacementField, Grid, Volume};

/// Factors of the three components that convert a vector from LPS to RAS, or from RAS to LPS.
const FLIP: [f32; 3] = [-1.0, -1.0, 1.0];

/// NIfTI's intent code for displacement vectors. ITK reads vectors with this code as RAS, unlike vectors with the
/// general code, and so does this reader. Files with this code are never written.
const DISPLACEMENT_INTENT: i32 = 1006;

/// Reads a displacement field and converts its vectors from LPS to RAS, mm.
pub fn read_warp(path: &Path) -> Result<DisplacementField, Error> {
    read_warp_by(GridRule::default(), path)
}

/// Reads a displacement field as [`read_warp`] does. `rule` tells how the grid is read from the header.
pub fn read_warp_by(rule: GridRule, path: &Path) -> Result<DisplacementField, Error> {
    let Vectors { grid, mut vectors, intent, .. } = nifti::read_vectors(rule, path)?;
    if intent != DISPLACEMENT_INTENT {
        vectors.iter_mut().for_each(|vector| *vector = std::array::from_fn(|axis| FLIP[axis] * vector[axis]));
    }
    Ok(DisplacementField { grid, vectors })
}

/// Writes a displacement field, with vectors in LPS mm, in the given storage type.
pub fn write_warp_as<'a>(to: impl Into<Target<'a>>, field: &DisplacementField, stored: Stored) -> Result<(), Error> {
    let axes = axes(&field.grid);
    let file = PlanesFile { grid: &field.grid, count: axes, planes: Planes::Vectors, stored };
    file.write(to, |axis| {
        let voxels = field.vectors.iter().map(|vector| FLIP[axis] * vector[axis]).collect();
        Ok(Volume { grid: field.grid.clone(), voxels })
    })
}

/// Writes a displacement field, with vectors in LPS mm.
pub fn write_warp<'a>(to: impl Into<Target<'a>>, field: &DisplacementField) -> Result<(), Error> {
    nifti::write_vectors(to.into(), &field.grid, &field.vectors, stored_factors(&field.grid))
}

/// Writes the file of [`write_warp`] from displacements that are compressed already. `deflated` has all x components,
/// then all y, then all z, multiplied by [`stored_factors`]. The name must end in `.nii.gz`.
pub fn write_deflated_warp<'a>(to: impl Into<Target<'a>>, grid: &Grid, deflated: &Deflated) -> Result<(), Error> {
    nifti::write_deflated_vectors(to.into(), grid, axes(grid), deflated)
}

/// The factors by which files store the components of displacements in RAS mm: one for each stored component, which are
/// two for a slice across z, else three.
pub fn stored_factors(grid: &Grid) -> &'static [f32] {
    &FLIP[..axes(grid)]
}

/// Number of components of a vector on this grid: two for a slice, else three.
fn axes(grid: &Grid) -> usize {
    if grid.is_slice_across_z() { 2 } else { 3 }
}
