//! Joint fusion of labels and intensities at every voxel of a region.

use antsreg_core::{LabelVolume, Volume};
use antsreg_kernels::fusion::{FusionBackend, Patches};

use super::ballot::Ballot;
use super::error::FusionError;
use super::fused::Fused;
use super::joint::{Atlas, check, choose};
use super::options::{JointOptions, Sign};

/// The result of a fusion of labels and intensities.
#[derive(Debug, Clone, PartialEq)]
pub struct FusedImages {
    /// The fused labels, and the share of the vote of each label.
    pub labels: Fused,
    /// The fused intensities, in the units of the atlases' images.
    pub intensities: Volume,
}

/// Fuses labels and intensities of `atlases` at every voxel of `region`, or of the whole image, as `antsJointFusion`
/// does. Outside the region, labels and intensities are 0.
///
/// There are three differences to [`joint`](super::joint()). First, voxels where all atlases agree are decided by
/// votes, too. The local search shifts the patches of an atlas, so the atlas may vote for another label than the label
/// that it has at this voxel. Second, only patches around voxels of the region vote. Third, weights below 0 are set to
/// 0.
///
/// The intensity of a voxel is the weighted mean of the atlases in each patch that contains the voxel, averaged over
/// these patches. Patches are compared on the device of `backend`.
///
/// # Errors
/// No atlas, an atlas or a region on another grid, an option out of range, or a device that fails.
pub fn joint_everywhere<B: FusionBackend>(
    target: &Volume,
    atlases: &[Atlas],
    options: &JointOptions,
    region: Option<&[bool]>,
    backend: &B,
) -> Result<FusedImages, FusionError> {
    check(target, atlases, options)?;
    let grid = &target.grid;
    let whole = || vec![true; grid.len()];
    let open = region.map_or_else(whole, <[bool]>::to_vec);
    if open.len() != grid.len() {
        return Err(FusionError::Region { found: open.len(), expected: grid.len() });
    }
    let patches = Patches::around(&open, grid.shape);
    let choices = choose(target, atlases, options, Sign::NotNegative, &patches, backend)?;
    let ballot = Ballot::new(grid.shape, options, &patches, &choices);
    let labels: Vec<&LabelVolume> = atlases.iter().map(|atlas| atlas.labels).collect();
    let images: Vec<&Volume> = atlases.iter().map(|atlas| atlas.image).collect();
    let background = LabelVolume { grid: grid.clone(), voxels: vec![0; grid.len()] };
    Ok(FusedImages {
        labels: Fused::new(background, ballot.labels(&labels, &open)),
        intensities: Volume { grid: grid.clone(), voxels: ballot.intensities(&images, &open) },
    })
}
