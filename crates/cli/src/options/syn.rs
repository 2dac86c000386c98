//! The command-line options of the SyN stage.

use antsreg_console::UsageError;
use antsreg_core::schedule::{Convergence, Level};
use antsreg_kernels::CcDerivative;
use antsreg_register::syn::{self, Channel, Metric};
use antsreg_register::{Preset, Recipe, Schedule};

use super::help::help;
use super::{Shown, given, per_level};
use crate::values::{self, PerLevel, Winsorise, name};

/// Options of the SyN stage as given on the command line.
#[derive(Debug, Clone, clap::Args)]
pub struct SynArgs {
    #[arg(long, allow_negative_numbers = true, value_parser = values::factors, value_name = "AxB…", help_heading = "SyN stage",
        help = help("Shrink factor of each level, coarse to fine", |p| levels(p, |l| l.shrink)))]
    shrink_factors: Option<PerLevel<usize>>,
    #[arg(long, allow_negative_numbers = true, value_parser = values::sigmas, value_name = "AxB…", help_heading = "SyN stage",
        help = help("Smoothing of the images on each level: standard deviation, voxels of the full grid",
            |p| levels(p, |l| l.sigma_voxels)))]
    smoothing_sigmas: Option<PerLevel<f64>>,
    #[arg(long, allow_negative_numbers = true, value_parser = values::counts, value_name = "AxB…", help_heading = "SyN stage",
        help = help("Largest number of iterations on each level", |p| levels(p, |l| l.iterations)))]
    iterations: Option<PerLevel<usize>>,
    #[arg(long, value_parser = values::step_voxels, allow_negative_numbers = true, value_name = "VOXELS", help_heading = "SyN stage",
        help = help("Length of a step: the largest displacement that an iteration adds, voxels of the level",
            |p| p.syn().gradient_step.to_string()))]
    gradient_step: Option<f64>,
    #[arg(long, value_parser = values::variance, allow_negative_numbers = true, value_name = "VOXELS²", help_heading = "SyN stage",
        help = help("Smoothing of each update: variance, voxels² of the level", |p| p.syn().update_variance.to_string()))]
    update_variance: Option<f64>,
    #[arg(long, value_parser = values::variance, allow_negative_numbers = true, value_name = "VOXELS²", help_heading = "SyN stage",
        help = help("Smoothing of the whole field after each update: variance, voxels² of the level; 0 for none",
            |p| p.syn().total_variance.to_string()))]
    total_variance: Option<f64>,
    #[arg(long, value_enum, ignore_case = true, value_name = "METRIC", help_heading = "SyN stage",
        help = help("Similarity metric that SyN maximises", |p| name(&first_metric(&p.syn()))))]
    metric: Option<Metric>,
    #[arg(long, value_parser = clap::value_parser!(u16).range(8..=256), value_name = "N", help_heading = "SyN stage",
        help = help("Number of intensity bins of each image for mutual information; two at each end lie beyond the range of the intensities",
            |p| p.syn().bins.to_string()))]
    metric_bins: Option<u16>,
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=16), value_name = "VOXELS", help_heading = "SyN stage",
        help = help("Radius of the correlation window; the window is a cube of 2r+1 voxels", |p| p.syn().radius.to_string()))]
    cc_radius: Option<u8>,
    #[arg(long, value_enum, value_name = "WHICH", help_heading = "SyN stage",
        help = help("Derivative of the correlation that drives the update", |p| name(&p.syn().derivative)))]
    cc_derivative: Option<CcDerivative>,
    #[arg(long, value_parser = clap::value_parser!(u16).range(2..), value_name = "N", help_heading = "SyN stage",
        help = help("A level ends when the slope of its energy over this number of iterations is below the threshold",
            |p| p.syn().convergence.window.to_string()))]
    convergence_window: Option<u16>,
    #[arg(long, value_parser = values::slope, allow_negative_numbers = true, value_name = "SLOPE", help_heading = "SyN stage",
        help = help("Slope of the energy below which a level ends", |p| p.syn().convergence.threshold.to_string()))]
    convergence_threshold: Option<f64>,
    #[arg(long, allow_negative_numbers = true, value_parser = values::intervals, value_name = "AxB…", help_heading = "SyN stage",
        help = help("Number of iterations between two re-inversions of the fields, on each level or on all; with fewer \
        re-inversions the fields move more freely and fold sooner", |p| levels(p, |l| l.reinvert_every)))]
    reinvert_every: Option<PerLevel<usize>>,
    #[arg(long, value_parser = values::share, allow_negative_numbers = true, value_name = "SHARE",
        help_heading = "SyN stage", help = help("Standard deviation of the noise that the correlation disregards, as a \
        share of the intensity range", |p| p.syn().noise.to_string()))]
    noise: Option<f64>,
    #[arg(long, value_parser = values::share_or_none, allow_negative_numbers = true, value_name = "WEIGHT",
        help_heading = "SyN stage", help = help("Weight of the correlation of the images' edges (the magnitudes of their \
        gradients), relative to the correlation of the images; 0: edges are not used", |p| p.syn().edge_weight.to_string()))]
    edge_weight: Option<f64>,
    #[arg(long, value_parser = values::share, allow_negative_numbers = true, value_name = "SHARE",
        help_heading = "SyN stage", help = help("Share of the intensity range that is given to the boundaries of tissues \
        if both images have the same ones, for the correlation; 0: intensities are kept", |p| p.syn().boundary_contrast.to_string()))]
    boundary_contrast: Option<f64>,
    #[arg(long, value_parser = values::miss_voxels, allow_negative_numbers = true, value_name = "VOXELS",
        help_heading = "SyN stage", help = help("Largest inverse inconsistency of the warp and its inverse at any voxel; \
        where it is exceeded, both are corrected or smoothed", |p| p.syn().largest_residual_voxels.to_string()))]
    inverse_limit: Option<f64>,
    #[arg(long, value_parser = values::winsorise, value_name = "LOW,HIGH", help_heading = "SyN stage",
        help = help("Intensities are first clipped to the two values below which these shares of the voxels lie; or none",
            |p| p.syn().winsorise.map_or("none".into(), |(low, high)| format!("{low},{high}"))))]
    winsorise: Option<Winsorise>,
    /// Weights of the x, y and z components (world axes) of each update, as in ANTs: 0x1x0 moves along y alone
    /// [default: 1x1x1]
    #[arg(long, allow_negative_numbers = true, value_parser = values::restriction, value_name = "XxYxZ", help_heading = "SyN stage")]
    restrict_deformation: Option<[f64; 3]>,
    /// Do not round displacements. By default they are rounded to multiples of 1/1024 mm, or of about a thousandth of a
    /// voxel on grids finer than 0.7 mm, or of finer steps if the warp would fold; compressed warps then take little
    /// more than half the space
    #[arg(long, help_heading = "SyN stage")]
    exact: bool,
}

impl SynArgs {
    /// Names of those options of the SyN stage that were given on the command line.
    pub fn given(&self) -> impl Iterator<Item = &'static str> {
        [
            given("--shrink-factors", self.shrink_factors.is_some()),
            given("--smoothing-sigmas", self.smoothing_sigmas.is_some()),
            given("--iterations", self.iterations.is_some()),
            given("--gradient-step", self.gradient_step.is_some()),
            given("--update-variance", self.update_variance.is_some()),
            given("--total-variance", self.total_variance.is_some()),
            given("--metric", self.metric.is_some()),
            given("--metric-bins", self.metric_bins.is_some()),
            given("--cc-radius", self.cc_radius.is_some()),
            given("--cc-derivative", self.cc_derivative.is_some()),
            given("--convergence-window", self.convergence_window.is_some()),
            given("--convergence-threshold", self.convergence_threshold.is_some()),
            given("--reinvert-every", self.reinvert_every.is_some()),
            given("--noise", self.noise.is_some()),
            given("--edge-weight", self.edge_weight.is_some()),
            given("--boundary-contrast", self.boundary_contrast.is_some()),
            given("--inverse-limit", self.inverse_limit.is_some()),
            given("--winsorise", self.winsorise.is_some()),
            given("--restrict-deformation", self.restrict_deformation.is_some()),
            given("--exact", self.exact),
        ]
        .into_iter()
        .flatten()
    }

    /// Writes the options of the SyN stage into `recipe`, the settings of a whole registration.
    pub fn apply(&self, recipe: &mut Recipe) {
        let list = |typed: &Option<PerLevel<usize>>| typed.as_ref().map(|typed| typed.0.clone());
        recipe.schedule = Schedule {
            shrink_factors: list(&self.shrink_factors),
            smoothing_sigmas: self.smoothing_sigmas.as_ref().map(|typed| typed.0.clone()),
            iterations: list(&self.iterations),
            reinvert_every: list(&self.reinvert_every),
        };
        let usual = recipe.syn.clone();
        recipe.syn = syn::Options {
            channels: vec![Channel { metric: self.metric.unwrap_or(first_metric(&usual)), ..Channel::default() }],
            gradient_step: self.gradient_step.unwrap_or(usual.gradient_step),
            update_variance: self.update_variance.unwrap_or(usual.update_variance),
            total_variance: self.total_variance.unwrap_or(usual.total_variance),
            radius: self.cc_radius.map_or(usual.radius, usize::from),
            derivative: self.cc_derivative.unwrap_or(usual.derivative),
            convergence: Convergence {
                window: self.convergence_window.map_or(usual.convergence.window, usize::from),
                threshold: self.convergence_threshold.unwrap_or(usual.convergence.threshold),
            },
            noise: self.noise.unwrap_or(usual.noise),
            edge_weight: self.edge_weight.unwrap_or(usual.edge_weight),
            boundary_contrast: self.boundary_contrast.unwrap_or(usual.boundary_contrast),
            largest_residual_voxels: self.inverse_limit.unwrap_or(usual.largest_residual_voxels),
            bins: self.metric_bins.map_or(usual.bins, usize::from),
            winsorise: self.winsorise.map_or(usual.winsorise, |typed| typed.0),
            restrict: self.restrict_deformation.unwrap_or(usual.restrict),
            exact: self.exact,
            ..usual
        };
    }

    /// Returns an error if an option is given for a similarity metric that no channel (pair of images) uses.
    pub fn check_metrics(&self, options: &syn::Options) -> Result<(), UsageError> {
        let useless = [
            given("--cc-radius", self.cc_radius.is_some() && !options.uses(Metric::Cc)),
            given("--cc-derivative", self.cc_derivative.is_some() && !options.uses(Metric::Cc)),
            given("--noise", self.noise.is_some() && !options.uses(Metric::Cc)),
            given("--edge-weight", self.edge_weight.is_some() && !options.uses(Metric::Cc)),
            given("--boundary-contrast", self.boundary_contrast.is_some() && !options.uses(Metric::Cc)),
            given("--metric-bins", self.metric_bins.is_some() && !options.uses(Metric::Mattes)),
        ];
        match useless.into_iter().flatten().next() {
            Some(option) => {
                Err(UsageError::NoEffect { option, with: format!("--metric {}", name(&first_metric(options))) })
            }
            None => Ok(()),
        }
    }
}

/// Returns the similarity metric of the first channel (the first pair of images) of the SyN stage.
pub fn first_metric(options: &syn::Options) -> Metric {
    options.channels.first().map(|channel| channel.metric).unwrap_or_default()
}

/// Names of the similarity metrics that the SyN stage maximises.
pub fn metrics_in_words(options: &syn::Options) -> &'static str {
    match [Metric::Cc, Metric::Mattes].map(|metric| options.uses(metric)) {
        [true, true] => "windowed cross-correlation and mutual information",
        [false, true] => "mutual information",
        _ => "windowed cross-correlation",
    }
}

/// Formats the parameters of the SyN stage as command-line options, without parameters that no metric uses.
pub fn shown(options: &syn::Options) -> Vec<Shown> {
    let of_levels = &options.levels;
    let mut parameters = vec![
        ("--shrink-factors", per_level(of_levels.iter().map(|level| level.shrink))),
        ("--smoothing-sigmas", per_level(of_levels.iter().map(|level| level.sigma_voxels))),
        ("--iterations", per_level(of_levels.iter().map(|level| level.iterations))),
        ("--gradient-step", options.gradient_step.to_string()),
        ("--update-variance", options.update_variance.to_string()),
        ("--total-variance", options.total_variance.to_string()),
        ("--metric", name(&first_metric(options))),
        ("--metric-bins", options.bins.to_string()),
        ("--cc-radius", options.radius.to_string()),
        ("--cc-derivative", name(&options.derivative)),
        ("--convergence-window", options.convergence.window.to_string()),
        ("--convergence-threshold", options.convergence.threshold.to_string()),
        ("--reinvert-every", per_level(of_levels.iter().map(|level| level.reinvert_every))),
        ("--noise", options.noise.to_string()),
        ("--edge-weight", options.edge_weight.to_string()),
        ("--boundary-contrast", options.boundary_contrast.to_string()),
        ("--inverse-limit", options.largest_residual_voxels.to_string()),
        ("--winsorise", options.winsorise.map_or("none".into(), |(low, high)| format!("{low},{high}"))),
        ("--restrict-deformation", per_level(options.restrict)),
        ("--exact", String::new()),
    ];
    parameters.retain(|(option, _)| match *option {
        "--cc-radius" | "--cc-derivative" | "--noise" | "--edge-weight" | "--boundary-contrast" => {
            options.uses(Metric::Cc)
        }
        "--metric-bins" => options.uses(Metric::Mattes),
        "--restrict-deformation" => options.restrict != [1.0; 3],
        "--exact" => options.exact,
        _ => true,
    });
    parameters
}

/// Formats a setting of all levels of a preset as on the command line, such as "8x4x2x1".
fn levels<T: std::fmt::Display>(preset: Preset, part: impl Fn(&Level) -> T) -> String {
    per_level(preset.syn().levels.iter().map(part))
}
