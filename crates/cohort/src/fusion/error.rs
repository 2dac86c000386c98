//! Errors of label fusion.

use antsreg_core::GridMismatch;

/// Reason why the labels of atlases cannot be fused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FusionError {
    /// The list of atlases is empty.
    #[error("there is no atlas to take labels from")]
    NoAtlas,
    /// The grid of an atlas differs from the grid of the target image.
    #[error("atlas {number}: {source}")]
    Grid {
        /// Number of the atlas, counted from 1.
        number: usize,
        /// Description of the difference between the grids.
        source: GridMismatch,
    },
    /// The mask of the region to fuse must have one value for each voxel of the target image, but its number of values
    /// differs.
    #[error("the mask of the region has {found} values, expected {expected}, one for each voxel of the target image")]
    Region {
        /// Number of values of the region's mask.
        found: usize,
        /// Number of voxels of the target image.
        expected: usize,
    },
    /// An option of joint label fusion is out of range.
    #[error("{option} is {found}, expected {expected}")]
    Option {
        /// Name of the option that is out of range.
        option: &'static str,
        /// Value that was given for the option.
        found: f64,
        /// Description of the option's allowed values.
        expected: &'static str,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] antsreg_kernels::Error),
}
