//! Why a series is not corrected.

/// What stops motion correction, or the alignment of one volume.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No level.
    #[error("no level of smoothing, expected at least one")]
    Levels,
    /// A standard deviation out of range.
    #[error("a smoothing of {0} mm, expected 0 to 20 mm")]
    Sigma(f64),
    /// A number that is too small.
    #[error("{found} {what}, expected at least {least}")]
    Count {
        /// Of what.
        what: &'static str,
        /// The number.
        found: usize,
        /// The least that is allowed.
        least: usize,
    },
    /// A reference of two dimensions.
    #[error("the reference has {found:?} voxels, expected at least {least} along each axis")]
    Thin {
        /// Voxels along each axis.
        found: [usize; 3],
        /// The least along each.
        least: usize,
    },
    /// An image without contrast.
    #[error("every voxel has the same value")]
    Constant,
    /// Voxels that are no numbers.
    #[error("{count} voxels are NaN, infinite or beyond single precision")]
    NotFinite {
        /// How many.
        count: usize,
    },
    /// A volume that does not meet the reference in enough voxels.
    #[error("{found} of {of} voxels of the reference lie inside the volume, too few to compare")]
    NoOverlap {
        /// Voxels that meet.
        found: usize,
        /// Voxels that are compared.
        of: usize,
    },
    /// A volume on another grid than the first one.
    #[error("the volume has {found:?} voxels, expected {expected:?}")]
    Shape {
        /// Its voxels along each axis.
        found: [usize; 3],
        /// Those of the series.
        expected: [usize; 3],
    },
    /// Voxels that the fit cannot tell degrees of freedom from.
    #[error("the images do not determine all degrees of freedom")]
    Undetermined,
    /// A device that failed.
    #[error(transparent)]
    Device(#[from] antsreg_kernels::Error),
}
