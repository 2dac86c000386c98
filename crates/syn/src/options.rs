//! Options of the deformable stage, their allowed ranges, and the check of values against the ranges.

use std::fmt::Display;
use std::ops::{Bound, RangeBounds, RangeFrom, RangeInclusive};

use antsreg_core::schedule::{Convergence, Level};
use antsreg_core::{Grid, Unit};
use antsreg_kernels::{CcDerivative, CcKernels, CcParameters, MiParameters};
use serde::{Deserialize, Serialize};

use crate::{Channel, Error, Mesh, Metric};

/// The voxels of which winsorising takes shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Counted {
    /// All but the background, the commonest value, which keeps its place in the range
    ///
    /// The range does not depend on how much air the field of view holds.
    Foreground,
    /// All voxels, as in ANTs
    All,
}

/// Options of the deformable stage. Their ranges are the constants of this type.
///
/// The defaults follow `antsRegistrationSyN.sh`, except where measurements gave more overlap without folds
/// (docs/benchmarks.md): the exact derivative of the metric, a small noise variance, longer steps, less smoothing of
/// updates, and at the two finest levels a re-inversion of the fields every fourth iteration only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The metric and weight of each pair of images; at least one.
    pub channels: Vec<Channel>,
    /// Length of one gradient step of the iterations, in voxels of the level's grid; above 0, at most
    /// [`LONGEST_STEP`](Options::LONGEST_STEP).
    pub gradient_step: f64,
    /// Variance of the Gaussian that smooths each update, voxels²; 0 for none.
    pub update_variance: f64,
    /// Variance of the Gaussian that smooths the whole displacement field after each update, voxels²; 0 for none.
    pub total_variance: f64,
    /// Mesh of the B-splines that are fitted to each update, as in ANTs' BSplineSyN; `None` for Gaussian smoothing by
    /// `update_variance`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_mesh: Option<Mesh>,
    /// Mesh of the B-splines that are fitted to the whole displacement field after each update; `None` for Gaussian
    /// smoothing by `total_variance`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_mesh: Option<Mesh>,
    /// Radius of the correlation window, voxels; for the metric CC.
    pub radius: usize,
    /// How the update is derived from the windowed cross-correlation, for the metric CC: from the window around each
    /// voxel, as in ANTs, or from all windows that contain the voxel.
    pub derivative: CcDerivative,
    /// The kernels of a GPU that compute the windowed cross-correlation, for the metric CC. The result is the same up to
    /// rounding; on the CPU both choices are one computation.
    pub cc_kernels: CcKernels,
    /// Standard deviation of the noise that both images are assumed to have, as a share of the intensity range; for the
    /// metric CC.
    pub noise: f64,
    /// Weight of the images' edges (gradient magnitudes), relative to the images; 0 for no edges; for the metric CC.
    pub edge_weight: f64,
    /// Share of the intensity range, 0 to 1, that is given to the boundaries of tissues if both images have the same
    /// ones; for the metric CC. The images are then mapped by curves of intensity that are steep there; 0 keeps their
    /// intensities.
    pub boundary_contrast: f64,
    /// Number of histogram bins of each image; for the metric Mattes. Two bins at either end lie outside the intensity
    /// range.
    pub bins: usize,
    /// Largest allowed residual of warp and inverse warp at any voxel, voxels; above 0. Where the residual is larger,
    /// both warps are corrected, or smoothed if the correction does not help.
    pub largest_residual_voxels: f64,
    /// Weights on the world (RAS) components of each update: finite, none below 0, at least one above 0.
    ///
    /// As in ITK, the gradient is multiplied by the weights before it is smoothed and scaled to the step length. If the
    /// axes of the fixed grid are those of the world, the warps are exactly 0 in a component of weight 0.
    pub restrict: [f64; 3],
    /// Whether the displacements of the result keep their full precision. Otherwise they are rounded to multiples of
    /// [`step_mm`](Options::step_mm), or of a quarter or a sixteenth of it if rounding would fold a warp. Compressed
    /// files of rounded displacements are little more than half as large.
    pub exact: bool,
    /// The resolution levels of the deformable stage, coarse to fine; at least one.
    pub levels: Vec<Level>,
    /// The criterion by which a resolution level ends before its largest number of iterations.
    pub convergence: Convergence,
    /// Shares of the voxels (low, high) whose quantiles clip the intensities before the registration; `None` for no
    /// clipping.
    pub winsorise: Option<(f64, f64)>,
    /// The voxels of which `winsorise` gives shares.
    pub winsorise_over: Counted,
    /// Whether, after clipping, the intensities of each moving image are matched to those of its fixed image, as in
    /// ITK ([`histogram_matching`](antsreg_core::histogram_matching)).
    pub match_histograms: bool,
    /// Standard deviations of the Gaussian that smooths the images, mm; one for each level. They replace the levels'
    /// `sigma_voxels`.
    pub sigmas_mm: Option<Vec<f64>>,
}

impl Options {
    /// Whether any channel has the given metric.
    pub fn uses(&self, metric: Metric) -> bool {
        self.channels.iter().any(|channel| channel.metric == metric)
    }

    /// Parameters of the windowed cross-correlation, for images whose intensities were rescaled to 0…1.
    pub fn cc_parameters(&self) -> CcParameters {
        CcParameters {
            radius: self.radius,
            derivative: self.derivative,
            noise_variance: (self.noise * self.noise) as f32,
            kernels: self.cc_kernels,
        }
    }

    /// Whether boundaries get more contrast in any channel.
    pub(crate) fn changes_contrast(&self) -> bool {
        self.boundary_contrast > 0.0 && self.uses(Metric::Cc)
    }
}

impl Default for Options {
    fn default() -> Self {
        let levels = [(8, 3.0, 100, 1), (4, 2.0, 70, 1), (2, 1.0, 50, 4), (1, 0.0, 20, 4)];
        Options {
            channels: vec![Channel::default()],
            gradient_step: 0.3,
            update_variance: 2.5,
            total_variance: 0.0,
            update_mesh: None,
            total_mesh: None,
            radius: 2,
            derivative: CcDerivative::Exact,
            cc_kernels: CcKernels::Tiled,
            noise: 0.02,
            edge_weight: 0.0,
            boundary_contrast: 0.5,
            bins: 32,
            largest_residual_voxels: 0.45,
            restrict: [1.0; 3],
            exact: false,
            levels: levels
                .map(|(shrink, sigma_voxels, iterations, reinvert_every)| Level {
                    shrink,
                    sigma_voxels,
                    iterations,
                    reinvert_every,
                })
                .into(),
            convergence: Convergence { window: 10, threshold: 1e-6 },
            winsorise: Some((0.02, 0.98)),
            winsorise_over: Counted::Foreground,
            match_histograms: false,
            sigmas_mm: None,
        }
    }
}

impl Options {
    /// Displacements on grids of about 1 mm are rounded to multiples of this step, mm. The rounding error is at most half a
    /// step, while a warp and its inverse differ by hundredths of a voxel. The step is a power of two, so rounded numbers
    /// end in zero bits, which compress well.
    pub const STEP_MM: f32 = 1.0 / 1024.0;

    /// The step to whose multiples displacements on `grid` are rounded, mm: about a thousandth of the smallest voxel
    /// spacing. Rounding by larger shares of a voxel could fold a warp.
    pub fn step_mm(grid: &Grid) -> f32 {
        let spacing = if grid.is_slice() { grid.spacing.xy().min() } else { grid.spacing.min() };
        Options::STEP_MM * Unit::of_ratio(spacing * std::f64::consts::SQRT_2).mm() as f32
    }

    /// Standard deviation of the Gaussian that smooths images on `grid` for a level, along each axis, voxels.
    pub(crate) fn sigma_voxels(&self, level: usize, grid: &Grid) -> [f64; 3] {
        let Some(sigmas_mm) = &self.sigmas_mm else { return [self.levels[level].sigma_voxels; 3] };
        let [x, y, z] = grid.spacing.map(|spacing| sigmas_mm[level] / spacing).into();
        [x, y, if grid.is_slice() { 0.0 } else { z }]
    }

    /// The channels (pairs of images) that compare the edges (gradient magnitudes) of their images in addition to the
    /// images. Each channel comes with its index.
    pub(crate) fn edged(&self) -> impl Iterator<Item = (usize, &Channel)> {
        let wanted = |channel: &Channel| channel.metric == Metric::Cc && self.edge_weight > 0.0;
        self.channels.iter().enumerate().filter(move |(_, channel)| wanted(channel))
    }

    /// All channels (pairs of images), followed by one more channel for each channel that also compares the edges
    /// (gradient magnitudes) of its images.
    pub(crate) fn channels_with_edges(&self) -> Vec<Channel> {
        let edges =
            self.edged().map(|(_, channel)| Channel { weight: channel.weight * self.edge_weight, ..*channel });
        self.channels.iter().copied().chain(edges).collect()
    }
}

impl Options {
    /// Allowed weights of a channel (a pair of images in a registration), relative to the weights of the other
    /// channels.
    pub const CHANNEL_WEIGHT: RangeInclusive<f64> = 1e-3..=1e3;
    /// Largest allowed length of a step, voxels. A step must be longer than 0.
    pub const LONGEST_STEP: f64 = 10.0;
    /// Allowed variances of the Gaussians that smooth updates and fields, voxels².
    pub const VARIANCE: RangeInclusive<f64> = 0.0..=1e4;
    /// Allowed distances between the knots of B-splines on the first level, mm.
    pub const KNOTS_MM: RangeInclusive<f64> = 0.1..=1e4;
    /// Allowed numbers of mesh elements of B-splines along each axis on the first level.
    pub const ELEMENTS: RangeInclusive<usize> = 1..=4096;
    /// Allowed radii of the correlation window, voxels.
    pub const RADIUS: RangeInclusive<usize> = 1..=32;
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
    /// Allowed limits of the residual between the warp and its inverse, voxels. The smallest limit is twice the tolerance
    /// to which fields are inverted: a smaller residual cannot be reached by inversion.
    pub const RESIDUAL: RangeInclusive<f64> = 0.01..=100.0;
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
        for mesh in [self.update_mesh, self.total_mesh].into_iter().flatten() {
            match mesh {
                Mesh::KnotsMm(mm) => within("distance between the knots of B-splines, mm", Self::KNOTS_MM, mm)?,
                Mesh::Elements(elements) => elements
                    .into_iter()
                    .try_for_each(|n| within("number of mesh elements of B-splines", Self::ELEMENTS, n))?,
            }
        }
        within("radius of the correlation window, voxels", Self::RADIUS, self.radius)?;
        within("noise, share of the intensity range", Self::NOISE, self.noise)?;
        within("weight of the edge images", Self::EDGE_WEIGHT, self.edge_weight)?;
        within(
            "contrast of boundaries, share of the intensity range",
            Self::BOUNDARY_CONTRAST,
            self.boundary_contrast,
        )?;
        within("number of bins of mutual information", Self::BINS, self.bins)?;
        within("largest residual of warp and inverse, voxels", Self::RESIDUAL, self.largest_residual_voxels)?;
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
mod tests;
