//! Options that would do nothing are refused, before anything is read.

use super::channels::{self, ChannelFiles};
use super::settings::{Measure, Model, Settings};
use crate::error::UsageError;

/// Refuses options that would do nothing, given the pairs of images beside the first.
pub fn check(settings: &Settings, further: &[ChannelFiles]) -> Result<(), UsageError> {
    let given = |option, is_given: bool| is_given.then_some(option);
    let model = format!("--transform {}", settings.model());
    let linear = [
        given("--dof", settings.dof.is_some()),
        given("--search-degrees", settings.search_degrees.is_some()),
        given("--coarse-step-degrees", settings.coarse_step_degrees.is_some()),
        given("--fine-step-degrees", settings.fine_step_degrees.is_some()),
        given("--no-principal-axes", settings.no_principal_axes),
        given("--no-search", settings.no_search),
        given("--optimiser", settings.optimiser.is_some()),
        given("--cost", settings.cost.is_some()),
        given("--histogram", settings.histogram.is_some()),
        given("--bins", settings.bins.is_some()),
        given("--finest-mm", settings.finest_mm.is_some()),
        given("--robust-range", settings.robust_range.is_some()),
    ];
    let syn = [
        given("--shrink-factors", settings.shrink_factors.is_some()),
        given("--smoothing-sigmas", settings.smoothing_sigmas.is_some()),
        given("--iterations", settings.iterations.is_some()),
        given("--gradient-step", settings.gradient_step.is_some()),
        given("--update-variance", settings.update_variance.is_some()),
        given("--total-variance", settings.total_variance.is_some()),
        given("--metric", settings.metric.is_some()),
        given("--metric-bins", settings.metric_bins.is_some()),
        given("--cc-radius", settings.cc_radius.is_some()),
        given("--cc-derivative", settings.cc_derivative.is_some()),
        given("--convergence-window", settings.convergence_window.is_some()),
        given("--convergence-threshold", settings.convergence_threshold.is_some()),
        given("--reinvert-every", settings.reinvert_every.is_some()),
        given("--noise", settings.noise.is_some()),
        given("--edge-weight", settings.edge_weight.is_some()),
        given("--inverse-limit", settings.inverse_limit.is_some()),
        given("--winsorise", settings.winsorise.is_some()),
        given("--channel", !further.is_empty()),
    ];
    let useless = match settings.model() {
        Model::SynOnly => linear.into_iter().flatten().next(),
        Model::Syn => None,
        // These models are degrees of freedom already.
        _ => syn.into_iter().chain([linear[0]]).flatten().next(),
    };
    if let Some(option) = useless {
        return Err(UsageError::NoEffect { option, with: model });
    }
    let cost = settings.cost();
    let useless = [
        given("--histogram", settings.histogram.is_some() && !cost.has_joint_histogram()),
        given("--bins", settings.bins.is_some() && !cost.has_bins()),
    ];
    match useless.into_iter().flatten().next() {
        Some(option) => Err(UsageError::NoEffect { option, with: format!("--cost {}", Measure::from(cost)) }),
        None => channels::check(settings, further),
    }
}
