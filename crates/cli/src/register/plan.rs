//! The options resolved: presets filled in, what contradicts the images refused, every number known before the work starts.

use antsreg_core::schedule::{Convergence, Level};
use antsreg_linear::{self as linear, AngleSearch, Dof, Search};
use antsreg_syn as syn;

use super::args::Args;
use super::channels::{self, ChannelFiles};
use super::inputs::Inputs;
use super::settings::{Model, Settings};
use super::window::TooWide;
use crate::device::Description;
use crate::error::UsageError;

/// Voxels that a level must keep along every axis.
const LEAST_VOXELS: usize = 6;

/// What will be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Parameters of the affine stage, unless left out.
    pub linear: Option<linear::Options>,
    /// Parameters of the diffeomorphic stage, unless left out.
    pub syn: Option<syn::Options>,
    /// Where it happens.
    pub device: Description,
    /// Whether the images have two dimensions.
    pub slices: bool,
}

impl Plan {
    /// Fills in what was not typed, for a fixed grid of this shape.
    pub fn new(settings: &Settings, shape: [usize; 3], device: Description) -> Result<Plan, UsageError> {
        let slices = shape[2] == 1;
        let linear = match settings.model() {
            Model::SynOnly => None,
            _ => Some(linear_options(settings, slices)?),
        };
        let syn = match settings.model() {
            Model::Syn | Model::SynOnly => Some(syn_options(settings, shape)?),
            _ => None,
        };
        Ok(Plan { linear, syn, device, slices })
    }

    /// The same with further pairs of images.
    pub fn with_channels(mut self, settings: &Settings, further: &[ChannelFiles]) -> Plan {
        let further = further.iter().map(|files| channels::channel(settings, files));
        self.syn.iter_mut().for_each(|options| options.channels.extend(further.clone()));
        self
    }

    /// The plan of a registration that its device can carry out.
    pub fn resolve(args: &Args, inputs: &Inputs, device: Description) -> Result<Plan, UsageError> {
        let plan =
            Plan::new(&args.settings, inputs.fixed.grid.shape, device)?.with_channels(&args.settings, &args.channels);
        plan.check_radius(inputs.masks().iter().any(Option::is_some))?;
        Ok(plan)
    }

    /// Refuses a window that the device lacks before the affine stage has taken its time.
    pub fn check_radius(&self, masked: bool) -> Result<(), UsageError> {
        let (Description::Cuda { .. }, Some(syn)) = (&self.device, &self.syn) else { return Ok(()) };
        match TooWide::of(syn.radius, syn.derivative, masked).filter(|_| syn.uses(syn::Metric::Cc)) {
            Some(TooWide { radius, most }) => Err(UsageError::Radius { radius, device: self.device.choice(), most }),
            None => Ok(()),
        }
    }
}

/// Parameters of the affine stage, for volumes or slices.
fn linear_options(settings: &Settings, slices: bool) -> Result<linear::Options, UsageError> {
    let defaults = settings.preset.linear();
    let cost = settings.cost();
    let usual_bins = if cost == defaults.cost { defaults.bins } else { cost.default_bins() };
    let dof = match settings.model() {
        Model::Rigid => Dof::Rigid6,
        Model::Similarity => Dof::Similarity7,
        Model::Scales => Dof::Scales9,
        _ => settings.dof.map_or(Ok(Dof::Affine12), |number| degrees_of_freedom(number, slices))?,
    };
    let usual = match defaults.search {
        Search::Angles(angles) if slices => {
            AngleSearch { range_degrees: AngleSearch::of_slices().range_degrees, ..angles }
        }
        Search::Angles(angles) => angles,
        Search::None => AngleSearch::default(),
    };
    let search = match settings.no_search {
        true => Search::None,
        false => Search::Angles(AngleSearch {
            range_degrees: settings.search_degrees.unwrap_or(usual.range_degrees),
            coarse_step_degrees: settings.coarse_step_degrees.unwrap_or(usual.coarse_step_degrees),
            fine_step_degrees: settings.fine_step_degrees.unwrap_or(usual.fine_step_degrees),
            principal_axes: usual.principal_axes && !settings.no_principal_axes,
        }),
    };
    Ok(linear::Options {
        dof,
        search,
        optimiser: settings.optimiser.map_or(defaults.optimiser, Into::into),
        cost,
        histogram: settings.histogram.map_or(defaults.histogram, Into::into),
        bins: settings.bins.map_or(usual_bins, usize::from),
        finest_mm: settings.finest_mm.unwrap_or(defaults.finest_mm),
        robust_shares: settings.robust_range.map_or(defaults.robust_shares, |typed| typed.0),
    })
}

/// A number of degrees of freedom as that of volumes or slices.
fn degrees_of_freedom(number: u8, slices: bool) -> Result<Dof, UsageError> {
    let all = [Dof::Rigid6, Dof::Similarity7, Dof::Scales9, Dof::Affine12];
    let found = all.into_iter().find(|dof| dof.number(slices) == number);
    let (images, expected) = if slices { ("slices", "3, 4, 5 or 6") } else { ("volumes", "6, 7, 9 or 12") };
    found.ok_or(UsageError::Dof { found: number, images, expected })
}

/// Parameters of the diffeomorphic stage for a fixed grid of this shape.
fn syn_options(settings: &Settings, shape: [usize; 3]) -> Result<syn::Options, UsageError> {
    let defaults = settings.preset.syn();
    Ok(syn::Options {
        channels: vec![channels::first(settings)],
        gradient_step: settings.gradient_step.unwrap_or(defaults.gradient_step),
        update_variance: settings.update_variance.unwrap_or(defaults.update_variance),
        total_variance: settings.total_variance.unwrap_or(defaults.total_variance),
        radius: settings.cc_radius.map_or(defaults.radius, usize::from),
        derivative: settings.cc_derivative.map_or(defaults.derivative, Into::into),
        levels: levels(settings, shape)?,
        convergence: Convergence {
            window: settings.convergence_window.map_or(defaults.convergence.window, usize::from),
            threshold: settings.convergence_threshold.unwrap_or(defaults.convergence.threshold),
        },
        noise: settings.noise.unwrap_or(defaults.noise),
        edge_weight: settings.edge_weight.unwrap_or(defaults.edge_weight),
        largest_residual_voxels: settings.inverse_limit.unwrap_or(defaults.largest_residual_voxels),
        restrict: defaults.restrict,
        bins: settings.metric_bins.map_or(defaults.bins, usize::from),
        winsorise: settings.winsorise.map_or(defaults.winsorise, |typed| typed.0),
    })
}

/// The levels as typed, or those of the preset that suit the image.
fn levels(settings: &Settings, shape: [usize; 3]) -> Result<Vec<Level>, UsageError> {
    // Slices are never shrunk across.
    let axes = if shape[2] == 1 { 2 } else { 3 };
    let extent = shape.into_iter().take(axes).min().unwrap_or(0);
    let fits = |shrink: usize| shrink == 1 || extent / shrink >= LEAST_VOXELS;
    let mut defaults = settings.preset.levels_for(shape);
    if settings.shrink_factors.is_none() {
        // A small image has fewer levels; typed factors are not dropped in silence but refused below.
        defaults.retain(|level| fits(level.shrink));
    }
    let shrink = part(&settings.shrink_factors, &defaults, |level| level.shrink);
    let sigmas = part(&settings.smoothing_sigmas, &defaults, |level| level.sigma_voxels);
    let iterations = part(&settings.iterations, &defaults, |level| level.iterations);
    if shrink.len() != sigmas.len() || shrink.len() != iterations.len() || shrink.is_empty() {
        let (shrink, sigmas, iterations) = (listed(&shrink), listed(&sigmas), listed(&iterations));
        return Err(UsageError::Levels { shrink, sigmas, iterations });
    }
    if let Some(&factor) = shrink.iter().find(|factor| !fits(**factor)) {
        return Err(UsageError::Shrink { factor, extent, least: LEAST_VOXELS });
    }
    let reinvert_every = match settings.reinvert_every.as_ref().map(|typed| typed.0.as_slice()) {
        None => shrink.iter().map(|shrink| usual_reinversion(&defaults, *shrink)).collect(),
        Some([all]) => vec![*all; shrink.len()],
        Some(each) if each.len() == shrink.len() => each.to_vec(),
        Some(each) => return Err(UsageError::Reinversions { found: each.len(), levels: shrink.len() }),
    };
    let zipped = shrink.into_iter().zip(sigmas).zip(iterations).zip(reinvert_every);
    let level = |(((shrink, sigma_voxels), iterations), reinvert_every)| Level {
        shrink,
        sigma_voxels,
        iterations,
        reinvert_every,
    };
    Ok(zipped.map(level).collect())
}

/// One value a level, as it is typed.
fn listed<T: std::fmt::Display>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
}

/// How often the preset re-inverts on its finest level that is at least as coarse.
fn usual_reinversion(defaults: &[Level], shrink: usize) -> usize {
    let level = defaults.iter().rev().find(|level| level.shrink >= shrink).or(defaults.first());
    level.map_or(1, |level| level.reinvert_every)
}

/// What was typed for each level, or the same part of the defaults.
fn part<T: Copy>(
    typed: &Option<crate::values::PerLevel<T>>,
    defaults: &[Level],
    get: impl Fn(&Level) -> T,
) -> Vec<T> {
    typed.as_ref().map_or_else(|| defaults.iter().map(get).collect(), |typed| typed.0.clone())
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::CcDerivative;

    use super::*;

    #[test]
    fn typed_levels_are_reinverted_as_those_of_the_preset_that_are_as_coarse() {
        let levels = |line: &str| {
            let levels = syn_options(&Settings::typed(line), [200; 3]).expect("a schedule").levels;
            levels.iter().map(|level| (level.shrink, level.reinvert_every)).collect::<Vec<_>>()
        };
        let typed = "--smoothing-sigmas 1x0 --iterations 5x5 --shrink-factors";
        assert_eq!(levels("--preset best"), [(8, 1), (4, 1), (2, 6), (1, 6)]);
        assert_eq!(levels(&format!("--preset best {typed} 3x1")), [(3, 1), (1, 6)]);
        assert_eq!(levels(&format!("--preset best {typed} 12x2")), [(12, 1), (2, 6)]);
        assert_eq!(levels(&format!("--preset best --reinvert-every 4 {typed} 3x1")), [(3, 4), (1, 4)]);
        assert_eq!(levels(&format!("{typed} 3x1")), [(3, 1), (1, 1)]);
    }

    #[test]
    fn wide_windows_are_refused_on_a_gpu_where_it_lacks_them() {
        let gpu = || Description::Cuda {
            index: 1,
            name: "GPU".into(),
            compute_capability: "9.0".into(),
            driver_cuda: "13.0".into(),
            memory_bytes: 1,
        };
        let refused = |device, radius, derivative, masked| {
            let syn = Some(syn::Options { radius, derivative, ..Default::default() });
            Plan { linear: None, syn, device, slices: false }
                .check_radius(masked)
                .err()
                .map(|error| error.to_string())
        };
        let message = refused(gpu(), 6, CcDerivative::Exact, false).expect("refused");
        for word in ["--cc-radius 6", "cuda:1", "up to 5", "--device cpu"] {
            assert!(message.contains(word), "`{word}` is missing in: {message}");
        }
        assert!(refused(gpu(), 6, CcDerivative::Centre, true).is_some());
        assert_eq!(refused(gpu(), 6, CcDerivative::Centre, false), None);
        assert_eq!(refused(gpu(), 5, CcDerivative::Exact, true), None);
        assert_eq!(refused(Description::Cpu, 6, CcDerivative::Exact, true), None);
    }
}
