//! What can go wrong in the diffeomorphic stage.

/// The diffeomorphic stage failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] antsreg_kernels::Error),
    /// An image has no contrast.
    #[error("the {0} image is constant, so there is nothing to align")]
    Constant(&'static str),
    /// The affine start cannot be inverted.
    #[error("the affine start is singular")]
    SingularStart,
    /// A mask lies on another grid than its image.
    #[error("the {0} mask is not on the grid of the {0} image")]
    MaskGrid(&'static str),
    /// There is no level to run.
    #[error("the schedule has no level")]
    NoLevels,
}
