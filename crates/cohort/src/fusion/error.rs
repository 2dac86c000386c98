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
    /// A region that has not the voxels of the target.
    #[error("the region has {found} voxels, expected the {expected} of the target")]
    Region {
        /// Its voxels.
        found: usize,
        /// Those of the target.
        expected: usize,
    },
    /// An option is out of range.
    #[error("{option} is {found}, expected {expected}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Its value.
        found: f64,
        /// Values that are allowed.
        expected: &'static str,
    },
}
