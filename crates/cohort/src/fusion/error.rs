//! Errors of label fusion.

use antsreg_core::GridMismatch;

/// Why labels cannot be fused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FusionError {
    /// There is no atlas.
    #[error("there is no atlas to take labels from")]
    NoAtlas,
    /// An atlas does not lie on the target's grid.
    #[error("atlas {number}: {source}")]
    Grid {
        /// Number of the atlas, counted from 1.
        number: usize,
        /// How the grids differ.
        source: GridMismatch,
    },
    /// The number of voxels of a region differs from that of the target.
    #[error("the region has {found} voxels, expected the {expected} of the target")]
    Region {
        /// Number of voxels of the region.
        found: usize,
        /// Number of voxels of the target.
        expected: usize,
    },
    /// An option is out of range.
    #[error("{option} is {found}, expected {expected}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Value of the option.
        found: f64,
        /// Description of the allowed values.
        expected: &'static str,
    },
}
