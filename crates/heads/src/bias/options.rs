//! The parameters of N4.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::Error;

/// The B-spline mesh of the coarsest level, by the length or the number of its elements.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mesh {
    /// Length of a mesh element, mm. The last mesh element of an axis may extend beyond the image.
    DistanceMm(f64),
    /// Number of mesh elements along each axis of the image.
    Elements([usize; 3]),
}

/// The parameters of N4. The defaults are those that ANTs recommends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Shrink factor: distance between the voxels from which the field is estimated, along each axis, in voxels.
    pub shrink: usize,
    /// Largest number of iterations of each level, coarsest level first. Each level has twice as many mesh elements
    /// along each axis as the level before.
    pub iterations: Vec<usize>,
    /// A level ends when the coefficient of variation of the field's change in an iteration is at most this threshold.
    pub threshold: f64,
    /// The B-spline mesh that describes the bias field on the coarsest level.
    pub mesh: Mesh,
    /// Number of bins of the histogram of the logarithms of the intensities.
    pub bins: usize,
    /// Full width at half maximum of the Gaussian that is deconvolved from the histogram, in units of the natural
    /// logarithm.
    pub fwhm: f64,
    /// Noise term of the Wiener filter that deconvolves the Gaussian from the histogram.
    pub noise: f64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            shrink: 4,
            iterations: vec![50; 4],
            threshold: 1e-7,
            mesh: Mesh::DistanceMm(200.0),
            bins: 200,
            fwhm: 0.15,
            noise: 0.01,
        }
    }
}

impl Options {
    /// Allowed shrink factors of N4. The factor n means that the bias field is estimated from every n-th voxel along
    /// each axis.
    pub const SHRINK: RangeInclusive<usize> = 1..=64;
    /// Allowed numbers of resolution levels of N4.
    pub const LEVELS: RangeInclusive<usize> = 1..=8;
    /// Allowed numbers of iterations of N4 on one level.
    pub const ITERATIONS: RangeInclusive<usize> = 0..=100_000;
    /// Allowed thresholds of convergence of N4: a level ends when the coefficient of variation of the field's change in
    /// an iteration is at most the threshold.
    pub const THRESHOLD: RangeInclusive<f64> = 0.0..=1.0;
    /// Allowed lengths of an element of N4's B-spline mesh, mm.
    pub const DISTANCE_MM: RangeInclusive<f64> = 1.0..=1e5;
    /// Allowed numbers of elements of N4's B-spline mesh along an axis.
    pub const ELEMENTS: RangeInclusive<usize> = 1..=128;
    /// Allowed numbers of bins of N4's intensity histogram.
    pub const BINS: RangeInclusive<usize> = 8..=65_536;
    /// Allowed full widths at half maximum of the deconvolved Gaussian.
    pub const FWHM: RangeInclusive<f64> = 1e-3..=10.0;
    /// Allowed noise terms of the Wiener filter.
    pub const NOISE: RangeInclusive<f64> = 1e-9..=1e3;

    /// Checks that every option is within its range.
    ///
    /// # Errors
    /// [`Error::Range`] names the first option out of its range.
    pub fn check(&self) -> Result<(), Error> {
        within("shrink factor", Self::SHRINK, self.shrink)?;
        within("number of levels", Self::LEVELS, self.iterations.len())?;
        self.iterations
            .iter()
            .try_for_each(|count| within("number of iterations of a level", Self::ITERATIONS, *count))?;
        within("threshold of the bias field's change", Self::THRESHOLD, self.threshold)?;
        match self.mesh {
            Mesh::DistanceMm(distance) => within("length of a mesh element, mm", Self::DISTANCE_MM, distance)?,
            Mesh::Elements(elements) => {
                elements
                    .into_iter()
                    .try_for_each(|n| within("number of mesh elements along an axis", Self::ELEMENTS, n))?;
            }
        }
        within("number of histogram bins", Self::BINS, self.bins)?;
        within("full width at half maximum of the deconvolved Gaussian", Self::FWHM, self.fwhm)?;
        within("noise term of the Wiener filter", Self::NOISE, self.noise)
    }
}

fn within<T: PartialOrd + std::fmt::Display>(
    what: &'static str,
    range: RangeInclusive<T>,
    found: T,
) -> Result<(), Error> {
    if range.contains(&found) {
        return Ok(());
    }
    let expected = format!("from {} to {}", range.start(), range.end());
    Err(Error::Range { what, expected, found: found.to_string() })
}
