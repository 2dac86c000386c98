//! Errors of motion correction.

/// Reason why a series or one of its volumes cannot be aligned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The options have no level of smoothing.
    #[error("the options have no level of smoothing, expected at least one")]
    Levels,
    /// The standard deviation of a smoothing Gaussian is out of range.
    #[error("the smoothing Gaussian has a standard deviation of {0} mm, expected 0 to 20 mm")]
    Sigma(f64),
    /// An option of motion correction is too small: the number of iterations, or of the reference's voxels that are
    /// compared.
    #[error("{found} {what}, expected at least {least}")]
    Count {
        /// What the option counts, as a word in the error message: "iterations" or "points".
        what: &'static str,
        /// The number that was given in the options, which is too small.
        found: usize,
        /// Smallest number that the options allow for these iterations or points.
        least: usize,
    },
    /// The volume has too few voxels along an axis.
    #[error("the volume has {found:?} voxels, expected at least {least} along each axis")]
    Thin {
        /// Number of voxels of the volume along each axis.
        found: [usize; 3],
        /// Smallest number of voxels that motion correction needs along each axis of a volume.
        least: usize,
    },
    /// All voxels of the volume have the same value.
    #[error("every voxel of the volume has the same value")]
    Constant,
    /// Too few of the reference's compared voxels lie inside the volume.
    #[error("{found} of {of} voxels of the reference lie inside the volume, too few to compare")]
    NoOverlap {
        /// Number of compared voxels of the reference that lie inside the volume.
        found: usize,
        /// Number of voxels of the reference that are compared.
        of: usize,
    },
    /// A volume has another number of voxels along an axis than the first volume.
    #[error("the volume has {found:?} voxels, expected {expected:?} as in the first volume")]
    Shape {
        /// Number of voxels of the volume along each axis.
        found: [usize; 3],
        /// Number of voxels of the first volume along each axis.
        expected: [usize; 3],
    },
    /// The compared voxels do not determine all degrees of freedom of the transform.
    #[error("the images do not determine all degrees of freedom of the transform")]
    Undetermined,
    /// An operation on the device failed.
    #[error(transparent)]
    Device(#[from] antsreg_kernels::Error),
}
