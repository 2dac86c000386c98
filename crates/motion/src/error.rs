//! Errors of motion correction.

/// The error if a series or one volume cannot be aligned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The list of levels is empty.
    #[error("no level of smoothing, expected at least one")]
    Levels,
    /// A standard deviation is out of range.
    #[error("a smoothing of {0} mm, expected 0 to 20 mm")]
    Sigma(f64),
    /// A number is too small.
    #[error("{found} {what}, expected at least {least}")]
    Count {
        /// Name of the number.
        what: &'static str,
        /// Value of the number.
        found: usize,
        /// Smallest allowed value.
        least: usize,
    },
    /// The reference has two dimensions.
    #[error("the reference has {found:?} voxels, expected at least {least} along each axis")]
    Thin {
        /// Voxels along each axis.
        found: [usize; 3],
        /// Smallest allowed number along each axis.
        least: usize,
    },
    /// The image has no contrast.
    #[error("every voxel has the same value")]
    Constant,
    /// Some voxels are NaN or infinite.
    #[error("{count} voxels are NaN, infinite or beyond single precision")]
    NotFinite {
        /// Number of those voxels.
        count: usize,
    },
    /// The volume overlaps with the reference in too few voxels.
    #[error("{found} of {of} voxels of the reference lie inside the volume, too few to compare")]
    NoOverlap {
        /// Number of voxels that overlap.
        found: usize,
        /// Number of voxels that are compared.
        of: usize,
    },
    /// The grid of a volume differs from that of the first volume.
    #[error("the volume has {found:?} voxels, expected {expected:?}")]
    Shape {
        /// Number of voxels of the volume along each axis.
        found: [usize; 3],
        /// Number of voxels expected along each axis.
        expected: [usize; 3],
    },
    /// The voxels do not determine all degrees of freedom.
    #[error("the images do not determine all degrees of freedom")]
    Undetermined,
    /// The device failed.
    #[error(transparent)]
    Device(#[from] antsreg_kernels::Error),
}
