//! Measures the agreement of label maps, and the folds of a warp.

use antsreg_core::overlap::Overlap;
use antsreg_core::{DisplacementField, JacobianSummary, Transform};
use antsreg_kernels::apply;
use antsreg_study::inputs;
use pyo3::prelude::*;

use crate::chain::Chain;
use crate::error::{Class, Failure, grids};
use crate::image::Image;
use crate::labels::Labels;
use crate::process;

/// A label (`None` for all labels together, or for the mean), and its six measures in the order of ANTs' columns.
type Row = (Option<i32>, [f64; 6]);

/// The rows of each label, of all labels together, and of the mean over labels.
type Rows = (Vec<Row>, [f64; 6], [f64; 6]);

/// Number of voxels, smallest and largest determinant, mean determinant, number of folded voxels; smallest
/// determinant at a corner of a cell, number of voxels that fold there.
type Summary = (u64, f64, f64, f64, u64, f64, u64);

/// Computes the overlap of two label maps: for each label, for all labels together, and the mean over labels.
#[pyfunction]
#[pyo3(signature = (source, target, only=None))]
pub fn overlap(py: Python, source: &Labels, target: &Labels, only: Option<Vec<i32>>) -> Result<Rows, Failure> {
    let (expected, found) = (&target.labels.grid, &source.labels.grid);
    inputs::check_grid(&source.name, found, &target.name, expected, "generic-label")?;
    process::compute(py, || {
        let mut moved = source.labels.clone();
        // The grid of the target replaces that of the source, because headers are rounded.
        moved.grid = target.labels.grid.clone();
        let overlap = Overlap::between(&moved, &target.labels, only.as_deref()).map_err(grids)?;
        let rows = overlap.labels.iter().map(|(label, counts)| (Some(*label), counts.measures())).collect();
        Ok((rows, overlap.all().measures(), overlap.mean()))
    })
}

/// Computes the determinants of a warp and their statistics.
#[pyfunction]
pub fn jacobian(py: Python, warp: &Chain) -> Result<(Image, Summary), Failure> {
    let field: &DisplacementField = match &warp.steps().steps[..] {
        [step] => match &step.transform {
            Transform::Displacement(field) => field,
            Transform::Affine(_) => return Err(no_warp()),
        },
        _ => return Err(no_warp()),
    };
    process::compute(py, || {
        let determinants = apply::jacobian(field);
        let corners = apply::smallest_at_corners(field);
        let JacobianSummary { voxels, minimum, maximum, mean, folded, corner_minimum, corner_folded } =
            JacobianSummary::of(&determinants, &corners, None).map_err(grids)?;
        let summary = (voxels, minimum, maximum, mean, folded, corner_minimum, corner_folded);
        Ok((Image::made(determinants, "the Jacobian", false), summary))
    })
}

fn no_warp() -> Failure {
    Failure::own(Class::Input, "jacobian: expected one warp, found other transforms")
}
