//! Why labels cannot be fused.

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
        /// Which one, from 1.
        number: usize,
        /// How the grids differ.
        source: GridMismatch,
    },
    /// A number that leads nowhere.
    #[error("{option} is {found}, expected {expected}")]
    Option {
        /// What it is called.
        option: &'static str,
        /// Its value.
        found: f64,
        /// What would do.
        expected: &'static str,
    },
}
