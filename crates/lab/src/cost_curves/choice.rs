//! The cost functions of the linear stage, with their names on the command line and in the output.

use antsreg_kernels::JointSampling;
use antsreg_linear::Cost;
use clap::ValueEnum;

/// A cost function, as named on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CostChoice {
    /// Correlation ratio, for images of one modality or of two
    Cr,
    /// Mutual information: any two modalities
    Mi,
    /// Normalised mutual information: any two modalities; fields of view may differ
    Nmi,
    /// Normalised correlation: one modality
    Ncc,
    /// Least squares: one modality, one scale of intensity
    Lsq,
}

impl CostChoice {
    /// The cost.
    pub fn cost(self) -> Cost {
        match self {
            CostChoice::Cr => Cost::CorrelationRatio,
            CostChoice::Mi => Cost::MutualInformation,
            CostChoice::Nmi => Cost::NormalisedMutualInformation,
            CostChoice::Ncc => Cost::NormalisedCorrelation,
            CostChoice::Lsq => Cost::LeastSquares,
        }
    }

    /// Name of a curve: the name of the cost function and, if the cost has a joint histogram, how the histogram is
    /// filled.
    pub fn curve_name(self, filling: Option<JointSampling>) -> String {
        let cost = self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        match filling {
            None => cost,
            Some(JointSampling::Trilinear) => cost + " trilinear",
            Some(JointSampling::PartialVolume) => cost + " partial-volume",
        }
    }
}
