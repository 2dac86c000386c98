//! Errors of the estimation of a bias field.

/// Reasons why the bias field of an image cannot be estimated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The value of an option is out of its range.
    #[error("{what}: expected {expected}, found {found}")]
    Range {
        /// Name of the option of N4 that is out of range.
        what: &'static str,
        /// Allowed range of the option.
        expected: String,
        /// Value that was given for the option.
        found: String,
    },
    /// No sampled voxel is finite, inside the mask and of a positive weight.
    #[error(
        "none of the sampled voxels (every {shrink}th along each axis) is finite, inside the mask and of a weight above 0; give a mask with more voxels or a smaller shrink factor"
    )]
    NoVoxels {
        /// Shrink factor: distance between sampled voxels along each axis, in voxels.
        shrink: usize,
    },
    /// All sampled voxels inside the mask have the same intensity.
    #[error(
        "all {voxels} sampled voxels inside the mask have the same intensity; expected an image with contrast inside the mask"
    )]
    Constant {
        /// Number of voxels inside the mask from which the bias field was to be estimated.
        voxels: usize,
    },
    /// The finest B-spline mesh has too many control points.
    #[error(
        "the finest mesh has {found} control points, expected at most {most}; give a larger spline distance or fewer levels"
    )]
    Mesh {
        /// Number of control points of the finest B-spline mesh that the options ask for.
        found: usize,
        /// Largest number of control points that is supported for the finest B-spline mesh.
        most: usize,
    },
    /// The shape of the mask, or of the image of weights, differs from the shape of the image.
    #[error("the {what} has {found:?} voxels, expected {expected:?}, the shape of the image")]
    Shape {
        /// Name of the volume with the wrong shape.
        what: &'static str,
        /// Shape of the mask or of the image of weights, in voxels.
        found: [usize; 3],
        /// Shape of the image, in voxels.
        expected: [usize; 3],
    },
    /// The device that computes the bias field failed.
    #[error(transparent)]
    Device(#[from] antsreg_kernels::Error),
}
