//! Allowed ranges of all options of the deformable stage, and the check of option values against them.

use std::fmt::Display;
use std::ops::{Bound, RangeBounds, RangeFrom, RangeInclusive};

use antsreg_core::schedule::{Convergence, Level};
use antsreg_kernels::MiParameters;

use crate::{Channel, Error, Options};

impl Options {
    /// Allowed weights of a channel (a pair of images in a registration), relative to the weights of the other
    /// channels.
    pub const CHANNEL_WEIGHT: RangeInclusive<f64> = 1e-3..=1e3;
    /// Largest allowed length of a step, voxels. A step must be longer than 0.
    pub const LONGEST_STEP: f64 = 10.0;
    /// Allowed variances of the Gaussians that smooth updates and fields, voxels².
    pub const VARIANCE: RangeInclusive<f64> = 0.0..=1e4;
    /// Allowed radii of the correlation window, voxels.
    pub const RADIUS: RangeInclusive<usize> = 1..=16;
    /// Allowed weights of the edge images (gradient magnitudes of the images), relative to the images themselves, whose
    /// weight is 1.
    pub const EDGE_WEIGHT: RangeInclusive<f64> = 0.0..=1e3;
    /// Allowed shares of the intensity range for the boundaries of tissues.
    pub const BOUNDARY_CONTRAST: RangeInclusive<f64> = 0.0..=1.0;
    /// Allowed numbers of histogram bins for mutual information.
    pub const BINS: RangeInclusive<usize> = MiParameters::BINS;
    /// Allowed shrink factors of a level.
    pub const SHRINK: RangeFrom<usize> = 1..;
    /// Allowed standard deviations of the Gaussian that smooths the images, voxels.
    pub const SIGMA: RangeInclusive<f64> = 0.0..=100.0;
    /// Allowed values of the option `reinvert_every`. After this number of iterations, the displacement fields to the
    /// middle space are replaced by the inverses of their inverses.
    pub const REINVERT_EVERY: RangeFrom<usize> = 1..;
    /// Allowed lengths of the window of the convergence check: the number of last iterations whose energies are
    /// compared.
    pub const CONVERGENCE_WINDOW: RangeFrom<usize> = 2..;
    /// Allowed standard deviations of the noise, as shares of the intensity range.
    pub const NOISE: RangeInclusive<f64> = 0.0..=1.0;
    /// Largest allowed limit of the residual between the warp and its inverse, voxels. The limit must be above 0.
    pub const LARGEST_RESIDUAL: f64 = 100.0;
    /// Allowed convergence thresholds: slopes of the energy below which a level has converged.
    pub const CONVERGENCE_THRESHOLD: RangeInclusive<f64> = 0.0..=1e3;
    /// Allowed weights of the world components in [`restrict`](Options::restrict).
    pub const RESTRICTION: RangeInclusive<f64> = 0.0..=1e3;
    /// Allowed shares of voxels for winsorising, low before high. Intensities are clipped to the quantiles at these
    /// shares.
    pub const SHARES: RangeInclusive<f64> = 0.0..=1.0;

    /// Checks that every option of the deformable stage is within its range.
    ///
    /// # Errors
    /// [`Error::Range`] names the first option out of range; [`Error::NoLevels`] if there is no level.
    pub fn check(&self) -> Result<(), Error> {
        if self.levels.is_empty() {
            return Err(Error::NoLevels);
        }
        if self.channels.is_empty() {
            return Err(refused("channels", "at least one", "none"));
        }
        for (n, Channel { weight, .. }) in self.channels.iter().enumerate() {
            within(format!("weight of channel {}", n + 1), Self::CHANNEL_WEIGHT, *weight)?;
        }
        above_zero("gradient step, voxels", Self::LONGEST_STEP, self.gradient_step)?;
        within("variance of the smoothing of updates, voxels²", Self::VARIANCE, self.update_variance)?;
        within("variance of the smoothing of the whole field, voxels²", Self::VARIANCE, self.total_variance)?;
        within("radius of the correlation window, voxels", Self::RADIUS, self.radius)?;
        within("noise, share of the intensity range", Self::NOISE, self.noise)?;
        within("weight of the edge images", Self::EDGE_WEIGHT, self.edge_weight)?;
        within(
            "contrast of boundaries, share of the intensity range",
            Self::BOUNDARY_CONTRAST,
            self.boundary_contrast,
        )?;
        within("number of bins of mutual information", Self::BINS, self.bins)?;
        above_zero(
            "largest residual of warp and inverse, voxels",
            Self::LARGEST_RESIDUAL,
            self.largest_residual_voxels,
        )?;
        self.restrict.iter().try_for_each(|weight| within("restriction weight", Self::RESTRICTION, *weight))?;
        if self.restrict == [0.0; 3] {
            return Err(refused("restriction weights", "at least one weight above 0", "0 for every axis"));
        }
        for (n, Level { shrink, sigma_voxels, reinvert_every, .. }) in self.levels.iter().enumerate() {
            let of_level = |name: &str| format!("{name} of level {}", n + 1);
            within(of_level("shrink factor"), Self::SHRINK, *shrink)?;
            within(of_level("smoothing sigma, voxels,"), Self::SIGMA, *sigma_voxels)?;
            within(
                of_level("iterations from one re-inversion of the fields to the next"),
                Self::REINVERT_EVERY,
                *reinvert_every,
            )?;
        }
        if let Some(sigmas_mm) = &self.sigmas_mm {
            if sigmas_mm.len() != self.levels.len() {
                let expected = format!("one standard deviation for each of the {} levels", self.levels.len());
                return Err(refused("smoothing sigmas, mm", expected, sigmas_mm.len().to_string()));
            }
            sigmas_mm.iter().try_for_each(|sigma| within("smoothing sigma, mm", Self::SIGMA, *sigma))?;
        }
        let Convergence { window, threshold } = self.convergence;
        within("convergence window", Self::CONVERGENCE_WINDOW, window)?;
        within("convergence threshold", Self::CONVERGENCE_THRESHOLD, threshold)?;
        match self.winsorise {
            Some((low, high)) if low >= high || ![low, high].iter().all(|share| Self::SHARES.contains(share)) => {
                let expected = "two shares of the voxels with 0 ≤ low < high ≤ 1";
                Err(refused("winsorised shares", expected, format!("{low} and {high}")))
            }
            _ => Ok(()),
        }
    }
}

fn refused(option: impl Into<String>, expected: impl Into<String>, found: impl Into<String>) -> Error {
    Error::Range { option: option.into(), expected: expected.into(), found: found.into() }
}

/// Checks that the value of an option is a number within its range.
fn within<T: PartialOrd + Display>(
    option: impl Into<String>,
    range: impl RangeBounds<T>,
    found: T,
) -> Result<(), Error> {
    if range.contains(&found) {
        return Ok(());
    }
    let expected = match (range.start_bound(), range.end_bound()) {
        (Bound::Included(low), Bound::Included(high)) => format!("a number from {low} to {high}"),
        (Bound::Included(low), _) => format!("a finite number from {low}"),
        _ => "another number".into(),
    };
    Err(refused(option, expected, found.to_string()))
}

/// Checks that the value of an option is above 0 and at most `most`.
fn above_zero(option: &str, most: f64, found: f64) -> Result<(), Error> {
    if found > 0.0 && found <= most {
        return Ok(());
    }
    Err(refused(option, format!("a number above 0, at most {most}"), found.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metric;

    /// A test case: a change that makes valid options invalid, and a text that the error must contain. The text is
    /// empty if no error is expected.
    type Case = (fn(&mut Options), &'static str);

    fn options() -> Options {
        let channel = |metric| Channel { metric, weight: 1.0 };
        Options { channels: vec![channel(Metric::Cc), channel(Metric::Mattes)], ..Options::default() }
    }

    #[test]
    fn what_is_within_its_range_is_taken() {
        assert!(Options::default().check().is_ok());
        let least: [fn(&mut Options); 16] = [
            |o| o.channels[1].weight = 1e-3,
            |o| o.gradient_step = 10.0,
            |o| o.update_variance = 0.0,
            |o| o.total_variance = 1e4,
            |o| o.radius = 16,
            |o| o.noise = 0.0,
            |o| o.edge_weight = 1e3,
            |o| o.boundary_contrast = 0.0,
            |o| o.boundary_contrast = 1.0,
            |o| o.bins = 256,
            |o| o.largest_residual_voxels = 1e-9,
            |o| o.restrict = [0.0, 0.0, 0.1],
            |o| o.levels[0] = Level { shrink: 1, sigma_voxels: 100.0, iterations: 0, reinvert_every: 1 },
            |o| o.convergence = Convergence { window: 2, threshold: 0.0 },
            |o| o.winsorise = None,
            |o| o.winsorise = Some((0.0, 1.0)),
        ];
        for change in least {
            let mut options = options();
            change(&mut options);
            assert!(options.check().is_ok(), "{:?}", options.check());
        }
    }

    #[test]
    fn what_is_beyond_its_range_is_named() {
        let cases: [Case; 41] = [
            (|o| o.channels[1].weight = 0.0, "weight of channel 2: expected a number from 0.001 to 1000, found 0"),
            (|o| o.channels[0].weight = f64::INFINITY, "weight of channel 1"),
            (|o| o.channels.clear(), "channels: expected at least one, found none"),
            (|o| o.gradient_step = 0.0, "gradient step, voxels: expected a number above 0, at most 10, found 0"),
            (|o| o.gradient_step = 10.1, "gradient step"),
            (|o| o.gradient_step = f64::NAN, "gradient step"),
            (|o| o.update_variance = -0.1, "smoothing of updates"),
            (|o| o.update_variance = f64::NAN, "smoothing of updates"),
            (|o| o.total_variance = 10001.0, "smoothing of the whole field"),
            (|o| o.radius = 0, "radius of the correlation window, voxels: expected a number from 1 to 16, found 0"),
            (|o| o.radius = 17, "radius"),
            (|o| o.noise = -1.0, "noise"),
            (|o| o.noise = 1e30, "noise, share of the intensity range: expected a number from 0 to 1"),
            (|o| o.edge_weight = -1.0, "weight of the edge images"),
            (|o| o.edge_weight = 1001.0, "weight of the edge images"),
            (|o| o.boundary_contrast = -0.1, "contrast of boundaries"),
            (
                |o| o.boundary_contrast = f64::NAN,
                "contrast of boundaries, share of the intensity range: expected a number",
            ),
            (|o| o.bins = 7, "number of bins of mutual information: expected a number from 8 to 256, found 7"),
            (|o| o.bins = 257, "bins"),
            (
                |o| o.largest_residual_voxels = 0.0,
                "largest residual of warp and inverse, voxels: expected a number above 0, at most 100",
            ),
            (|o| o.largest_residual_voxels = 1e30, "largest residual of warp and inverse"),
            (|o| o.restrict = [1.0, -0.5, 1.0], "restriction weight"),
            (|o| o.restrict = [f64::NAN, 1.0, 1.0], "restriction weight"),
            (|o| o.restrict = [1.0, 1e30, 1.0], "restriction weight"),
            (|o| o.restrict = [0.0, -0.0, 0.0], "restriction weights: expected at least one weight above 0"),
            (|o| o.levels[1].shrink = 0, "shrink factor of level 2: expected a finite number from 1, found 0"),
            (|o| o.levels[0].sigma_voxels = -1.0, "of level 1"),
            (|o| o.levels[0].sigma_voxels = 100.5, "sigma"),
            (|o| o.levels[0].sigma_voxels = f64::NAN, "sigma"),
            (|o| o.levels[3].reinvert_every = 0, "re-inversion of the fields to the next of level 4"),
            (|o| o.convergence.window = 1, "convergence window"),
            (|o| o.convergence.threshold = -1e-9, "convergence threshold"),
            (|o| o.convergence.threshold = f64::NAN, "convergence threshold"),
            (|o| o.winsorise = Some((0.9, 0.1)), "winsorised shares"),
            (|o| o.winsorise = Some((0.5, 0.5)), "winsorised shares"),
            (|o| o.winsorise = Some((-0.1, 0.5)), "winsorised shares"),
            (|o| o.winsorise = Some((0.1, 1.1)), "winsorised shares"),
            (|o| o.winsorise = Some((f64::NAN, 1.0)), "winsorised shares"),
            (|o| o.levels.clear(), "the options of the registration have no resolution level"),
            (
                |o| o.sigmas_mm = Some(vec![1.0]),
                "smoothing sigmas, mm: expected one standard deviation for each of the 4 levels, found 1",
            ),
            (
                |o| o.sigmas_mm = Some(vec![4.0, 2.0, -1.0, 0.0]),
                "smoothing sigma, mm: expected a number from 0 to 100",
            ),
        ];
        for (change, expected) in cases {
            let mut options = options();
            change(&mut options);
            let message = options.check().expect_err(expected).to_string();
            assert!(message.contains(expected), "`{expected}` is missing in: {message}");
        }
    }
}
