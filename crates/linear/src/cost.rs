//! Costs: dissimilarity of two images. 0 means that each image predicts the other, 1 that they are independent.

use std::fmt;

use antsreg_kernels::{Entropies, Moments};
use serde::{Deserialize, Serialize};

/// A cost function of two images, from 0 (most similar) to 1, which the registration minimises. In the formulas, x are
/// intensities of the fixed image and y of the moving image; a search may exchange the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Cost {
    /// Correlation ratio, for images of one modality or of two.
    ///
    /// The cost is 1 − η (Roche et al. 1998; Jenkinson & Smith 2001): the part of the moving image's variance that
    /// remains within the bins of the fixed image. A search may also evaluate the cost with the images exchanged.
    #[serde(rename = "cr")]
    #[cfg_attr(feature = "clap", value(name = "cr"))]
    CorrelationRatio,
    /// Mutual information: any two modalities.
    ///
    /// The cost is 1 − I / ln(bins). Here I = H(X) + H(Y) − H(X,Y) is the mutual information, and H is the entropy of
    /// the fixed intensities X, of the moving intensities Y, or of both together (Collignon et al. 1995; Viola & Wells
    /// 1996).
    #[serde(rename = "mi")]
    #[cfg_attr(feature = "clap", value(name = "mi"))]
    MutualInformation,
    /// Normalised mutual information: any two modalities; fields of view may differ.
    ///
    /// The cost is 2 − (H(X) + H(Y)) / H(X,Y) (Studholme et al. 1999). Here H is the entropy of the fixed intensities
    /// X, of the moving intensities Y, or of both together. The cost depends less on the size of the overlap than
    /// mutual information.
    #[serde(rename = "nmi")]
    #[cfg_attr(feature = "clap", value(name = "nmi"))]
    NormalisedMutualInformation,
    /// Normalised correlation: one modality.
    ///
    /// The cost is 1 − r², where r is Pearson's correlation: the part of the moving image's variance that a linear fit
    /// to the fixed intensities leaves. It does not depend on the intensity scales of the images.
    #[serde(rename = "ncc")]
    #[cfg_attr(feature = "clap", value(name = "ncc"))]
    NormalisedCorrelation,
    /// Least squares: one modality, one scale of intensity.
    ///
    /// The cost is Σ(y − x)² / Σ(y − ȳ)², at most 1. Here x and y are the intensities of the fixed and of the moving
    /// image, and ȳ is the mean of y. First, the intensities of each image are scaled to the range of this image.
    /// Without the division by the variance, an overlap of background alone would have the lowest cost.
    #[serde(rename = "lsq")]
    #[cfg_attr(feature = "clap", value(name = "lsq"))]
    LeastSquares,
}

/// Formats the cost's name as users type it, such as "cr".
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl Cost {
    /// All costs.
    pub const ALL: [Cost; 5] = [
        Cost::CorrelationRatio,
        Cost::MutualInformation,
        Cost::NormalisedMutualInformation,
        Cost::NormalisedCorrelation,
        Cost::LeastSquares,
    ];

    /// The full name of the cost function, such as "correlation ratio".
    pub fn words(self) -> &'static str {
        match self {
            Cost::CorrelationRatio => "correlation ratio",
            Cost::MutualInformation => "mutual information",
            Cost::NormalisedMutualInformation => "normalised mutual information",
            Cost::NormalisedCorrelation => "normalised correlation",
            Cost::LeastSquares => "least squares",
        }
    }

    /// Default number of intensity bins on the 1 mm level.
    pub fn default_bins(self) -> usize {
        match self {
            Cost::CorrelationRatio => 256,
            _ => 64,
        }
    }

    /// Whether the cost is computed from a joint histogram.
    pub fn has_joint_histogram(self) -> bool {
        matches!(self, Cost::MutualInformation | Cost::NormalisedMutualInformation)
    }

    /// Whether the cost sorts intensities into bins.
    pub fn has_bins(self) -> bool {
        self == Cost::CorrelationRatio || self.has_joint_histogram()
    }

    /// Number of intensity bins on the resolution level with voxels of `mm`: `bins` / mm, where `bins` is the number on
    /// the 1 mm level, because coarser levels have fewer voxels. The joint histogram of two volumes has `bins` / √mm
    /// per axis, because its number of cells is the square of that.
    pub(crate) fn bins_at(self, bins: usize, mm: f64, slices: bool) -> usize {
        let shrink = if self.has_joint_histogram() && !slices { mm.sqrt() } else { mm };
        ((bins as f64 / shrink).round() as usize).max(2)
    }

    /// The cost from the entropies of a joint histogram with bins² cells. The cost is 1 if there is less than one voxel
    /// per cell.
    pub(crate) fn of_entropies(self, entropies: &Entropies, bins: usize) -> f64 {
        // Because of rounding, independent images have a mutual information slightly above 0.
        let nothing = entropies.mutual_information() <= NO_INFORMATION;
        if nothing || entropies.weight < (bins * bins) as f64 {
            return 1.0;
        }
        let cost = match self {
            Cost::NormalisedMutualInformation => 2.0 - entropies.normalised_mutual_information(),
            _ => 1.0 - entropies.mutual_information() / (bins as f64).ln(),
        };
        cost.clamp(0.0, 1.0)
    }

    /// The cost from the moments (sums, squares and products) of the paired intensities of both images.
    pub(crate) fn of_moments(self, moments: &Moments) -> f64 {
        let Moments { weight: n, fixed: x, moving: y, fixed_fixed: xx, moving_moving: yy, fixed_moving: xy } =
            *moments;
        if n <= LEAST_WEIGHT {
            return 1.0;
        }
        let (spread_x, spread_y, common) = (xx - x * x / n, yy - y * y / n, xy - x * y / n);
        // Because of rounding, constant intensities have a variance of about the machine epsilon times their mean
        // square.
        if spread_x <= ROUNDING * xx || spread_y <= ROUNDING * yy {
            return 1.0;
        }
        let cost = match self {
            Cost::LeastSquares => (xx - 2.0 * xy + yy) / spread_y,
            _ => 1.0 - common * common / (spread_x * spread_y),
        };
        cost.clamp(0.0, 1.0)
    }
}

/// If the total weight of the overlap is at most this, the cost is 1.
const LEAST_WEIGHT: f64 = 2.0;

/// If the mutual information is at most this, in nats, the images count as independent and the cost is 1.
const NO_INFORMATION: f64 = 1e-9;

/// A variance below this share of the mean square of the intensities counts as 0.
const ROUNDING: f64 = 1e-6;

#[cfg(test)]
mod tests;
