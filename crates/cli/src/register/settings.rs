//! How a registration is done, as typed: the model, the preset, every parameter of both stages.

use std::str::FromStr;

use antsreg_linear::{AngleSearch, Cost, Search};

pub use super::choices::{Derivative, Filling, Measure, Metric, Model, Optimiser};
use crate::devices::Devices;
use crate::presets::{Preset, help, per_level};
use crate::values::{self, PerLevel, Shares, TransformFile, ValueError, Winsorise};

/// How a registration is done.
#[derive(Debug, Clone, clap::Args)]
pub struct Settings {
    #[arg(short, long, value_enum, value_name = "MODEL", help_heading = "Registration",
        help = help("What the images may do to match", |p| p.model().to_string()))]
    pub transform: Option<Model>,
    /// Defaults of all options below
    #[arg(long, value_enum, default_value_t, help_heading = "Registration")]
    pub preset: Preset,
    #[arg(
        long,
        value_name = "START",
        help_heading = "Registration",
        help = "Where to start: centre-of-mass, headers, or an \
        ITK affine, fixed to moving: FILE, or [FILE,1] for its inverse [default: centre-of-mass; headers for syn-only]"
    )]
    pub initial_transform: Option<Start>,
    /// Device that computes: cpu, cuda (the first NVIDIA GPU), cuda:N, or auto: cuda where it can be used, else cpu. Of
    /// many registrations some on each: cuda:0,1 or cuda:all, which auto then takes
    #[arg(long, default_value = "auto", value_name = "DEVICE", help_heading = "Registration")]
    pub device: Devices,

    /// Degrees of freedom of the affine stage: 6 rigid, 7 and one scale, 9 and a scale per axis, 12 affine; of slices 3, 4,
    /// 5 and 6 [default: affine, or as the model says]
    #[arg(long, value_parser = dof, value_name = "N", help_heading = "Affine stage")]
    pub dof: Option<u8>,
    #[arg(long, allow_negative_numbers = true, value_parser = values::angles, value_name = "ANGLES", help_heading = "Affine stage",
        help = help("Rotations searched, ± degrees about x,y,z, or one angle for all", angles))]
    pub search_degrees: Option<[f64; 3]>,
    #[arg(long, allow_negative_numbers = true, value_parser = values::step_degrees, value_name = "DEGREES", help_heading = "Affine stage",
        help = help("Step of the angles from which shift and scale are optimised",
            |p| search(p).coarse_step_degrees.to_string()))]
    pub coarse_step_degrees: Option<f64>,
    #[arg(long, allow_negative_numbers = true, value_parser = values::step_degrees, value_name = "DEGREES", help_heading = "Affine stage",
        help = help("Step of the angles at which the cost is looked at", |p| search(p).fine_step_degrees.to_string()))]
    pub fine_step_degrees: Option<f64>,
    /// Do not also start from the turns that put the principal axes of both images on each other
    #[arg(long, help_heading = "Affine stage")]
    pub no_principal_axes: bool,
    /// Refine the start only; no search over orientations
    #[arg(long, help_heading = "Affine stage", conflicts_with_all = ["search_degrees", "coarse_step_degrees", "fine_step_degrees", "no_principal_axes"])]
    pub no_search: bool,
    #[arg(long, alias = "optimizer", value_enum, value_name = "HOW", help_heading = "Affine stage",
        help = help("How each start is brought to the bottom of its valley",
            |p| Optimiser::from(p.linear().optimiser).to_string()))]
    pub optimiser: Option<Optimiser>,
    #[arg(long, value_enum, value_name = "COST", help_heading = "Affine stage",
        help = help("What the affine stage minimises", |p| Measure::from(p.linear().cost).to_string()))]
    pub cost: Option<Measure>,
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Affine stage",
        help = help("How the joint histogram of mi and nmi is filled", |p| Filling::from(p.linear().histogram).to_string()))]
    pub histogram: Option<Filling>,
    #[arg(long, value_parser = clap::value_parser!(u16).range(2..=1024), value_name = "N", help_heading = "Affine stage",
        help = bins_help())]
    pub bins: Option<u16>,
    #[arg(long, value_parser = finest, value_name = "MM", help_heading = "Affine stage",
        help = help("Finest level of the affine stage, mm: 8, 4, 2 or 1", |p| p.linear().finest_mm.to_string()))]
    pub finest_mm: Option<f64>,
    #[arg(long, value_parser = values::shares, value_name = "LOW,HIGH", help_heading = "Affine stage",
        help = help("Intensities are clamped to the values below which these shares of the voxels lie",
            |p| p.linear().robust_shares.map(|share| share.to_string()).join(",")))]
    pub robust_range: Option<Shares>,

    #[arg(long, allow_negative_numbers = true, value_parser = values::factors, value_name = "AxB…", help_heading = "SyN stage",
        help = help("Shrink factor of each level, coarse to fine", |p| per_level(&p.syn().levels, |l| l.shrink)))]
    pub shrink_factors: Option<PerLevel<usize>>,
    #[arg(long, allow_negative_numbers = true, value_parser = values::sigmas, value_name = "AxB…", help_heading = "SyN stage",
        help = help("Smoothing of the images on each level: standard deviation, voxels of the full grid",
            |p| per_level(&p.syn().levels, |l| l.sigma_voxels)))]
    pub smoothing_sigmas: Option<PerLevel<f64>>,
    #[arg(long, allow_negative_numbers = true, value_parser = values::counts, value_name = "AxB…", help_heading = "SyN stage",
        help = help("Most iterations on each level", |p| per_level(&p.syn().levels, |l| l.iterations)))]
    pub iterations: Option<PerLevel<usize>>,
    #[arg(long, value_parser = values::step_voxels, allow_negative_numbers = true, value_name = "VOXELS", help_heading = "SyN stage",
        help = help("Length of one step: the largest displacement it adds, voxels of the level",
            |p| p.syn().gradient_step.to_string()))]
    pub gradient_step: Option<f64>,
    #[arg(long, value_parser = values::variance, allow_negative_numbers = true, value_name = "VOXELS²", help_heading = "SyN stage",
        help = help("Smoothing of each update: variance, voxels² of the level", |p| p.syn().update_variance.to_string()))]
    pub update_variance: Option<f64>,
    #[arg(long, value_parser = values::variance, allow_negative_numbers = true, value_name = "VOXELS²", help_heading = "SyN stage",
        help = help("Smoothing of the whole field after each update: variance, voxels² of the level; 0 for none",
            |p| p.syn().total_variance.to_string()))]
    pub total_variance: Option<f64>,
    #[arg(long, value_enum, ignore_case = true, value_name = "METRIC", help_heading = "SyN stage",
        help = help("What SyN maximises", |p| Metric::from(p.syn().channels.first().map_or_else(Default::default, |c| c.metric)).to_string()))]
    pub metric: Option<Metric>,
    #[arg(long, value_parser = clap::value_parser!(u16).range(8..=256), value_name = "N", help_heading = "SyN stage",
        help = help("Bins of each image's intensities for mutual information, two at either end beyond its range",
            |p| p.syn().bins.to_string()))]
    pub metric_bins: Option<u16>,
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=16), value_name = "VOXELS", help_heading = "SyN stage",
        help = help("Radius of the correlation window; the window is a cube of 2r+1 voxels", |p| p.syn().radius.to_string()))]
    pub cc_radius: Option<u8>,
    #[arg(long, value_enum, value_name = "WHICH", help_heading = "SyN stage",
        help = help("Derivative of the correlation that drives the update", |p| Derivative::from(p.syn().derivative).to_string()))]
    pub cc_derivative: Option<Derivative>,
    #[arg(long, value_parser = clap::value_parser!(u16).range(2..), value_name = "N", help_heading = "SyN stage",
        help = help("A level ends when its energy has stopped falling over this many iterations …",
            |p| p.syn().convergence.window.to_string()))]
    pub convergence_window: Option<u16>,
    #[arg(long, value_parser = values::not_negative, allow_negative_numbers = true, value_name = "SLOPE", help_heading = "SyN stage",
        help = help("… that is, when its slope over them is below this", |p| p.syn().convergence.threshold.to_string()))]
    pub convergence_threshold: Option<f64>,
    #[arg(long, allow_negative_numbers = true, value_parser = values::intervals, value_name = "AxB…", help_heading = "SyN stage",
        help = help("Iterations from one re-inversion of the fields to the next, on each level or on all; fewer \
        re-inversions let them move more freely and fold sooner", |p| per_level(&p.syn().levels, |l| l.reinvert_every)))]
    pub reinvert_every: Option<PerLevel<usize>>,
    #[arg(long, value_parser = values::not_negative, allow_negative_numbers = true, value_name = "SHARE",
        help_heading = "SyN stage", help = help("Standard deviation of the noise that the correlation disregards, as a \
        share of the intensity range", |p| p.syn().noise.to_string()))]
    pub noise: Option<f64>,
    #[arg(long, value_parser = values::share_or_none, allow_negative_numbers = true, value_name = "WEIGHT",
        help_heading = "SyN stage", help = help("How much the correlation of the images' edges (the magnitudes of their \
        gradients) pulls beside that of the images, which has weight 1; 0 for not at all", |p| p.syn().edge_weight.to_string()))]
    pub edge_weight: Option<f64>,
    #[arg(long, value_parser = values::positive, allow_negative_numbers = true, value_name = "VOXELS",
        help_heading = "SyN stage", help = help("How far the warp and its inverse may miss each other at any voxel; where \
        they miss by more, both are corrected or smoothed", |p| p.syn().largest_residual_voxels.to_string()))]
    pub inverse_limit: Option<f64>,
    #[arg(long, value_parser = values::winsorise, value_name = "LOW,HIGH", help_heading = "SyN stage",
        help = help("Intensities clipped first: below and above these shares of the voxels; or none",
            |p| p.syn().winsorise.map_or("none".into(), |(low, high)| format!("{low},{high}"))))]
    pub winsorise: Option<Winsorise>,
}

impl Settings {
    /// What the affine stage minimises: as typed, or that of the preset.
    pub fn cost(&self) -> Cost {
        self.cost.map_or(self.preset.linear().cost, Cost::from)
    }

    /// The model as typed, or that of the preset.
    pub fn model(&self) -> Model {
        self.transform.unwrap_or(self.preset.model())
    }
}

/// Where to start, as typed.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// Centres of mass on each other.
    CentreOfMass,
    /// As the headers say.
    Headers,
    /// A given affine.
    File(TransformFile),
}

impl FromStr for Start {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Start, ValueError> {
        Ok(match text {
            "centre-of-mass" | "center-of-mass" => Start::CentreOfMass,
            "headers" => Start::Headers,
            file => Start::File(file.parse()?),
        })
    }
}

impl std::fmt::Display for Start {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Start::CentreOfMass => write!(f, "centre-of-mass"),
            Start::Headers => write!(f, "headers"),
            Start::File(file) => write!(f, "{file}"),
        }
    }
}

fn dof(text: &str) -> Result<u8, ValueError> {
    match text.parse() {
        Ok(number @ (3..=7 | 9 | 12)) => Ok(number),
        _ => Err(ValueError::OutOfRange { expected: "6, 7, 9 or 12, of slices 3, 4, 5 or 6", found: text.into() }),
    }
}

fn finest(text: &str) -> Result<f64, ValueError> {
    match text.parse() {
        Ok(mm) if [8.0, 4.0, 2.0, 1.0].contains(&mm) => Ok(mm),
        _ => Err(ValueError::OutOfRange { expected: "8, 4, 2 or 1", found: text.into() }),
    }
}

fn bins_help() -> String {
    let [ratio, joint] = [Cost::CorrelationRatio, Cost::MutualInformation].map(Cost::default_bins);
    format!(
        "Bins over the intensities at 1 mm. A level of s mm uses N/s for cr, N/√s on either side for mi and nmi \
         [default: {ratio} for cr, {joint} for mi and nmi]"
    )
}

fn search(preset: Preset) -> AngleSearch {
    match preset.linear().search {
        Search::Angles(angles) => angles,
        Search::None => AngleSearch::default(),
    }
}

fn angles(preset: Preset) -> String {
    match search(preset).range_degrees {
        [x, y, z] if x == y && y == z => x.to_string(),
        [x, y, z] => format!("{x},{y},{z}"),
    }
}

#[cfg(test)]
impl Settings {
    /// As typed.
    pub(super) fn typed(line: &str) -> Settings {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            settings: Settings,
        }
        let Line { settings } = clap::Parser::parse_from(["register"].into_iter().chain(line.split_whitespace()));
        settings
    }
}
