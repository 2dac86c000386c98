//! What is done with the labels of several atlases, as typed.

use antsreg_cohort::fusion::{self, Fused, JointOptions};
use antsreg_core::Volume;
use clap::ValueEnum;
use serde::Serialize;

use super::propagate::Propagated;
use crate::error::{CliError, UsageError};
use crate::values;

/// How the labels of several atlases become one.
// `requires` alone does not do: clap lets it be where something typed conflicts with what is required.
#[derive(Debug, Clone, clap::Args)]
pub struct FusionArgs {
    /// How the labels of several atlases are made into one [default: joint]
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        help_heading = "Fusion",
        requires = "atlas",
        conflicts_with_all = ["leave_one_out", "labels"]
    )]
    pub fusion: Option<Kind>,
    /// Also write, for every label, its share of the vote at each voxel, 0 to 1: PREFIXPosterior0017 and so on
    #[arg(long, help_heading = "Fusion", requires = "atlas", conflicts_with_all = ["leave_one_out", "labels"])]
    pub posteriors: bool,
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=JointOptions::MOST_PATCH_RADIUS as i64),
        value_name = "VOXELS", help_heading = "Fusion", requires = "atlas", conflicts_with = "labels", help = format!("Joint: radius of the patches \
        that are compared; a patch is a cube of 2r+1 voxels [default: {}]", JointOptions::default().patch_radius))]
    pub patch_radius: Option<u8>,
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..=JointOptions::MOST_SEARCH_RADIUS as i64),
        value_name = "VOXELS", help_heading = "Fusion", requires = "atlas", conflicts_with = "labels", help = format!("Joint: how far from its own \
        place an atlas's patch is looked for, along each axis [default: {}]", JointOptions::default().search_radius))]
    pub search_radius: Option<u8>,
    #[arg(long, value_parser = values::positive, allow_negative_numbers = true, value_name = "A",
        help_heading = "Fusion", requires = "atlas", conflicts_with = "labels", help = format!("Joint: what is added to each atlas's own expected \
        error; the larger, the more alike the weights [default: {}]", JointOptions::default().alpha))]
    pub alpha: Option<f64>,
    #[arg(long, value_parser = values::positive, allow_negative_numbers = true, value_name = "B",
        help_heading = "Fusion", requires = "atlas", conflicts_with = "labels", help = format!("Joint: power that makes an intensity difference an \
        expected error [default: {}]", JointOptions::default().beta))]
    pub beta: Option<f64>,
}

/// Ways to fuse labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// By how alike each atlas looks to the target nearby, and to the others (Wang 2013)
    Joint,
    /// Each atlas has one vote
    Majority,
}

/// A way to fuse labels, every number known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Fusion {
    /// One vote each.
    Majority,
    /// Joint label fusion.
    Joint {
        /// Radius of the patches, voxels.
        patch_radius: usize,
        /// Radius of the search, voxels.
        search_radius: usize,
        /// Added to the diagonal of the expected errors.
        alpha: f64,
        /// Power of the differences.
        beta: f64,
    },
}

impl FusionArgs {
    /// Joint fusion with these numbers.
    pub fn joint(&self) -> Fusion {
        let defaults = JointOptions::default();
        Fusion::Joint {
            patch_radius: self.patch_radius.map_or(defaults.patch_radius, usize::from),
            search_radius: self.search_radius.map_or(defaults.search_radius, usize::from),
            alpha: self.alpha.unwrap_or(defaults.alpha),
            beta: self.beta.unwrap_or(defaults.beta),
        }
    }

    /// The fusion asked for; options that it has no use for are refused.
    pub fn resolve(&self) -> Result<Fusion, UsageError> {
        if self.fusion != Some(Kind::Majority) {
            return Ok(self.joint());
        }
        let given = [
            ("--patch-radius", self.patch_radius.is_some()),
            ("--search-radius", self.search_radius.is_some()),
            ("--alpha", self.alpha.is_some()),
            ("--beta", self.beta.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(UsageError::NoEffect { option, with: "--fusion majority".into() }),
            None => Ok(Fusion::Majority),
        }
    }
}

impl Fusion {
    /// Fuses what the atlases say about the target.
    pub fn fuse(self, target: &Volume, atlases: &[Propagated]) -> Result<Fused, CliError> {
        Ok(match self {
            Fusion::Majority => fusion::majority(&atlases.iter().map(|atlas| &atlas.labels).collect::<Vec<_>>())?,
            Fusion::Joint { patch_radius, search_radius, alpha, beta } => {
                let atlases: Vec<fusion::Atlas> = atlases
                    .iter()
                    .map(|atlas| fusion::Atlas { image: &atlas.image, labels: &atlas.labels })
                    .collect();
                fusion::joint(target, &atlases, &JointOptions { patch_radius, search_radius, alpha, beta })?
            }
        })
    }
}
