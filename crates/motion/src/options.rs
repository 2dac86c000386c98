//! Options of motion correction, and their allowed ranges.

use antsreg_linear::Dof;
use serde::{Deserialize, Serialize};

use crate::Error;

/// Cost of an alignment. The choices differ in which changes of intensity they allow between the reference and a
/// volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Cost {
    /// Normalised correlation: intensities may be scaled and shifted.
    #[default]
    Ncc,
    /// Mean squared difference: reference and volume have equal intensities.
    Lsq,
    /// Correlation ratio: intensities are a function of the reference's intensities, for series whose contrast changes
    /// (diffusion).
    Cr,
    /// Normalised mutual information: intensities may change in any way.
    Nmi,
}

/// Options of motion correction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Model of each volume's transform, by its degrees of freedom.
    pub dof: Dof,
    /// The cost that the alignment minimises.
    pub cost: Cost,
    /// Standard deviations of the Gaussians that smooth the reference and the volumes, mm in a human head: one for each
    /// level, coarse to fine. For heads of another size they are lengths in the head's [`Unit`](antsreg_core::Unit).
    pub smoothing_sigmas_mm: Vec<f64>,
    /// Largest number of steps in the search for a volume's transform, on each level of smoothing.
    pub iterations: usize,
    /// Largest number of the reference's voxels that are compared. Those with the strongest gradient are chosen.
    pub points: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            dof: Dof::Rigid6,
            cost: Cost::Ncc,
            smoothing_sigmas_mm: vec![4.0, 2.0],
            iterations: 20,
            points: 40_000,
        }
    }
}

impl Options {
    /// Allowed standard deviations, mm, of the Gaussians that smooth the reference and the volumes for motion
    /// correction.
    pub const SIGMAS_MM: std::ops::RangeInclusive<f64> = 0.0..=20.0;

    /// Checks that all options of motion correction are in range.
    ///
    /// # Errors
    /// [`Error::Levels`], [`Error::Sigma`], [`Error::Count`].
    pub fn check(&self) -> Result<(), Error> {
        if self.smoothing_sigmas_mm.is_empty() {
            return Err(Error::Levels);
        }
        if let Some(sigma) = self.smoothing_sigmas_mm.iter().find(|sigma| !Self::SIGMAS_MM.contains(sigma)) {
            return Err(Error::Sigma(*sigma));
        }
        match [("iterations", self.iterations, 1), ("points", self.points, 100)]
            .iter()
            .find(|(_, n, least)| n < least)
        {
            Some(&(what, found, least)) => Err(Error::Count { what, found, least }),
            None => Ok(()),
        }
    }
}
