//! The command-line options of label fusion.

use antsreg_cohort::fusion::JointOptions;
use antsreg_console::UsageError;
use antsreg_study::labels::Fusion;
use clap::ValueEnum;

use crate::values;

/// Options for fusing the labels of several atlases into one label map.
// The attribute `requires` alone is not enough for these options: clap does not enforce it if another given option
// conflicts with the required option.
#[derive(Debug, Clone, clap::Args)]
pub struct FusionArgs {
    /// How the labels of several atlases are fused [default: joint]
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        help_heading = "Fusion",
        requires = "atlas",
        conflicts_with_all = ["leave_one_out", "labels"]
    )]
    fusion: Option<Kind>,
    /// Also write, for every label, its share of the vote at each voxel, 0 to 1: PREFIXPosterior0017 and so on
    #[arg(long, help_heading = "Fusion", requires = "atlas", conflicts_with_all = ["leave_one_out", "labels"])]
    pub posteriors: bool,
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=JointOptions::MOST_PATCH_RADIUS as i64),
        value_name = "VOXELS", help_heading = "Fusion", requires = "atlas", conflicts_with = "labels", help = format!("Joint: radius of the patches \
        that are compared; a patch is a cube of 2r+1 voxels [default: {}]", JointOptions::default().patch_radius))]
    patch_radius: Option<u8>,
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..=JointOptions::MOST_SEARCH_RADIUS as i64),
        value_name = "VOXELS", help_heading = "Fusion", requires = "atlas", conflicts_with = "labels", help = format!("Joint: largest shift \
        of an atlas's patch from the position of the target's patch, along each axis [default: {}]", JointOptions::default().search_radius))]
    search_radius: Option<u8>,
    #[arg(long, value_parser = values::positive, allow_negative_numbers = true, value_name = "A",
        help_heading = "Fusion", requires = "atlas", conflicts_with = "labels", help = format!("Joint: number that is added to the expected \
        error of each atlas; larger values make the weights more equal [default: {}]", JointOptions::default().alpha))]
    alpha: Option<f64>,
    #[arg(long, value_parser = values::positive, allow_negative_numbers = true, value_name = "B",
        help_heading = "Fusion", requires = "atlas", conflicts_with = "labels", help = format!("Joint: exponent that turns \
        differences of intensity into expected errors [default: {}]", JointOptions::default().beta))]
    beta: Option<f64>,
}

/// The methods of label fusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Weighted votes: an atlas has more weight where it is similar to the target, and less if it makes the same
    /// errors as other atlases (Wang 2013)
    Joint,
    /// Each atlas has one vote on the label of each voxel
    Majority,
}

impl FusionArgs {
    /// Returns joint fusion with the parameters given on the command line.
    pub fn joint(&self) -> Fusion {
        let defaults = JointOptions::default();
        Fusion::Joint(JointOptions {
            patch_radius: self.patch_radius.map_or(defaults.patch_radius, usize::from),
            search_radius: self.search_radius.map_or(defaults.search_radius, usize::from),
            alpha: self.alpha.unwrap_or(defaults.alpha),
            beta: self.beta.unwrap_or(defaults.beta),
        })
    }

    /// Returns the chosen method of label fusion with its parameters. Options without effect on this method are errors.
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
