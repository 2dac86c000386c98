//! The option `--cost bbr` (boundary-based registration) and its parameters.

use antsreg_console::UsageError;
use antsreg_register::linear::{Boundary, BoundaryKind, Cost};
use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::{Shown, given};
use crate::values::name;

/// Value of the option `--cost`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypedCost {
    /// A cost that compares the intensities of both images, such as the correlation ratio. The search over orientations
    /// minimises this cost.
    Search(Cost),
    /// Boundary-based registration. A search that minimises the cost [`TypedCost::of_search`], normalised mutual
    /// information, finds its initial transform.
    Boundary,
}

impl ValueEnum for TypedCost {
    fn value_variants<'a>() -> &'a [TypedCost] {
        &[
            TypedCost::Search(Cost::CorrelationRatio),
            TypedCost::Search(Cost::MutualInformation),
            TypedCost::Search(Cost::NormalisedMutualInformation),
            TypedCost::Search(Cost::NormalisedCorrelation),
            TypedCost::Search(Cost::LeastSquares),
            TypedCost::Boundary,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            TypedCost::Search(cost) => cost.to_possible_value(),
            TypedCost::Boundary => Some(PossibleValue::new("bbr").help(
                "Boundary-based registration, for instance of an EPI to a T1 image with --transform rigid: contrast across the border of \
                 the fixed white matter (--white-matter, or found in a T1-weighted fixed image). Starts from the result of \
                 nmi, or with --no-search from the initial transform. A result whose cost is not lower than that of the start is \
                 refused",
            )),
        }
    }
}

impl TypedCost {
    /// The cost that the search over orientations minimises.
    pub fn of_search(self) -> Cost {
        match self {
            TypedCost::Search(cost) => cost,
            TypedCost::Boundary => Cost::NormalisedMutualInformation,
        }
    }
}

/// Parameters of boundary-based registration, `--cost bbr`.
#[derive(Debug, Clone, clap::Args)]
pub struct BoundaryArgs {
    /// Which side of the border of the white matter is brighter [default: signed]
    #[arg(long, value_enum, value_name = "KIND", help_heading = "Affine stage")]
    bbr_type: Option<BoundaryKind>,
    /// Slope of the cost per % of contrast; negative where grey matter is brighter than white matter [default: -0.05]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, help_heading = "Affine stage")]
    bbr_slope: Option<f64>,
    /// Contrast across the border that counts as neutral, neither as good nor as bad alignment, % [default: 0]
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, help_heading = "Affine stage")]
    bbr_offset: Option<f64>,
    /// Distance of the sampled positions from the border, on both sides, mm [default: 2]
    #[arg(long, value_name = "MM", help_heading = "Affine stage")]
    bbr_distance: Option<f64>,
}

impl BoundaryArgs {
    /// Names of those options of boundary-based registration that were given on the command line.
    pub fn given(&self) -> impl Iterator<Item = &'static str> {
        [
            given("--bbr-type", self.bbr_type.is_some()),
            given("--bbr-slope", self.bbr_slope.is_some()),
            given("--bbr-offset", self.bbr_offset.is_some()),
            given("--bbr-distance", self.bbr_distance.is_some()),
        ]
        .into_iter()
        .flatten()
    }

    /// Returns the parameters of boundary-based registration; `None` without `--cost bbr`. Without `--cost bbr`, the
    /// options of boundary-based registration have no effect, so a given option is an error.
    pub fn of(&self, cost: Option<TypedCost>, no_search: bool) -> Result<Option<Boundary>, UsageError> {
        if cost != Some(TypedCost::Boundary) {
            let with = cost.map_or_else(|| "a cost other than bbr".into(), |cost| format!("--cost {}", name(&cost)));
            return self.given().next().map_or(Ok(None), |option| Err(UsageError::NoEffect { option, with }));
        }
        let usual = Boundary::default();
        Ok(Some(Boundary {
            kind: self.bbr_type.unwrap_or(usual.kind),
            slope: self.bbr_slope.unwrap_or(usual.slope),
            offset: self.bbr_offset.unwrap_or(usual.offset),
            distance_mm: self.bbr_distance.unwrap_or(usual.distance_mm),
            from_start: no_search,
        }))
    }
}

/// Formats the parameters of boundary-based registration as command-line options.
pub fn shown(boundary: &Boundary) -> [Shown; 5] {
    [
        ("--cost", name(&TypedCost::Boundary)),
        ("--bbr-type", name(&boundary.kind)),
        ("--bbr-slope", boundary.slope.to_string()),
        ("--bbr-offset", boundary.offset.to_string()),
        ("--bbr-distance", boundary.distance_mm.to_string()),
    ]
}
