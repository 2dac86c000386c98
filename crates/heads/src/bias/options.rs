//! The parameters of N4.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::Error;

/// The mesh of the coarsest level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mesh {
    /// Length of a mesh element, mm. The last element of an axis may extend beyond the image.
    DistanceMm(f64),
    /// Number of mesh elements along each axis of the image.
    Elements([usize; 3]),
}

/// The parameters of N4. The defaults are those that ANTs recommends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Step between the voxels from which the field is estimated, along each axis.
    pub shrink: usize,
    /// Most iterations of each level, coarsest first. Each level has twice as many mesh elements along each axis as the one
    /// before.
    pub iterations: Vec<usize>,
    /// A level ends when the change of the field has this coefficient of variation, or less.
    pub threshold: f64,
    /// The mesh of the coarsest level.
    pub mesh: Mesh,
    /// Bins of the histogram.
    pub bins: usize,
    /// Full width at half maximum of the Gaussian that is deconvolved from the histogram of the logarithms.
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
    /// Allowed shrink factors.
    pub const SHRINK: RangeInclusive<usize> = 1..=64;
    /// Allowed numbers of levels.
    pub const LEVELS: RangeInclusive<usize> = 1..=8;
    /// Allowed numbers of iterations of a level.
    pub const ITERATIONS: RangeInclusive<usize> = 0..=100_000;
    /// Allowed thresholds of the change.
    pub const THRESHOLD: RangeInclusive<f64> = 0.0..=1.0;
    /// Allowed lengths of a mesh element, mm.
    pub const DISTANCE_MM: RangeInclusive<f64> = 1.0..=1e5;
    /// Allowed numbers of mesh elements along an axis.
    pub const ELEMENTS: RangeInclusive<usize> = 1..=128;
    /// Allowed numbers of histogram bins.
    pub const BINS: RangeInclusive<usize> = 8..=65_536;
    /// Allowed widths of the Gaussian.
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
        self.iterations.iter().try_for_each(|count| within("iterations of a level", Self::ITERATIONS, *count))?;
        within("threshold of the change", Self::THRESHOLD, self.threshold)?;
        match self.mesh {
            Mesh::DistanceMm(distance) => within("distance of the splines, mm", Self::DISTANCE_MM, distance)?,
            Mesh::Elements(elements) => {
                elements.into_iter().try_for_each(|n| within("mesh elements along an axis", Self::ELEMENTS, n))?;
            }
        }
        within("bins of the histogram", Self::BINS, self.bins)?;
        within("width of the deconvolved Gaussian", Self::FWHM, self.fwhm)?;
        within("noise of the Wiener filter", Self::NOISE, self.noise)
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
