//! Parameters and results of the operations of [`Backend`](crate::Backend), other than images and fields.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How [`Warping::warp`](crate::ops::Warping::warp) interpolates between voxel centres.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// Trilinear interpolation.
    Linear,
    /// Takes the value of the nearest voxel, for labels and masks. Half-way between two voxels, the voxel with the
    /// higher index is taken.
    Nearest,
}

/// How a pair of fixed and moving voxels enters a joint histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum JointSampling {
    /// Interpolated moving values
    ///
    /// The trilinear moving value y has the position t = (bins − 1)·(y − low)/(high − low) on the axis of bins, clamped
    /// to 0…bins−1. Its weight is divided between the two bins around t in proportion, so that the cost has no steps
    /// where a value passes from bin to bin.
    Trilinear,
    /// The values of the eight voxels around a point, by their partial volume
    ///
    /// Partial volume (Maes et al. 1997; Sun 2010, eqs. 12 to 15): no value is interpolated. Each of the eight voxels
    /// around the point counts in its own bin ⌊bins·(y − low)/(high − low)⌋, clamped, with its trilinear weight.
    PartialVolume,
}

/// Writes the variant's name as on the command line, such as `partial-volume`.
impl fmt::Display for JointSampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// How the values of the moving image enter a joint histogram: how they are counted, number of bins, range of
/// intensities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointParameters {
    /// How moving values are counted: an interpolated value, or the values of the eight voxels around a point.
    pub sampling: JointSampling,
    /// Number of bins of the moving image.
    pub bins: usize,
    /// The range of intensities of the moving image that the histogram bins cover.
    pub low_high: (f32, f32),
}

impl JointParameters {
    /// Allowed numbers of bins of each image.
    pub const BINS: std::ops::RangeInclusive<usize> = 2..=1024;
    /// The integer that stands for a sample of weight 1. Weights are rounded to 1/UNIT, so that sums are exact.
    pub const UNIT: u32 = 1 << 16;

    /// Factor by which (value − `low`) is multiplied to get the position on the axis of bins.
    pub(crate) fn scale(&self) -> f32 {
        let bins = match self.sampling {
            JointSampling::Trilinear => self.bins.saturating_sub(1),
            JointSampling::PartialVolume => self.bins,
        };
        bins as f32 * range_scale(self.low_high)
    }
}

/// Factor of a scaled intensity: (value − low)·factor is the position of an intensity within its range, 0…1.
pub(crate) fn range_scale((low, high): (f32, f32)) -> f32 {
    if high > low { 1.0 / (high - low) } else { 0.0 }
}

/// Entropies of a joint histogram and its two marginals, nats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entropies {
    /// Sum of the weights of all samples in the joint histogram.
    pub weight: f64,
    /// Entropy H(X) of the fixed values.
    pub fixed: f64,
    /// Entropy H(Y) of the moving values.
    pub moving: f64,
    /// Joint entropy H(X,Y) of the fixed and the moving values.
    pub joint: f64,
}

impl Entropies {
    /// Mutual information H(X) + H(Y) − H(X,Y), nats.
    pub fn mutual_information(&self) -> f64 {
        self.fixed + self.moving - self.joint
    }

    /// Normalised mutual information (H(X) + H(Y)) / H(X,Y), from 1 to 2; 1 if all values are constant.
    pub fn normalised_mutual_information(&self) -> f64 {
        if self.joint > 0.0 { (self.fixed + self.moving) / self.joint } else { 1.0 }
    }
}

/// Moments of the pairs (x, y) of fixed and moving values under a transform; see
/// [`Similarity::moments`](crate::ops::Similarity::moments).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moments {
    /// Sum Σw of the weights w of all samples.
    pub weight: f64,
    /// Weighted sum Σw·x over the samples: w is the weight of a sample, x the value of the fixed image there.
    pub fixed: f64,
    /// Weighted sum Σw·y over the samples: w is the weight of a sample, y the value of the moving image there.
    pub moving: f64,
    /// Weighted sum Σw·x² over the samples: w is the weight of a sample, x the value of the fixed image there.
    pub fixed_fixed: f64,
    /// Weighted sum Σw·y² over the samples: w is the weight of a sample, y the value of the moving image there.
    pub moving_moving: f64,
    /// Weighted sum Σw·x·y over the samples: w is the weight of a sample, x and y the values of the fixed and the
    /// moving image there.
    pub fixed_moving: f64,
}

/// How the contrast at a surface point enters the sums; see [`Similarity::contrast`](crate::ops::Similarity::contrast).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContrastRule {
    /// Slope of the term tanh(slope·(q − offset)) that a surface point with contrast q adds to the sums, per percent.
    pub slope: f32,
    /// The contrast q, in percent, at which the term tanh(slope·(q − offset)) of a surface point is 0.
    pub offset: f32,
    /// A point counts only if the mean of its inner and outer intensity exceeds this value, in units of the image.
    pub least: f32,
}

impl ContrastRule {
    /// For each point on a surface, the image `points` has this number of rows: x, y, z of the inner position, x, y, z
    /// of the outer position, and weight.
    pub const ROWS: usize = 7;
}

/// Sums of the contrast over the points of a surface, with weights w and contrasts q; see
/// [`Similarity::contrast`](crate::ops::Similarity::contrast).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Contrast {
    /// Sum Σw of the weights w of the surface points that count.
    pub weight: f64,
    /// Sum of signed contrasts: Σw·tanh(slope·(q − offset)) over the surface points with weight w and contrast q.
    /// [`ContrastRule`] gives `slope` and `offset`.
    pub signed: f64,
    /// Sum of unsigned contrasts: Σw·tanh(slope·|q − offset|) over the surface points with weight w and contrast q.
    /// [`ContrastRule`] gives `slope` and `offset`.
    pub unsigned: f64,
}

/// The derivative of the windowed cross-correlation (CC) from which updates are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum CcDerivative {
    /// The derivative of the correlation in the window around a voxel, as in ANTs
    ///
    /// The update of a voxel is computed from the window centred at this voxel, not from the other windows that contain
    /// the voxel.
    #[cfg_attr(feature = "clap", value(alias = "center"))]
    Centre,
    /// The derivative of the sum over all windows
    ///
    /// The update of a voxel is computed from all windows that contain the voxel.
    Exact,
}

/// Writes the variant's name as on the command line, such as `exact`.
impl fmt::Display for CcDerivative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The kernels that compute the windowed cross-correlation (CC) on a GPU. They give the same result up to rounding. On
/// the CPU both names stand for one computation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum CcKernels {
    /// Sums that slide through tiles of the volume
    ///
    /// The time hardly depends on the radius, which is at most 5 with masks or the exact derivative.
    #[default]
    Tiled,
    /// Images in 3D textures, terms of windows in 3D surfaces (Luo 2015)
    ///
    /// Each thread visits all (2r+1)³ voxels of a window: slower, for every radius.
    Textures,
}

/// Writes the variant's name as on the command line, such as `tiled`.
impl fmt::Display for CcKernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Parameters of [`Similarity::cc_gradient`](crate::ops::Similarity::cc_gradient), windowed cross-correlation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CcParameters {
    /// Radius of the window, voxels: a box of (2·radius + 1)³ voxels, truncated at borders and masks.
    pub radius: usize,
    /// Whether the derivative at a voxel is that for the window centred at the voxel, or for all windows that contain it.
    pub derivative: CcDerivative,
    /// Variance of the noise that both images are assumed to have.
    ///
    /// A and B are the sums of squared deviations from the mean in a window, of the fixed and of the moving image.
    /// `noise_variance` times the number of voxels of the window is added to A and B, so that windows without structure
    /// have almost no effect. With 0 this is ANTs' metric.
    pub noise_variance: f32,
    /// The kernels of a GPU that compute the correlation; without effect on [`Cpu`](crate::Cpu).
    pub kernels: CcKernels,
}

impl CcParameters {
    /// The largest radius of the tiled kernels of [`Cuda`](crate::Cuda). For larger radii [`CcKernels::Tiled`] supports no
    /// masks, and only the derivative [`CcDerivative::Centre`]. [`CcKernels::Textures`] and [`Cpu`](crate::Cpu) support
    /// every radius.
    pub const MOST_TILED_RADIUS: usize = 5;

    /// Number of surfaces in which [`CcKernels::Textures`] keeps the terms of the window of each voxel.
    pub const SURFACES: usize = 6;

    /// Number of terms of the exact derivative for the window of each voxel. They lie in memory of the workspace, unless
    /// the caller lends a scratch field and they [fit](CcParameters::terms_fit) into it.
    pub const TERMS: usize = 5;

    /// Numbers per voxel that the workspace of [`Cuda`](crate::Cuda) needs for windows of this radius: the
    /// [`TERMS`](CcParameters::TERMS) of the exact derivative, unless the caller lends a scratch field. Textures and
    /// surfaces need eight: the [`SURFACES`](CcParameters::SURFACES), and both images in textures.
    pub fn device_scalars(&self, lent: bool) -> usize {
        match self.derivative {
            _ if self.radius > Self::MOST_TILED_RADIUS || self.kernels == CcKernels::Textures => Self::SURFACES + 2,
            CcDerivative::Exact if !lent => Self::TERMS,
            _ => 0,
        }
    }

    /// Whether [`Cuda`](crate::Cuda) computes this with textures and surfaces: as requested, or because only they support
    /// the radius. `masked` says whether there are masks.
    pub(crate) fn by_textures(&self, masked: bool) -> bool {
        let wide = self.radius > Self::MOST_TILED_RADIUS && !masked && self.derivative == CcDerivative::Centre;
        wide || self.kernels == CcKernels::Textures
    }

    /// Whether [`Cuda`](crate::Cuda) supports this window. `masked` says whether there are masks.
    pub fn fits_a_gpu(&self, masked: bool) -> bool {
        self.radius <= Self::MOST_TILED_RADIUS || self.by_textures(masked)
    }
}

/// Scores of the windowed cross-correlation of two images, which
/// [`Similarity::cc_gradient`](crate::ops::Similarity::cc_gradient) computes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CcScores {
    /// Energy, −1…0: minus the mean of the local correlation w·C²/(A·B) over the windows of all voxels that count; 0 if
    /// no voxel counts. For A, B, C and w see `agreement`. The updates lower the energy.
    pub energy: f64,
    /// Agreement, 0…1: the mean of the local correlation C²/(A·B) over the windows of all voxels that count, weighted
    /// by w. It is 1 if the images are equal up to brightness and contrast, 0 if no window has any weight.
    ///
    /// A, B and C are the window sums of [`Similarity::cc_gradient`](crate::ops::Similarity::cc_gradient), and n is the number of
    /// voxels of a window times the assumed variance of the noise. The value of a window is w·C²/(A·B), where w =
    /// A·B/((A+n)·(B+n)) is the share of the variance in the window that is not noise. Higher contrast alone raises the
    /// weights and lowers the energy. It does not change the agreement, Σ w·C²/(A·B) / Σ w.
    pub agreement: f64,
}

/// Parameters of [`Similarity::mi_gradient`](crate::ops::Similarity::mi_gradient), mutual information.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MiParameters {
    /// Number of bins of each image, within [`BINS`](MiParameters::BINS). Two bins at either end lie outside the range
    /// of intensities.
    pub bins: usize,
    /// Range of intensities, lowest and highest, of the fixed and of the moving image. Values outside are clamped.
    pub ranges: [(f32, f32); 2],
}

impl MiParameters {
    /// Allowed numbers of bins: enough for the padding at both ends and for some bins within the range.
    pub const BINS: std::ops::RangeInclusive<usize> = 8..=256;
}

/// Limits at which [`Fields::invert`](crate::ops::Fields::invert) stops; they are checked separately for each voxel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InversionLimits {
    /// Largest number of steps of the iteration at a voxel.
    pub steps: usize,
    /// Residual ‖u(x+v(x)) + v(x)‖, in voxels, at which the iteration of a voxel stops. One last step follows, which
    /// reads no further voxels.
    pub tolerance_voxels: f32,
    /// Residual, in voxels, up to which the inverse at a voxel is left unchanged; with 0 every voxel takes a step.
    pub untouched_voxels: f32,
}

/// The limits of the relaxation of two fields, [`Relaxation::relax`](crate::ops::Relaxation::relax). The displacement of a voxel
/// is changed if the voxel's Jacobian determinant or residual is beyond its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelaxLimits {
    /// Smallest allowed Jacobian determinant of x + u(x) at a voxel, over all combinations of one-sided differences: at
    /// the corners of the trilinear cells that meet at the voxel.
    pub smallest_jacobian: f32,
    /// Largest allowed distance ‖v(x + u(x)) + u(x)‖, in voxels, between a point x and its position after both fields,
    /// u and then v.
    pub largest_residual_voxels: f32,
}

/// Parameters of one round of [`Relaxation::relax`](crate::ops::Relaxation::relax), which corrects two displacement fields that
/// should be inverse to each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelaxRound {
    /// Limits of the Jacobian determinant and of the deviation from the inverse of the other field. Where a voxel of
    /// either field is beyond these limits, its displacement is changed.
    pub limits: RelaxLimits,
    /// Variance of the Gaussian that smooths the field around voxels that fold or have too large a residual, voxels²;
    /// at least 0.5.
    pub variance_voxels: f64,
    /// Distance along each axis, in voxels, up to which the field is smoothed around a voxel that folds or has too
    /// large a residual.
    pub reach_voxels: usize,
    /// How folds are corrected. If true, the voxels that fold and their neighbours get the smallest displacements that
    /// remove the fold. If false, the field is smoothed there.
    pub unfolds: bool,
    /// Symmetric matrix that projects displacements (voxels) on the directions in which voxels may be moved to unfold
    /// them.
    pub allowed: [[f32; 3]; 3],
    /// After one field has been changed, the other field is set to the inverse of the changed field by an iteration,
    /// which stops at these limits.
    pub follow: InversionLimits,
}

/// Inverse consistency of two fields: distances between points and their positions after both fields, in voxels of the
/// first field's grid.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct InverseConsistency {
    /// Number of voxels whose distances are summarised. If it is 0, mean and largest distance are NaN. 0 in records
    /// without it.
    #[serde(default)]
    pub voxels: u64,
    /// Mean distance between a point and its position after both fields.
    pub mean_voxels: f64,
    /// Largest distance between a point and its position after both fields.
    pub largest_voxels: f64,
}

impl std::fmt::Display for InverseConsistency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let InverseConsistency { mean_voxels, largest_voxels, .. } = self;
        write!(
            f,
            "mean {mean_voxels:.4}, largest {largest_voxels:.4} voxels between points and their positions after both warps"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_without_width_has_the_factor_zero() {
        assert_eq!([(0.5, 2.5), (2.0, 2.0), (3.0, 1.0)].map(range_scale), [0.5, 0.0, 0.0]);
    }

    #[test]
    fn constant_values_have_a_normalised_mutual_information_of_one() {
        let constant = Entropies { weight: 5.0, fixed: 0.0, moving: 0.0, joint: 0.0 };
        assert_eq!(constant.normalised_mutual_information(), 1.0);
        let entropies = Entropies { weight: 5.0, fixed: 1.0, moving: 1.25, joint: 1.5 };
        assert_eq!((entropies.normalised_mutual_information(), entropies.mutual_information()), (1.5, 0.75));
    }

    #[test]
    fn large_windows_and_exact_derivatives_need_memory() {
        for (lent, exact) in [(false, 5), (true, 0)] {
            let of = |kernels| {
                move |radius| {
                    [CcDerivative::Centre, CcDerivative::Exact].map(|derivative| {
                        CcParameters { radius, derivative, noise_variance: 0.0, kernels }.device_scalars(lent)
                    })
                }
            };
            assert_eq!([2, 4, 5].map(of(CcKernels::Tiled)), [[0, exact]; 3]);
            assert_eq!([6, 7, 20].map(of(CcKernels::Tiled)), [[8, 8]; 3]);
            assert_eq!([1, 5, 6].map(of(CcKernels::Textures)), [[8, 8]; 3]);
        }
    }

    #[test]
    fn textures_serve_every_window_and_tiles_those_that_they_support() {
        let of = |radius, derivative, kernels| CcParameters { radius, derivative, noise_variance: 0.0, kernels };
        for derivative in [CcDerivative::Centre, CcDerivative::Exact] {
            for masked in [false, true] {
                let textures = |radius| of(radius, derivative, CcKernels::Textures);
                assert!([1, 5, 6, 32].iter().all(|radius| textures(*radius).by_textures(masked)));
                assert!([1, 5, 6, 32].iter().all(|radius| textures(*radius).fits_a_gpu(masked)));
                let narrow = of(5, derivative, CcKernels::Tiled);
                assert!(!narrow.by_textures(masked) && narrow.fits_a_gpu(masked));
                let wide = of(6, derivative, CcKernels::Tiled);
                let alone = !masked && derivative == CcDerivative::Centre;
                assert_eq!([wide.by_textures(masked), wide.fits_a_gpu(masked)], [alone; 2]);
            }
        }
    }

    #[test]
    fn choices_have_one_name() {
        let names = [
            (JointSampling::Trilinear.to_string(), serde_json::to_string(&JointSampling::Trilinear), "trilinear"),
            (
                JointSampling::PartialVolume.to_string(),
                serde_json::to_string(&JointSampling::PartialVolume),
                "partial-volume",
            ),
            (CcDerivative::Centre.to_string(), serde_json::to_string(&CcDerivative::Centre), "centre"),
            (CcDerivative::Exact.to_string(), serde_json::to_string(&CcDerivative::Exact), "exact"),
            (CcKernels::Tiled.to_string(), serde_json::to_string(&CcKernels::Tiled), "tiled"),
            (CcKernels::Textures.to_string(), serde_json::to_string(&CcKernels::Textures), "textures"),
        ];
        for (shown, json, expected) in names {
            assert_eq!((shown.as_str(), json.expect("JSON")), (expected, format!("\"{expected}\"")));
        }
    }

    #[cfg(feature = "clap")]
    #[test]
    fn choices_are_typed_by_that_name() {
        use clap::ValueEnum;

        for sampling in JointSampling::value_variants() {
            assert_eq!(JointSampling::from_str(&sampling.to_string(), false).as_ref(), Ok(sampling));
        }
        for derivative in CcDerivative::value_variants() {
            assert_eq!(CcDerivative::from_str(&derivative.to_string(), false).as_ref(), Ok(derivative));
        }
        assert_eq!(CcDerivative::from_str("center", false), Ok(CcDerivative::Centre));
        let help = JointSampling::Trilinear
            .to_possible_value()
            .and_then(|value| value.get_help().map(|help| help.to_string()));
        assert_eq!(help.as_deref(), Some("Interpolated moving values"));
    }
}
