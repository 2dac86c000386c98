//! What can go wrong in the diffeomorphic stage.

/// The diffeomorphic stage failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] antsreg_kernels::Error),
    /// An image has no contrast.
    #[error("the {side} image of channel {channel} is constant, so there is nothing to align")]
    Constant {
        /// Fixed or moving.
        side: &'static str,
        /// Which, counted from 1.
        channel: usize,
    },
    /// A side has not one image for each channel.
    #[error("expected {expected} {side} images, one a channel, found {found}")]
    Channels {
        /// Fixed or moving.
        side: &'static str,
        /// Channels of the options.
        expected: usize,
        /// Images of that side.
        found: usize,
    },
    /// A channel that would do nothing, or the opposite of what it says.
    #[error("expected a channel weight above 0, found {0}")]
    Weight(f64),
    /// The affine start cannot be inverted.
    #[error("the affine start is singular")]
    SingularStart,
    /// A mask lies on another grid than its image.
    #[error("the {0} mask is not on the grid of the {0} image")]
    MaskGrid(&'static str),
    /// A displacement is no number.
    #[error(
        "the warp ran away: displacements that are no finite number; are the intensities of both images sensible, and the \
         options' numbers?"
    )]
    NotFinite,
    /// The observer stopped the registration.
    #[error("the registration was stopped")]
    Stopped,
    /// There is no level to run.
    #[error("the schedule has no level")]
    NoLevels,
}
