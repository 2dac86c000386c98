//! What says how well two images match: a number from 0, each predicts the other, to 1, nothing in common.

use antsreg_kernels::{Entropies, Moments};

/// Measures of similarity, each as a cost that is minimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// 1 − η (Roche et al. 1998; Jenkinson & Smith 2001): the share of the moving variance that is left within the bins of
    /// the fixed image. For two images of one modality or two.
    CorrelationRatio,
    /// 1 − I(X;Y) / ln(bins), I = H(X) + H(Y) − H(X,Y) (Collignon et al. 1995; Viola & Wells 1996).
    MutualInformation,
    /// 2 − (H(X) + H(Y)) / H(X,Y) (Studholme et al. 1999), which depends less on how much of the images overlaps.
    NormalisedMutualInformation,
    /// 1 − r², r Pearson's correlation: the share of the moving variance that is left around the best line. For two images
    /// of one modality, whatever their scale of intensity.
    NormalisedCorrelation,
    /// Σ(y − x)² / Σ(y − ȳ)², at most 1, of intensities as shares of their ranges: the share of the moving variance that is
    /// left around y = x. For two images of one scale of intensity. Divided by the variance, so that an overlap of nothing
    /// but background is not the best.
    LeastSquares,
}

impl Cost {
    /// Bins at 1 mm that suit the cost.
    pub fn default_bins(self) -> usize {
        match self {
            Cost::CorrelationRatio => 256,
            _ => 64,
        }
    }

    /// Whether it is made of a joint histogram.
    pub fn has_joint_histogram(self) -> bool {
        matches!(self, Cost::MutualInformation | Cost::NormalisedMutualInformation)
    }

    /// Whether it puts intensities into bins.
    pub fn has_bins(self) -> bool {
        self == Cost::CorrelationRatio || self.has_joint_histogram()
    }

    /// Bins on a level of `mm` if there are `bins` at 1 mm. A joint histogram has bins² cells: they, too, become fewer as
    /// the length of a voxel grows, and faster in slices, which have mm⁻² pixels instead of mm⁻³ voxels, few to begin with.
    pub(crate) fn bins_at(self, bins: usize, mm: f64, slices: bool) -> usize {
        let shrink = if self.has_joint_histogram() && !slices { mm.sqrt() } else { mm };
        ((bins as f64 / shrink).round() as usize).max(2)
    }

    /// The cost of a joint histogram of bins² cells. One that holds less than a voxel a cell says nothing.
    pub(crate) fn of_entropies(self, entropies: &Entropies, bins: usize) -> f64 {
        // Rounding leaves images that tell nothing about each other a little information.
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

    /// The cost of a cloud of pairs.
    pub(crate) fn of_moments(self, moments: &Moments) -> f64 {
        let Moments { weight: n, fixed: x, moving: y, fixed_fixed: xx, moving_moving: yy, fixed_moving: xy } =
            *moments;
        if n <= LEAST_WEIGHT {
            return 1.0;
        }
        let (spread_x, spread_y, common) = (xx - x * x / n, yy - y * y / n, xy - x * y / n);
        // Rounding leaves constant values a variance of the order of epsilon times their mean square.
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

/// An overlap of no more weight than this has no variance to speak of.
const LEAST_WEIGHT: f64 = 2.0;

/// Nats.
const NO_INFORMATION: f64 = 1e-9;

/// Share of the mean square that a variance must exceed.
const ROUNDING: f64 = 1e-6;

#[cfg(test)]
mod tests;
