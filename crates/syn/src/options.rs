//! What a caller may choose.

use antsreg_core::schedule::{Convergence, Level};
use antsreg_kernels::CcDerivative;

use crate::{Channel, Metric};

/// Parameters of the diffeomorphic stage.
///
/// The defaults follow `antsRegistrationSyN.sh` but where measurement found more overlap without folds
/// (docs/benchmarks.md): the exact derivative of the metric, a little noise, longer steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The metric and weight of each pair of images.
    pub channels: Vec<Channel>,
    /// Length of one step, voxels of the level's grid.
    pub gradient_step: f64,
    /// Variance of the Gaussian that smooths each update, voxels².
    pub update_variance: f64,
    /// Variance of the Gaussian that smooths the total field after each update, voxels²; 0 for none.
    pub total_variance: f64,
    /// Of CC: radius of the window, voxels.
    pub radius: usize,
    /// Of CC: which derivative drives the update.
    pub derivative: CcDerivative,
    /// Of CC: standard deviation of the noise that the metric disregards, as a share of the intensity range.
    pub noise: f64,
    /// Of CC: how much the edges of a channel's images, their gradients' magnitudes, pull beside the images themselves;
    /// 0 for not at all.
    pub edge_weight: f64,
    /// Of Mattes: bins of each image, two at either end beyond its range; 8 to 256.
    pub bins: usize,
    /// How far the warp and its inverse may miss each other at any voxel, voxels: where they miss by more, both are
    /// corrected, or smoothed where that does not help.
    pub largest_residual_voxels: f64,
    /// Coarse to fine.
    pub levels: Vec<Level>,
    /// When a level ends before its last iteration.
    pub convergence: Convergence,
    /// Shares of the darkest and brightest voxels clipped before anything else; `None` to leave intensities alone.
    pub winsorise: Option<(f64, f64)>,
}

impl Options {
    /// Whether any channel has this metric.
    pub fn uses(&self, metric: Metric) -> bool {
        self.channels.iter().any(|channel| channel.metric == metric)
    }
}

impl Default for Options {
    fn default() -> Self {
        let levels = [(8, 3.0, 100), (4, 2.0, 70), (2, 1.0, 50), (1, 0.0, 20)];
        Options {
            channels: vec![Channel::default()],
            gradient_step: 0.3,
            update_variance: 3.0,
            total_variance: 0.0,
            radius: 2,
            derivative: CcDerivative::Exact,
            noise: 0.02,
            edge_weight: 0.0,
            bins: 32,
            largest_residual_voxels: 0.45,
            levels: levels
                .map(|(shrink, sigma_voxels, iterations)| Level {
                    shrink,
                    sigma_voxels,
                    iterations,
                    reinvert_every: 1,
                })
                .into(),
            convergence: Convergence { window: 10, threshold: 1e-6 },
            winsorise: Some((0.005, 0.995)),
        }
    }
}

impl Options {
    /// The channels whose edges are compared as well.
    pub(crate) fn edged(&self) -> impl Iterator<Item = (usize, &Channel)> {
        let wanted = |channel: &Channel| channel.metric == Metric::Cc && self.edge_weight > 0.0;
        self.channels.iter().enumerate().filter(move |(_, channel)| wanted(channel))
    }

    /// The channels, then the edges of those that have them.
    pub(crate) fn channels_with_edges(&self) -> Vec<Channel> {
        let edges =
            self.edged().map(|(_, channel)| Channel { weight: channel.weight * self.edge_weight, ..*channel });
        self.channels.iter().copied().chain(edges).collect()
    }
}
