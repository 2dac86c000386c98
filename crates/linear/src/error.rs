//! Errors of a linear registration.

use std::fmt;
use std::ops::RangeInclusive;

use antsreg_kernels as kernels;

use crate::{AngleSearch, Boundary, Options};

/// Which image of a registration: fixed or moving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The fixed image.
    Fixed,
    /// The moving image.
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

/// Reason why a linear registration is refused or fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// All voxels of the image have the same value.
    #[error("the {0} image is constant: there is nothing to align")]
    Constant(Side),
    /// One image is two-dimensional, the other three-dimensional.
    #[error(
        "one image is a slice and the other a volume (fixed {fixed:?}, moving {moving:?} voxels); expected two slices \
         or two volumes"
    )]
    SliceAndVolume {
        /// Shape of the fixed image.
        fixed: [usize; 3],
        /// Shape of the moving image.
        moving: [usize; 3],
    },
    /// The angle between the planes of the two slices is too large.
    #[error("the planes of the two slices are {found_degrees:.0}° apart, expected at most {most_degrees:.0}°")]
    Planes {
        /// Angle between the planes of the two slices, degrees.
        found_degrees: f64,
        /// Largest allowed angle between the planes of the two slices, degrees.
        most_degrees: f64,
    },
    /// Some voxels are NaN or infinite.
    #[error("the {side} image has {count} voxels that are not finite numbers")]
    NotFinite {
        /// The image with voxels that are not finite: fixed or moving.
        side: Side,
        /// Number of voxels that are not finite.
        count: usize,
    },
    /// The grid of a weight image differs from the grid of the image to which it belongs.
    #[error(
        "the weight of the {side} image is on another grid ({found:?} voxels) than the image ({expected:?} voxels)"
    )]
    WeightGrid {
        /// The image to which the weight belongs: fixed or moving.
        side: Side,
        /// Shape of the image, voxels.
        expected: [usize; 3],
        /// Shape of the weight image, voxels.
        found: [usize; 3],
    },
    /// A weight image is zero everywhere, or negative or NaN somewhere.
    #[error("the weight of the {0} image must be positive somewhere and nowhere negative")]
    Weight(Side),
    /// A weight image has fewer voxels with positive weight than the cost function has bins.
    #[error("the mask of the {side} image leaves {found} voxels, fewer than there are bins: {bins}")]
    FewVoxels {
        /// The image to which the weight belongs: fixed or moving.
        side: Side,
        /// Number of voxels of the image that have a positive weight.
        found: usize,
        /// Number of intensity bins on the 1 mm level.
        bins: usize,
    },
    /// For every transform that the search evaluated, the images do not overlap or are constant in the overlap.
    #[error("for every transform that was tried, the images do not overlap or are constant in the overlap")]
    NoOverlap,
    /// The start transform has no finite inverse.
    #[error("the starting transform is singular, or has numbers that are not finite")]
    SingularStart,
    /// The number of intensity bins is outside [`Options::BINS`].
    #[error("number of intensity bins: {found}, expected {}", ends(&Options::BINS))]
    Bins {
        /// The number of intensity bins that the options ask for.
        found: usize,
    },
    /// The finest level in the options, mm, is not one of [`Options::LEVELS_MM`].
    #[error("finest resolution level: {0} mm, expected {levels} mm", levels = listed(&Options::LEVELS_MM))]
    FinestLevel(f64),
    /// Of the two shares of voxels that set the robust range of intensities, one is outside [`Options::SHARES`], or the
    /// lower share is not below the upper share.
    #[error(
        "robust range of intensities: {0:?}, expected two shares of the voxels with {least} ≤ low < high ≤ {most}",
        least = Options::SHARES.start(), most = Options::SHARES.end()
    )]
    RobustShares([f64; 2]),
    /// The range of angles of the search, degrees, is outside [`AngleSearch::RANGE_DEGREES`].
    #[error(
        "largest rotation angles of the search: {0:?}°, expected {range} for each axis",
        range = ends(&AngleSearch::RANGE_DEGREES)
    )]
    AngleRange([f64; 3]),
    /// The step between angles of the search, degrees, is outside [`AngleSearch::STEP_DEGREES`].
    #[error(
        "step between the rotation angles of the search: {0}°, expected {range}",
        range = ends(&AngleSearch::STEP_DEGREES)
    )]
    AngleStep(f64),
    /// Boundary-based registration is not supported for slices.
    #[error("boundary-based registration needs volumes, found slices")]
    BoundaryOfSlices,
    /// Boundary-based registration needs white matter, but none was given.
    #[error("boundary-based registration needs the white matter of the fixed image")]
    NoWhiteMatter,
    /// The white matter's border has too few points.
    #[error(
        "the border of the white matter has {found} points, expected at least {least}: white matter is where values \
         are above 0.5"
    )]
    FewBoundaryPoints {
        /// Number of points found on the border of the white matter.
        found: usize,
        /// Smallest number of points on the border that determines a transform.
        least: usize,
    },
    /// The distance between the white matter's border and the sampling positions, mm, is outside
    /// [`Boundary::DISTANCE_MM`].
    #[error(
        "distance from the border of the white matter: {0} mm, expected {range} mm",
        range = ends(&Boundary::DISTANCE_MM)
    )]
    BoundaryDistance(f64),
    /// In the cost of boundary-based registration, the slope is zero, or the slope or the offset is not finite.
    #[error(
        "slope {slope} and offset {offset} of the boundary cost: expected finite numbers, and a slope that is not 0"
    )]
    BoundaryNumber {
        /// Slope of the cost of boundary-based registration as a function of the contrast, per % of contrast.
        slope: f64,
        /// Offset of the contrast in the cost of boundary-based registration, %.
        offset: f64,
    },
    /// The observer stopped the registration.
    #[error("the registration was stopped")]
    Stopped,
    /// An operation on the device failed.
    #[error(transparent)]
    Device(#[from] kernels::Error),
}

/// Formats the two ends of a range, such as "0 to 180".
fn ends(range: &RangeInclusive<impl fmt::Display>) -> String {
    format!("{} to {}", range.start(), range.end())
}

/// Formats numbers as a list, such as "8, 4, 2 or 1".
fn listed(numbers: &[f64]) -> String {
    let mut text = String::new();
    for (index, number) in numbers.iter().enumerate() {
        let separator = match index {
            0 => "",
            _ if index + 1 == numbers.len() => " or ",
            _ => ", ",
        };
        text.push_str(&format!("{separator}{number}"));
    }
    text
}
