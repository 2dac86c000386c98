//! The command-line options of the affine stage.

use antsreg_console::UsageError;
use antsreg_kernels::JointSampling;
use antsreg_register::linear::{self, AngleSearch, Cost, Optimiser, Search};
use antsreg_register::{Preset, Recipe};

use super::boundary::{self, BoundaryArgs, TypedCost};
use super::help::help;
use super::{Shown, given};
use crate::values::{self, Shares, ValueError, name};

/// Options of the affine stage as given on the command line.
#[derive(Debug, Clone, clap::Args)]
pub struct LinearArgs {
    /// Degrees of freedom of the affine stage: 3 translation, 6 rigid, 7 rigid and one scale, 9 rigid and a scale per
    /// axis, 12 affine; for slices 2, 3, 4, 5 and 6 [default: affine, or as the transform model says]
    #[arg(long, value_parser = dof, value_name = "N", help_heading = "Affine stage")]
    dof: Option<u8>,
    #[arg(long, allow_negative_numbers = true, value_parser = values::angles, value_name = "ANGLES", help_heading = "Affine stage",
        help = help("Range of the searched rotations: ± degrees about x,y,z, or one angle for all axes", angles))]
    search_degrees: Option<[f64; 3]>,
    #[arg(long, allow_negative_numbers = true, value_parser = values::step_degrees, value_name = "DEGREES", help_heading = "Affine stage",
        help = help("Coarse step of the searched angles: translation and scale are optimised at each angle",
            |p| search(p).coarse_step_degrees.to_string()))]
    coarse_step_degrees: Option<f64>,
    #[arg(long, allow_negative_numbers = true, value_parser = values::step_degrees, value_name = "DEGREES", help_heading = "Affine stage",
        help = help("Fine step of the searched angles: the cost alone is evaluated at each angle", |p| search(p).fine_step_degrees.to_string()))]
    fine_step_degrees: Option<f64>,
    /// Do not try the four orientations that align the principal axes of both images
    #[arg(long, help_heading = "Affine stage")]
    no_principal_axes: bool,
    /// Only optimise the initial transform; no search over orientations
    #[arg(long, help_heading = "Affine stage", conflicts_with_all = ["search_degrees", "coarse_step_degrees", "fine_step_degrees", "no_principal_axes"])]
    no_search: bool,
    #[arg(long, alias = "optimizer", value_enum, value_name = "HOW", help_heading = "Affine stage",
        help = help("Optimiser that minimises the cost from each start", |p| name(&p.linear().optimiser)))]
    optimiser: Option<Optimiser>,
    #[arg(long, value_enum, value_name = "COST", help_heading = "Affine stage",
        help = help("Cost that the affine stage minimises", |p| name(&p.linear().cost)))]
    cost: Option<TypedCost>,
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Affine stage",
        help = help("How the joint histogram of mi and nmi is filled", |p| name(&p.linear().histogram)))]
    histogram: Option<JointSampling>,
    #[arg(long, value_parser = clap::value_parser!(u16).range(2..=1024), value_name = "N", help_heading = "Affine stage",
        help = bins_help())]
    bins: Option<u16>,
    #[arg(long, value_parser = finest, value_name = "MM", help_heading = "Affine stage",
        help = help("Finest level of the affine stage, mm: 8, 4, 2 or 1", |p| p.linear().finest_mm.to_string()))]
    finest_mm: Option<f64>,
    #[arg(long, value_parser = values::shares, value_name = "LOW,HIGH", help_heading = "Affine stage",
        help = help("Intensities are clipped to the two values below which these shares of the voxels lie",
            |p| p.linear().robust_shares.map(|share| share.to_string()).join(",")))]
    robust_range: Option<Shares>,
}

impl LinearArgs {
    /// Names of those options of the affine stage that were given on the command line.
    pub fn given(&self) -> impl Iterator<Item = &'static str> {
        [
            given("--dof", self.dof.is_some()),
            given("--search-degrees", self.search_degrees.is_some()),
            given("--coarse-step-degrees", self.coarse_step_degrees.is_some()),
            given("--fine-step-degrees", self.fine_step_degrees.is_some()),
            given("--no-principal-axes", self.no_principal_axes),
            given("--no-search", self.no_search),
            given("--optimiser", self.optimiser.is_some()),
            given("--cost", self.cost.is_some()),
            given("--histogram", self.histogram.is_some()),
            given("--bins", self.bins.is_some()),
            given("--finest-mm", self.finest_mm.is_some()),
            given("--robust-range", self.robust_range.is_some()),
        ]
        .into_iter()
        .flatten()
    }

    /// Returns the name "--dof" for messages if this option was given.
    pub fn given_dof(&self) -> Option<&'static str> {
        given("--dof", self.dof.is_some())
    }

    /// Writes the options of the affine stage into `recipe`, the settings of a whole registration. An option that the
    /// chosen cost does not use is an error.
    pub fn apply(&self, boundary: &BoundaryArgs, recipe: &mut Recipe) -> Result<(), UsageError> {
        let boundary = boundary.of(self.cost, self.no_search)?;
        let cost = self.cost.map_or(recipe.linear.cost, TypedCost::of_search);
        let usual = recipe.linear.clone().with_cost(cost);
        recipe.dof = self.dof;
        recipe.search_degrees = self.search_degrees;
        recipe.linear = linear::Options {
            search: self.search(usual.search),
            optimiser: self.optimiser.unwrap_or(usual.optimiser),
            histogram: self.histogram.unwrap_or(usual.histogram),
            bins: self.bins.map_or(usual.bins, usize::from),
            finest_mm: self.finest_mm.unwrap_or(usual.finest_mm),
            robust_shares: self.robust_range.map_or(usual.robust_shares, |typed| typed.0),
            boundary,
            ..usual
        };
        let useless = [
            given("--histogram", self.histogram.is_some() && !cost.has_joint_histogram()),
            given("--bins", self.bins.is_some() && !cost.has_bins()),
        ];
        match useless.into_iter().flatten().next() {
            Some(option) => Err(UsageError::NoEffect { option, with: format!("--cost {}", name(&cost)) }),
            None => Ok(()),
        }
    }

    fn search(&self, usual: Search) -> Search {
        let usual = match usual {
            Search::Angles(angles) => angles,
            Search::None => AngleSearch::default(),
        };
        match self.no_search {
            true => Search::None,
            false => Search::Angles(AngleSearch {
                coarse_step_degrees: self.coarse_step_degrees.unwrap_or(usual.coarse_step_degrees),
                fine_step_degrees: self.fine_step_degrees.unwrap_or(usual.fine_step_degrees),
                principal_axes: usual.principal_axes && !self.no_principal_axes,
                ..usual
            }),
        }
    }
}

/// Formats the parameters of an affine stage as command-line options. `slices` says whether the images are slices,
/// because `--dof` then has another value for the same model: 3 in place of 6 for rigid, for instance.
pub fn shown(options: &linear::Options, slices: bool) -> Vec<Shown> {
    let mut parameters = vec![("--dof", options.dof.number(slices).to_string())];
    match options.search {
        Search::Angles(angles) => {
            let [x, y, z] = angles.range_degrees;
            parameters.push(("--search-degrees", format!("{x},{y},{z}")));
            parameters.push(("--coarse-step-degrees", angles.coarse_step_degrees.to_string()));
            parameters.push(("--fine-step-degrees", angles.fine_step_degrees.to_string()));
            if !angles.principal_axes {
                parameters.push(("--no-principal-axes", String::new()));
            }
        }
        Search::None => parameters.push(("--no-search", String::new())),
    }
    parameters.push(("--optimiser", name(&options.optimiser)));
    match &options.boundary {
        Some(boundary) => parameters.extend(boundary::shown(boundary)),
        None => parameters.push(("--cost", name(&options.cost))),
    }
    if options.cost.has_joint_histogram() {
        parameters.push(("--histogram", name(&options.histogram)));
    }
    if options.cost.has_bins() {
        parameters.push(("--bins", options.bins.to_string()));
    }
    parameters.push(("--finest-mm", options.finest_mm.to_string()));
    parameters.push(("--robust-range", options.robust_shares.map(|share| share.to_string()).join(",")));
    parameters
}

/// Name, in words, of the cost that the affine stage minimises.
pub fn cost_in_words(cost: Cost) -> &'static str {
    match cost {
        Cost::CorrelationRatio => "correlation ratio",
        Cost::MutualInformation => "mutual information",
        Cost::NormalisedMutualInformation => "normalised mutual information",
        Cost::NormalisedCorrelation => "normalised correlation",
        Cost::LeastSquares => "least squares",
    }
}

fn dof(text: &str) -> Result<u8, ValueError> {
    match text.parse() {
        Ok(number @ (2..=7 | 9 | 12)) => Ok(number),
        _ => Err(ValueError::OutOfRange {
            expected: "3, 6, 7, 9 or 12 for volumes, 2, 3, 4, 5 or 6 for slices",
            found: text.into(),
        }),
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
        "Number of intensity bins at 1 mm. A level of s mm uses N/s bins for cr, and N/√s for each image for mi and nmi \
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
