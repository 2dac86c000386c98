//! Errors of the deformable stage.

use std::ops::ControlFlow;

/// Why the deformable stage failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] antsreg_kernels::Error),
    /// An image has no contrast.
    #[error("the {side} image of channel {channel} is constant, so there is nothing to align")]
    Constant {
        /// The side of the images: fixed or moving.
        side: &'static str,
        /// The channel, counted from 1.
        channel: usize,
    },
    /// The number of images of a side differs from the number of channels.
    #[error("expected {expected} {side} images, one a channel, found {found}")]
    Channels {
        /// The side of the images: fixed or moving.
        side: &'static str,
        /// Number of channels in the options.
        expected: usize,
        /// Number of images of the side.
        found: usize,
    },
    /// The value of an option is out of its range.
    #[error("{option}: expected {expected}, found {found}")]
    Range {
        /// Name of the option, with its unit.
        option: String,
        /// Allowed range of the option.
        expected: String,
        /// Value found.
        found: String,
    },
    /// The affine start cannot be inverted.
    #[error("the affine start is singular")]
    SingularStart,
    /// The grid of a mask differs from the grid of its image.
    #[error("the {0} mask is not on the grid of the {0} image")]
    MaskGrid(&'static str),
    /// The fields of an earlier stage lie neither on the fixed image's grid nor on a shrunken one.
    #[error("the fields of the earlier stage are not on a grid of the fixed image")]
    FieldsGrid,
    /// A displacement is not a finite number.
    #[error(
        "the warp diverged: some displacements are not finite numbers; check the intensities of both images and the values \
         of the options"
    )]
    NotFinite,
    /// The observer stopped the registration.
    #[error("the registration was stopped")]
    Stopped,
    /// There is no level to run.
    #[error("the schedule has no level")]
    NoLevels,
}

/// Returns [`Error::Stopped`] if the observer has stopped the run.
pub(crate) fn go_on(flow: ControlFlow<()>) -> Result<(), Error> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Stopped),
    }
}
