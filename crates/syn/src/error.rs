//! Errors of the deformable stage.

use std::ops::ControlFlow;

/// Reason why the deformable stage failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operation on the device failed.
    #[error(transparent)]
    Device(#[from] antsreg_kernels::Error),
    /// All voxels of an image have the same intensity.
    #[error("the {side} image of channel {channel} is constant, so there is nothing to align")]
    Constant {
        /// Which of the images: "fixed" or "moving".
        side: &'static str,
        /// Number of the channel (pair of images), counted from 1.
        channel: usize,
    },
    /// The number of fixed or of moving images differs from the number of channels.
    #[error("expected {expected} {side} images, one for each channel, found {found}")]
    Channels {
        /// Which of the images: "fixed" or "moving".
        side: &'static str,
        /// Number of channels (pairs of images) in the options.
        expected: usize,
        /// Number of fixed or of moving images that were given.
        found: usize,
    },
    /// The value of an option is outside its allowed range.
    #[error("{option}: expected {expected}, found {found}")]
    Range {
        /// Name of the option whose value is out of range, with its unit.
        option: String,
        /// The values that are allowed for the option, in words.
        expected: String,
        /// The value of the option, which is out of range.
        found: String,
    },
    /// The affine transform at which the registration starts cannot be inverted.
    #[error("the affine transform at which the registration starts is singular: it cannot be inverted")]
    SingularStart,
    /// The mask of an image is on another grid than the image. The value says whose mask: that of the "fixed" or of the
    /// "moving" image.
    #[error("the {0} mask is not on the grid of the {0} image")]
    MaskGrid(&'static str),
    /// The fields of an earlier stage are on a wrong grid: neither the fixed image's grid nor this grid shrunken by an
    /// integer factor.
    #[error(
        "the displacement fields of the earlier stage are neither on the fixed image's grid nor on this grid shrunken by \
         an integer factor"
    )]
    FieldsGrid,
    /// Some displacements are not finite numbers.
    #[error(
        "the warp diverged: some displacements are not finite numbers; check the intensities of both images and the values \
         of the options"
    )]
    NotFinite,
    /// The observer stopped the registration.
    #[error("the registration was stopped")]
    Stopped,
    /// The options of the deformable stage contain no resolution level.
    #[error("the options of the registration have no resolution level")]
    NoLevels,
}

/// Returns [`Error::Stopped`] if the observer has stopped the run.
pub(crate) fn go_on(flow: ControlFlow<()>) -> Result<(), Error> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Stopped),
    }
}
