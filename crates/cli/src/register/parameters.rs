//! The parameters of a registration as records have them: what was asked for, all defaults filled in.

use antsreg_kernels::CcDerivative;
use antsreg_linear::{self as linear, Search};
use antsreg_syn as syn;
use serde::Serialize;

use super::args::Args;
use super::plan::Plan;
use super::settings::{Filling, Measure, Metric, Optimiser, Start};
use crate::interpolation::{ImageInterpolation, LabelInterpolation};
use crate::presets::Preset;

/// What was asked for.
#[derive(Debug, Serialize)]
pub struct Parameters {
    /// The model as typed.
    pub transform: String,
    /// The preset that filled in what was not typed.
    pub preset: Preset,
    /// The start as typed or by default.
    pub start: String,
    /// How the warped images were read.
    pub interpolation: ImageInterpolation,
    /// How the carried labels were read.
    pub label_interpolation: LabelInterpolation,
    /// Of the affine stage.
    pub linear: Option<LinearParameters>,
    /// Of the diffeomorphic stage.
    pub syn: Option<SynParameters>,
}

impl Parameters {
    /// Of a registration from this start by this plan.
    pub fn new(args: &Args, start: &Start, plan: &Plan) -> Parameters {
        Parameters {
            transform: args.settings.model().to_string(),
            preset: args.settings.preset,
            start: start.to_string(),
            interpolation: args.writing.interpolation,
            label_interpolation: args.label_interpolation,
            linear: plan.linear.as_ref().map(|options| LinearParameters::new(options, plan.slices)),
            syn: plan.syn.as_ref().map(Into::into),
        }
    }
}

/// Parameters of the affine stage.
#[derive(Debug, Serialize)]
pub struct LinearParameters {
    /// Degrees of freedom.
    pub dof: u8,
    /// Rotations searched; absent without a search.
    pub search: Option<SearchParameters>,
    /// How each start was optimised, as typed.
    pub optimiser: String,
    /// What was minimised.
    pub cost: String,
    /// How joint histograms were filled, if there were any.
    pub histogram: Option<String>,
    /// Bins at 1 mm, if intensities were put into bins.
    pub bins: Option<usize>,
    /// Finest level.
    pub finest_mm: f64,
    /// Shares of the voxels between which intensities are kept.
    pub robust_shares: [f64; 2],
}

/// Rotations searched.
#[derive(Debug, Serialize)]
pub struct SearchParameters {
    /// ± about x, y, z.
    pub range_degrees: [f64; 3],
    /// Step of the angles from which shift and scale are optimised.
    pub coarse_step_degrees: f64,
    /// Step of the angles at which the cost is looked at.
    pub fine_step_degrees: f64,
    /// Whether the principal axes were tried as well.
    pub principal_axes: bool,
}

impl LinearParameters {
    /// Of a registration of volumes or slices.
    pub fn new(options: &linear::Options, slices: bool) -> LinearParameters {
        LinearParameters {
            dof: options.dof.number(slices),
            search: match options.search {
                Search::Angles(angles) => Some(SearchParameters {
                    range_degrees: angles.range_degrees,
                    coarse_step_degrees: angles.coarse_step_degrees,
                    fine_step_degrees: angles.fine_step_degrees,
                    principal_axes: angles.principal_axes,
                }),
                Search::None => None,
            },
            optimiser: Optimiser::from(options.optimiser).to_string(),
            cost: Measure::from(options.cost).to_string(),
            histogram: options.cost.has_joint_histogram().then(|| Filling::from(options.histogram).to_string()),
            bins: options.cost.has_bins().then_some(options.bins),
            finest_mm: options.finest_mm,
            robust_shares: options.robust_shares,
        }
    }
}

/// Parameters of the diffeomorphic stage.
#[derive(Debug, Serialize)]
pub struct SynParameters {
    /// Metric and weight of each pair of images.
    pub channels: Vec<ChannelParameters>,
    /// Bins of mutual information; absent where no pair has that metric.
    pub metric_bins: Option<usize>,
    /// Length of a step, voxels.
    pub gradient_step_voxels: f64,
    /// Smoothing of an update, voxels².
    pub update_variance_voxels2: f64,
    /// Smoothing of the field, voxels².
    pub total_variance_voxels2: f64,
    /// Radius of the correlation window, voxels; absent where no pair has that metric.
    pub cc_radius_voxels: Option<usize>,
    /// Derivative that drives the update; likewise.
    pub cc_derivative: Option<&'static str>,
    /// Shrink factors, coarse to fine.
    pub shrink_factors: Vec<usize>,
    /// Smoothing of the images, voxels.
    pub smoothing_sigmas_voxels: Vec<f64>,
    /// Most iterations.
    pub iterations: Vec<usize>,
    /// Energies looked at for convergence.
    pub convergence_window: usize,
    /// Slope below which a level ends.
    pub convergence_threshold: f64,
    /// Shares clipped.
    pub winsorise: Option<(f64, f64)>,
    /// Noise that the correlation disregards, share of the intensity range; absent where no pair has that metric.
    pub noise_share: Option<f64>,
    /// Iterations from one re-inversion of the fields to the next.
    pub reinvert_every: Vec<usize>,
    /// How much edges pull beside the images.
    pub edge_weight: f64,
    /// How far the warp and its inverse may miss each other, voxels.
    pub largest_residual_voxels: f64,
}

/// How a pair of images takes part.
#[derive(Debug, Serialize)]
pub struct ChannelParameters {
    /// What it maximises.
    pub metric: String,
    /// Its share of a step.
    pub weight: f64,
}

impl From<&syn::Channel> for ChannelParameters {
    fn from(channel: &syn::Channel) -> ChannelParameters {
        ChannelParameters { metric: Metric::from(channel.metric).to_string(), weight: channel.weight }
    }
}

impl From<&syn::Options> for SynParameters {
    fn from(options: &syn::Options) -> SynParameters {
        let correlated = options.uses(syn::Metric::Cc);
        SynParameters {
            channels: options.channels.iter().map(Into::into).collect(),
            metric_bins: options.uses(syn::Metric::Mattes).then_some(options.bins),
            gradient_step_voxels: options.gradient_step,
            update_variance_voxels2: options.update_variance,
            total_variance_voxels2: options.total_variance,
            cc_radius_voxels: correlated.then_some(options.radius),
            cc_derivative: correlated.then_some(match options.derivative {
                CcDerivative::Centre => "centre",
                CcDerivative::Exact => "exact",
            }),
            shrink_factors: options.levels.iter().map(|level| level.shrink).collect(),
            smoothing_sigmas_voxels: options.levels.iter().map(|level| level.sigma_voxels).collect(),
            iterations: options.levels.iter().map(|level| level.iterations).collect(),
            convergence_window: options.convergence.window,
            convergence_threshold: options.convergence.threshold,
            winsorise: options.winsorise,
            noise_share: correlated.then_some(options.noise),
            reinvert_every: options.levels.iter().map(|level| level.reinvert_every).collect(),
            edge_weight: options.edge_weight,
            largest_residual_voxels: options.largest_residual_voxels,
        }
    }
}
