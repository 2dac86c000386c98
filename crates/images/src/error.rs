//! Errors of operations on images.

/// The errors of operations on images.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The computer has too little free memory for the result.
    #[error("the result {0}")]
    Memory(#[from] antsreg_core::memory::Shortage),
    /// An axis has too few voxels for a filter.
    #[error("axis {axis} has {found} voxels; expected at least {least}, which the recursive Gaussian filter needs")]
    TooFewVoxels {
        /// The axis, counted from 0.
        axis: usize,
        /// Number of voxels along the axis.
        found: usize,
        /// Least number of voxels.
        least: usize,
    },
    /// Two images have different numbers of voxels along an axis.
    #[error("the images have {found:?} and {expected:?} voxels; expected the same numbers")]
    Shapes {
        /// Numbers of voxels of the first image.
        expected: [usize; 3],
        /// Numbers of voxels of the other image.
        found: [usize; 3],
    },
    /// A grid without voxels would be the result.
    #[error("the result would have no voxels along axis {axis}")]
    NoVoxels {
        /// The axis, counted from 0.
        axis: usize,
    },
    /// An image has no voxel to compute from.
    #[error("no voxel is in the region of the operation; expected at least one")]
    EmptyRegion,
    /// The intensities of a class are all equal.
    #[error("class {class} has intensities without variance; use fewer classes, or another mask")]
    NoVariance {
        /// The class, counted from 1.
        class: usize,
    },
    /// No voxel is left in a class.
    #[error("class {class} has no voxels left; use fewer classes, or another mask")]
    NoVoxelsOfClass {
        /// The class, counted from 1.
        class: usize,
    },
    /// A kernel has no middle voxel.
    #[error("the kernel has {found} voxels along axis {axis}; expected an odd number")]
    EvenKernel {
        /// The axis, counted from 0.
        axis: usize,
        /// Number of voxels along the axis.
        found: usize,
    },
    /// There is no slice of this number.
    #[error("slice {found} does not exist; the axis has {count} slices, counted from 0")]
    NoSlice {
        /// Number of the slice that was requested.
        found: usize,
        /// Number of slices.
        count: usize,
    },
}
