//! Masks in the convention of ANTs: a mask may have another grid than its image, and is resampled by its position in
//! space.

use std::path::Path;

use antsreg_console::CliError;
use antsreg_core::io::nifti::GridRule;
use antsreg_core::{Grid, TransformChain, Volume};
use antsreg_kernels::apply;
use antsreg_study as study;

/// Reads a mask and resamples it on the grid of its image: 1 where the mask is above ½, else 0.
///
/// # Errors
/// A file that cannot be read; a mask that contains no voxel of the image's grid.
pub fn read(path: &Path, grid: &Grid) -> Result<Volume, CliError> {
    let mut mask = GridRule::Itk.read_volume(path)?;
    mask.voxels.iter_mut().for_each(|value| *value = if *value > 0.5 { 1.0 } else { 0.0 });
    if !study::geometry::same(grid, &mask.grid) {
        mask = apply::resample(&mask, grid, &TransformChain::new(), apply::Interpolation::Nearest, 0.0);
    }
    mask.grid = grid.clone();
    if mask.voxels.iter().all(|value| *value == 0.0) {
        return Err(study::Error::EmptyMask { path: path.into() }.into());
    }
    Ok(mask)
}
