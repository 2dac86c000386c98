//! Why a linear registration is refused or fails.

use std::fmt;

use antsreg_kernels as kernels;

/// One of the two images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The image that stays.
    Fixed,
    /// The image that is moved onto it.
    Moving,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Side::Fixed => "fixed",
            Side::Moving => "moving",
        })
    }
}

/// A linear registration was refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// All voxels have one value.
    #[error("the {0} image is constant: there is nothing to align")]
    Constant(Side),
    /// An image narrower than a head by far.
    #[error(
        "the {side} image is {found_mm:.1} mm wide at most, expected {least_mm:.0} mm: the search begins with detail of \
         8 mm (are its voxel sizes in mm?)"
    )]
    TooSmall {
        /// Which image.
        side: Side,
        /// Its longest side.
        found_mm: f64,
        /// What it must be at least.
        least_mm: f64,
    },
    /// One image has two dimensions, the other three.
    #[error(
        "one image is a slice and the other a volume (fixed {fixed:?}, moving {moving:?} voxels): they must be alike"
    )]
    SliceAndVolume {
        /// Shape of the fixed image.
        fixed: [usize; 3],
        /// Shape of the moving image.
        moving: [usize; 3],
    },
    /// Two slices that cannot show the same.
    #[error("the planes of the two slices are {found_degrees:.0}° apart, expected at most {most_degrees:.0}°")]
    Planes {
        /// Angle between the planes.
        found_degrees: f64,
        /// The largest allowed.
        most_degrees: f64,
    },
    /// Some voxels are NaN or infinite.
    #[error("the {side} image has {count} voxels that are not finite numbers")]
    NotFinite {
        /// Which image.
        side: Side,
        /// How many voxels.
        count: usize,
    },
    /// A weight does not lie on its image's grid.
    #[error("the weight of the {side} image has the grid {found:?}, the image {expected:?}: they must be one")]
    WeightGrid {
        /// Which image.
        side: Side,
        /// Shape of the image.
        expected: [usize; 3],
        /// Shape of the weight.
        found: [usize; 3],
    },
    /// A weight is zero, or negative or NaN somewhere.
    #[error("the weight of the {0} image must be positive somewhere and nowhere negative")]
    Weight(Side),
    /// A weight leaves too little to fill bins with.
    #[error("the mask of the {side} image leaves {found} voxels, fewer than there are bins: {bins}")]
    FewVoxels {
        /// Which image.
        side: Side,
        /// Voxels of positive weight.
        found: usize,
        /// Bins at 1 mm.
        bins: usize,
    },
    /// The images do not overlap wherever the search looked.
    #[error("the images do not overlap, or are constant where they do, at the start and wherever the search looked")]
    NoOverlap,
    /// The starting transform cannot be inverted.
    #[error("the starting transform is singular")]
    SingularStart,
    /// Number of bins out of range.
    #[error("bins: {found}, expected {least} to {most}")]
    Bins {
        /// What was asked for.
        found: usize,
        /// Fewest possible.
        least: usize,
        /// Most possible.
        most: usize,
    },
    /// No such level.
    #[error("finest level: {0} mm, expected 8, 4, 2 or 1")]
    FinestLevel(f64),
    /// Shares that are not an interval within 0…1.
    #[error("robust range: {0:?}, expected two shares with 0 ≤ low < high ≤ 1")]
    RobustShares([f64; 2]),
    /// Search angles out of range.
    #[error("search range: {0:?}°, expected 0 to 180 for each axis")]
    AngleRange([f64; 3]),
    /// Step between search angles out of range.
    #[error("search step: {0}°, expected 1 to 180")]
    AngleStep(f64),
    /// The observer stopped the registration.
    #[error("the registration was stopped")]
    Stopped,
    /// An operation on the device failed.
    #[error(transparent)]
    Device(#[from] kernels::Error),
}
