//! How far label maps agree, and where a warp folds.

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

/// A label (`None` for all together, or for the mean), and its six measures in the order of ANTs' columns.
type Row = (Option<i32>, [f64; 6]);

/// Each label, all together, and the mean over labels.
type Rows = (Vec<Row>, [f64; 6], [f64; 6]);

/// Voxels, smallest and largest determinant, their mean, folded voxels; smallest determinant at a corner of a cell, voxels that fold
/// there.
type Summary = (u64, f64, f64, f64, u64, f64, u64);

/// Overlap of two label maps: each label, all together, and the mean over labels.
#[pyfunction]
#[pyo3(signature = (source, target, only=None))]
pub fn overlap(py: Python, source: &Labels, target: &Labels, only: Option<Vec<i32>>) -> Result<Rows, Failure> {
    let (expected, found) = (&target.labels.grid, &source.labels.grid);
    inputs::check_grid(&source.name, found, &target.name, expected, "generic-label")?;
    process::compute(py, || {
        let mut moved = source.labels.clone();
        // The target's own numbers: headers round.
        moved.grid = target.labels.grid.clone();
        let overlap = Overlap::between(&moved, &target.labels, only.as_deref()).map_err(grids)?;
        let rows = overlap.labels.iter().map(|(label, counts)| (Some(*label), counts.measures())).collect();
        Ok((rows, overlap.all().measures(), overlap.mean()))
    })
}

/// Determinants of a warp, and their summary.
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
