//! Measures for Python: overlap of label maps, and Jacobian determinants of warps.

use antsreg_core::compare::Comparison;
use antsreg_core::overlap::Overlap;
use antsreg_core::{DisplacementField, JacobianSummary, Roughness, Transform};
use antsreg_kernels::apply;
use antsreg_study::inputs;
use pyo3::prelude::*;

use crate::chain::Chain;
use crate::error::{Class, Failure, grids};
use crate::image::Image;
use crate::labels::Labels;
use crate::process;

/// A row of the overlap table: a label (`None` for all labels together, or for the mean) and its six measures, in the
/// order of the columns of ANTs' LabelOverlapMeasures.
type Row = (Option<i32>, [f64; 6]);

/// The overlap table: a row for each label, the measures of all labels together, and the mean over labels.
type Rows = (Vec<Row>, [f64; 6], [f64; 6]);

/// Statistics of the Jacobian determinants of a warp: number of voxels, smallest, largest and mean determinant, number
/// of folded voxels (central differences), then smallest determinant and number of folded voxels by one-sided
/// differences (at the corners of trilinear cells), the standard deviation of the determinants' logarithms, and the
/// share of voxels below 0.5 or above 2.
type Summary = (u64, f64, f64, f64, u64, f64, u64, f64, f64);

/// Compares two images on one grid, inside a mask. Returns the number of voxels, the root mean square difference, the
/// mean and the largest absolute difference, and Pearson's correlation.
#[pyfunction]
#[pyo3(signature = (first, second, mask=None))]
pub fn compare(
    py: Python,
    first: &Image,
    second: &Image,
    mask: Option<&Image>,
) -> Result<(u64, f64, f64, f64, f64), Failure> {
    process::compute(py, || {
        let (one, mut other) = (first.volume()?, second.volume()?.clone());
        inputs::check_grid(&second.name, &other.grid, &first.name, &one.grid, "linear")?;
        other.grid = one.grid.clone();
        let mask = mask.map(|mask| {
            Ok::<_, Failure>(inputs::as_mask(mask.volume()?.clone(), &mask.name, &first.name, &one.grid)?)
        });
        let found = Comparison::between(one, &other, mask.transpose()?.as_ref()).map_err(grids)?;
        let Comparison { voxels, root_mean_square, mean_absolute, largest_absolute, correlation } = found;
        Ok((voxels, root_mean_square, mean_absolute, largest_absolute, correlation))
    })
}

/// Computes the overlap of two label maps: for each label, for all labels together, and the mean over labels.
#[pyfunction]
#[pyo3(signature = (source, target, only=None))]
pub fn overlap(py: Python, source: &Labels, target: &Labels, only: Option<Vec<i32>>) -> Result<Rows, Failure> {
    let (expected, found) = (&target.labels.grid, &source.labels.grid);
    inputs::check_grid(&source.name, found, &target.name, expected, "generic-label")?;
    process::compute(py, || {
        let mut moved = source.labels.clone();
        // The grids of the two label maps are equal except for rounding in their headers. The comparison needs exactly
        // equal grids, so the source gets the grid of the target.
        moved.grid = target.labels.grid.clone();
        let overlap = Overlap::between(&moved, &target.labels, only.as_deref()).map_err(grids)?;
        let rows = overlap.labels.iter().map(|(label, counts)| (Some(*label), counts.measures())).collect();
        Ok((rows, overlap.all().measures(), overlap.mean()))
    })
}

/// Computes the Jacobian determinant of a warp at each voxel, and statistics of the determinants.
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
        let JacobianSummary { voxels, minimum, maximum, mean, folded, corner_minimum, corner_folded, .. } =
            JacobianSummary::of(&determinants, &corners, None).map_err(grids)?;
        let Roughness { sd_log, outside } = Roughness::of(&determinants, None).map_err(grids)?;
        let summary = (voxels, minimum, maximum, mean, folded, corner_minimum, corner_folded, sd_log, outside);
        Ok((Image::made(determinants, "the Jacobian", false), summary))
    })
}

fn no_warp() -> Failure {
    Failure::own(Class::Input, "jacobian: expected one warp, found other transforms")
}
