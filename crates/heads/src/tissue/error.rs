//! Errors of tissue classification.

use crate::bias;

/// Why the white matter of an image could not be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The shading of the image cannot be found.
    #[error(transparent)]
    Bias(#[from] bias::Error),
    /// The brain has too few voxels with a positive intensity.
    #[error("{found} voxels of the brain have a positive intensity, expected at least {least}")]
    FewVoxels {
        /// Number of voxels of the brain with a positive intensity.
        found: usize,
        /// Smallest number of brain voxels from which the tissues can be classified.
        least: usize,
    },
    /// The two brightest classes of intensities cannot be told apart.
    #[error(
        "the brightest tissue of the brain has a contrast of {found:.1} standard deviations to the next tissue and \
         {percent:.0} % of the brain, expected at least {least:.1} and {least_percent:.0} %; give a T1-weighted image",
        percent = 100.0 * share, least_percent = 100.0 * least_share
    )]
    NoContrast {
        /// Difference between the means of the two brightest classes, divided by the mean of their standard deviations.
        found: f64,
        /// Smallest contrast of the two brightest classes at which the classification is accepted.
        least: f64,
        /// Share of the brightest class, 0 to 1.
        share: f64,
        /// Smallest share of the brightest class at which the classification is accepted, 0 to 1.
        least_share: f64,
    },
    /// The brightest tissue lies at the surface of the brain, so it is not white matter, which lies deep inside. The
    /// image is probably not T1-weighted.
    #[error(
        "the brightest tissue is {:.0} % of the inside of the brain and {:.0} % of its surface, but white matter lies \
         inside; expected a T1-weighted image, in which white matter is the brightest tissue", 100.0 * inside,
        100.0 * outside
    )]
    AtSurface {
        /// Share of the brightest tissue among the voxels deep in the brain, 0 to 1.
        inside: f64,
        /// Share of the brightest tissue among the voxels near the surface of the brain, 0 to 1.
        outside: f64,
    },
}
