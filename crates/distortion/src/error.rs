//! Errors of the estimation of distortion.

/// Reason why the distortion cannot be estimated from images.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An image has no opposite: all images are displaced in the same direction.
    #[error(
        "all images have the same direction of phase encoding, expected at least one with the opposite direction"
    )]
    OneDirection,
    /// Images of the same direction have different readout times.
    #[error("images with the same direction of phase encoding have different readout times, expected equal ones")]
    ReadoutTimes,
    /// An image has too few voxels along an axis.
    #[error("the image has {found:?} voxels, expected at least {least} along each axis")]
    Thin {
        /// Number of voxels of the image along each axis.
        found: [usize; 3],
        /// Smallest number of voxels along each axis.
        least: usize,
    },
    /// An image has another number of voxels along an axis than the first image.
    #[error("image {index}, counted from 1, has {found:?} voxels, expected {expected:?} as in the first image")]
    Shape {
        /// Number of the image, counted from 1.
        index: usize,
        /// Number of voxels of the image along each axis.
        found: [usize; 3],
        /// Number of voxels of the first image along each axis.
        expected: [usize; 3],
    },
    /// The intensities of an image do not add up to a positive number.
    #[error("the intensities of image {0}, counted from 1, have no positive sum")]
    Dark(usize),
    /// An operation on images failed.
    #[error(transparent)]
    Device(#[from] antsreg_kernels::Error),
}
