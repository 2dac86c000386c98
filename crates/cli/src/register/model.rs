//! What the images may do to match, and how the affine stage gets there, as typed.

use antsreg_linear as linear;
use clap::ValueEnum;

/// What the images may do to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Model {
    /// Rotation and translation (6 degrees of freedom)
    #[value(alias = "r")]
    Rigid,
    /// Rigid and one scale (7)
    Similarity,
    /// Rigid and a scale per axis (9)
    Scales,
    /// Every affine map (12)
    #[value(alias = "a")]
    Affine,
    /// Affine, then SyN
    #[value(alias = "s")]
    Syn,
    /// SyN alone, from the start given
    #[value(alias = "so")]
    SynOnly,
}

impl std::fmt::Display for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.to_possible_value().as_ref().map_or("", |value| value.get_name()))
    }
}

/// How each start of the affine stage is optimised, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Optimiser {
    /// One parameter after the other, then Newton steps
    Flirt,
    /// Powell's method, at no two points closer than 0.05° and 0.02 mm times the level's mm
    Powell,
    /// Steepest descent
    Descent,
}

impl From<linear::Optimiser> for Optimiser {
    fn from(optimiser: linear::Optimiser) -> Optimiser {
        match optimiser {
            linear::Optimiser::Flirt => Optimiser::Flirt,
            linear::Optimiser::Powell => Optimiser::Powell,
            linear::Optimiser::Descent => Optimiser::Descent,
        }
    }
}

impl From<Optimiser> for linear::Optimiser {
    fn from(optimiser: Optimiser) -> linear::Optimiser {
        match optimiser {
            Optimiser::Flirt => linear::Optimiser::Flirt,
            Optimiser::Powell => linear::Optimiser::Powell,
            Optimiser::Descent => linear::Optimiser::Descent,
        }
    }
}

impl std::fmt::Display for Optimiser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Optimiser::Flirt => "flirt",
            Optimiser::Powell => "powell",
            Optimiser::Descent => "descent",
        })
    }
}
