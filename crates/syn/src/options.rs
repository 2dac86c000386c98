//! Options of the deformable stage.

use antsreg_core::Grid;
use antsreg_core::schedule::{Convergence, Level};
use antsreg_kernels::CcDerivative;
use serde::{Deserialize, Serialize};

use crate::{Channel, Metric};

/// Options of the deformable stage. Their ranges are constants beside [`check`](Options::check).
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
    /// Radius of the correlation window, voxels; for the metric CC.
    pub radius: usize,
    /// How the update is derived from the windowed cross-correlation, for the metric CC: from the window around each
    /// voxel, as in ANTs, or from all windows that contain the voxel.
    pub derivative: CcDerivative,
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
            radius: 2,
            derivative: CcDerivative::Exact,
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
            winsorise: Some((0.005, 0.995)),
            match_histograms: false,
            sigmas_mm: None,
        }
    }
}

impl Options {
    /// Displacements on grids of about 1 mm and coarser grids are rounded to multiples of this step, mm. The rounding
    /// error is at most half a step, while a warp and its inverse differ by hundredths of a millimetre. The step is a
    /// power of two, so rounded numbers end in zero bits, which compress well.
    pub const STEP_MM: f32 = 1.0 / 1024.0;

    /// The step to whose multiples displacements on `grid` are rounded, mm: about a thousandth of the smallest voxel
    /// spacing on grids that are finer than 1 mm, because rounding by larger shares of a voxel could fold a warp.
    pub fn step_mm(grid: &Grid) -> f32 {
        /// More halvings would leave displacements of some 100 mm without rounding.
        const MOST_HALVINGS: f64 = 4.0;
        let spacing = if grid.is_slice() { grid.spacing.xy().min() } else { grid.spacing.min() };
        let halvings = (-spacing.log2()).round().clamp(0.0, MOST_HALVINGS);
        Options::STEP_MM * 0.5_f32.powi(halvings as i32)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn json(options: &Options) -> String {
        serde_json::to_string(options).expect("JSON")
    }

    #[test]
    fn displacements_are_rounded_to_a_thousandth_of_a_fine_voxel() {
        let halvings =
            |spacing: [f64; 3]| (Options::STEP_MM / Options::step_mm(&Grid::axis_aligned([9; 3], spacing))).log2();
        for (spacing, expected) in [(2.0, 0.0), (0.75, 0.0), (0.7, 1.0), (0.5, 1.0), (0.25, 2.0), (0.001, 4.0)] {
            assert_eq!(halvings([3.0, spacing, 3.0]), expected, "{spacing}");
        }
        let slice = Grid::axis_aligned([9, 9, 1], [1.0, 1.0, 0.1]);
        assert_eq!(Options::step_mm(&slice), Options::STEP_MM, "the third axis of a slice does not count");
    }

    #[test]
    fn options_come_back_from_json() {
        let channel = |metric, weight| Channel { metric, weight };
        let changed = Options {
            channels: vec![channel(Metric::Mattes, 0.3), channel(Metric::Cc, 1.0)],
            derivative: CcDerivative::Centre,
            // A number without a short decimal form. JSON stores the shortest decimal text from which it can be read
            // again, and a parser must round correctly to get the same number.
            noise: 0.1 + 0.2,
            gradient_step: 1.0 / 49.0 * 49.0 / 3.0,
            restrict: [1.0, 0.0, 0.5],
            winsorise: None,
            match_histograms: true,
            sigmas_mm: Some(vec![4.0, 2.0, 1.0, 0.1]),
            ..Options::default()
        };
        for options in [Options::default(), changed] {
            assert_eq!(serde_json::from_str::<Options>(&json(&options)).expect("options"), options);
        }
    }

    #[test]
    fn what_is_not_given_has_its_default_and_what_is_unknown_is_refused() {
        let given = serde_json::from_str::<Options>(r#"{"radius": 4, "channels": [{"metric": "mi"}]}"#);
        let channels = vec![Channel { metric: Metric::Mattes, weight: 1.0 }];
        assert_eq!(given.expect("options"), Options { radius: 4, channels, ..Options::default() });
        for unknown in [r#"{"radios": 4}"#, r#"{"channels": [{"wait": 1}]}"#, r#"{"channels": [{"metric": "ncc"}]}"#]
        {
            assert!(serde_json::from_str::<Options>(unknown).is_err(), "{unknown}");
        }
    }

    #[test]
    fn sigmas_in_mm_are_divided_by_the_spacing_and_slices_are_not_smoothed_across() {
        let options = Options { sigmas_mm: Some(vec![4.0, 2.0]), ..Options::default() };
        let grid = |depth| Grid::axis_aligned([9, 9, depth], [0.5, 1.0, 4.0]);
        assert_eq!(options.sigma_voxels(0, &grid(9)), [8.0, 4.0, 1.0]);
        assert_eq!(options.sigma_voxels(1, &grid(1)), [4.0, 2.0, 0.0]);
        assert_eq!(Options::default().sigma_voxels(1, &grid(9)), [2.0; 3]);
    }

    #[test]
    fn edges_are_channels_beside_those_of_cross_correlation() {
        let channel = |metric, weight| Channel { metric, weight };
        let channels = vec![channel(Metric::Cc, 3.0), channel(Metric::Mattes, 2.0), channel(Metric::Cc, 0.5)];
        let options = |edge_weight| Options { channels: channels.clone(), edge_weight, ..Options::default() };
        assert_eq!(options(0.0).channels_with_edges(), channels);
        let edged = options(0.25).channels_with_edges();
        assert_eq!(edged[..3], channels);
        assert_eq!(edged[3..], [channel(Metric::Cc, 0.75), channel(Metric::Cc, 0.125)]);
    }
}
