//! Similarity of two images, for the linear stage by transforms, for the deformable stage by gradients.

use antsreg_core::AffineTransform;

use super::Memory;
use crate::{
    CcParameters, CcScores, Contrast, ContrastRule, Entropies, Error, FitRule, FitSums, JointParameters,
    MetricOutput, MiParameters, Moments,
};

/// Similarity of two images, for the linear stage by transforms, for the deformable stage by gradients. Conventions are those of [`Backend`](crate::Backend).
pub trait Similarity: Memory {
    /// Fixed voxels with their histogram bins, for the correlation ratio and joint histograms.
    type FixedBins: Send + Sync;

    /// Scratch memory of [`cc_gradient`](Similarity::cc_gradient), for images of one shape.
    type CcWorkspace: Send;

    /// The scores (energy and agreement) of one [`cc_gradient`](Similarity::cc_gradient), which the device may still
    /// be computing.
    type CcPending: Send;

    /// Scratch memory of [`mi_gradient`](Similarity::mi_gradient).
    type MiWorkspace: Send;

    /// Number of transforms, at least one, that a caller should pass in one call of an operation that computes costs.
    /// The cost of each transform is computed from `samples` samples. With this number a call is so short that the
    /// caller can stop between calls within reasonable time. The cost of a transform does not depend on the other
    /// transforms of the call.
    fn costs_in_one_call(&self, _samples: usize) -> usize {
        usize::MAX
    }

    /// Pearson's correlation of two images on one grid, with sums in double precision; with a `mask`, only where it
    /// exceeds ½. NaN if either image is constant or no voxel counts.
    fn correlation(
        &self,
        first: &Self::Image,
        second: &Self::Image,
        mask: Option<&Self::Image>,
    ) -> Result<f64, Error>;

    /// Assigns each fixed voxel the bin ⌊bins·(value − low)/(high − low)⌋, clamped to 0…bins−1, for
    /// [`correlation_ratio`](Similarity::correlation_ratio) and [`joint_entropies`](Similarity::joint_entropies). Voxels
    /// with weight zero are left out.
    fn bin_fixed(
        &self,
        fixed: &Self::Image,
        weight: Option<&Self::Image>,
        low_high: (f32, f32),
        bins: usize,
    ) -> Result<Self::FixedBins, Error>;

    /// The cost 1 − η of each transform of a batch, where η is the correlation ratio (Jenkinson & Smith 2001; Li 2015,
    /// eqs. 1 to 4). The cost is Σ_b n_b·var_b / (n·var). Here n_b is the total weight of the samples in bin b of the
    /// fixed image, and var_b the variance of their trilinearly sampled moving values; n and var are those of all bins
    /// together.
    ///
    /// The weight of a fixed voxel x is Π_axis clamp(d_axis / edge_voxels_axis, 0, 1), times its own weight, times the
    /// sampled moving weight. Here m is the transform, and d the distance of m(x) from the outermost voxel centres of
    /// the moving image (negative outside). Bins with n_b ≤ 2 are left out. An overlap without variance has cost 1.
    ///
    /// A slice has one voxel along the third axis, so all of its voxels are at the border of this axis. If
    /// `edge_voxels` is 0 on this axis, a transform within the plane of the slice (third row 0) gives these voxels full
    /// weight. Under any other transform their weight is 0.
    fn correlation_ratio(
        &self,
        fixed: &Self::FixedBins,
        moving: &Self::Image,
        moving_weight: Option<&Self::Image>,
        edge_voxels: [f64; 3],
        fixed_to_moving: &[AffineTransform],
    ) -> Result<Vec<f64>, Error>;

    /// The entropies of the joint histogram of each transform of a batch: H = −Σ p·ln p over the joint histogram and
    /// its two marginals, where p is the probability of a bin (Shams 2010, 2.1). All entropies are zero if the images
    /// do not overlap.
    ///
    /// Mutual information is H(X) + H(Y) − H(X,Y); normalised mutual information is (H(X) + H(Y)) / H(X,Y) (Studholme
    /// 1999).
    ///
    /// The weight of a fixed voxel is that of [`correlation_ratio`](Similarity::correlation_ratio), at most 1, rounded
    /// to units of 1/[`UNIT`](JointParameters::UNIT). Coordinates and values are computed in single precision in a
    /// prescribed order (`cpu/similarity/samples.rs`), so that all devices give the same histogram, bit for bit.
    fn joint_entropies(
        &self,
        fixed: &Self::FixedBins,
        moving: &Self::Image,
        moving_weight: Option<&Self::Image>,
        edge_voxels: [f64; 3],
        parameters: &JointParameters,
        fixed_to_moving: &[AffineTransform],
    ) -> Result<Vec<Entropies>, Error>;

    /// The moments of the pairs (x, y) of fixed and trilinearly sampled moving values under each transform of a
    /// batch. Both values are scaled to their ranges, (value − low)/(high − low). Weights are those of
    /// [`correlation_ratio`](Similarity::correlation_ratio).
    fn moments(
        &self,
        fixed: &Self::Image,
        moving: &Self::Image,
        weights: [Option<&Self::Image>; 2],
        low_high: [(f32, f32); 2],
        edge_voxels: [f64; 3],
        fixed_to_moving: &[AffineTransform],
    ) -> Result<Vec<Moments>, Error>;

    /// The contrast of the moving image across a surface under each transform of a batch (Greve & Fischl 2009,
    /// NeuroImage 48:63).
    ///
    /// `points` has shape [n, [`ROWS`](ContrastRule::ROWS), 1]: for each point, the coordinates of a position on the
    /// inner side of the surface and of one on the outer side, and a weight. The coordinates are in the space that
    /// `maps` take to voxel indices of the moving image. With i the trilinear value on the inner side and o that on the
    /// outer side, q = 100·(o − i)/((o + i)/2), %. The weight w of a point is multiplied by the distance of each of the
    /// two positions from the border of the moving image in voxels, at most 1 along each axis, and is 0 outside. A
    /// point does not count where (o + i)/2 is at most `least`.
    fn contrast(
        &self,
        points: &Self::Image,
        moving: &Self::Image,
        rule: &ContrastRule,
        maps: &[AffineTransform],
    ) -> Result<Vec<Contrast>, Error>;

    /// The sums for the least-squares fit of a volume by functions that are known at reference points (Friston et al.
    /// 1995, Human Brain Mapping 3:165). Each element of `at` requests one fit, and gives the index of the volume in
    /// `volumes` and the map from the reference points to the volume.
    ///
    /// `points` has shape [n, 3 + m, 1]: the coordinates of each point in the space that the maps take to voxel indices
    /// of a volume, then the values of the m functions, at most [`MOST_FUNCTIONS`](FitSums::MOST_FUNCTIONS). `volumes`
    /// are coefficients by [`spline_coefficients`](crate::ops::Warping::spline_coefficients), all of one shape. A point is inside
    /// where its index along each axis is from `margin` to extent − 1 − `margin`. At a point inside, the fitted value
    /// is v = (spline − `origin`)·`scale`. The products of functions are summed over the points that are not inside,
    /// because these are few. The caller can compute the sums over all points once, since they do not depend on the
    /// map.
    fn fit_sums(
        &self,
        points: &Self::Image,
        volumes: &[&Self::Image],
        rule: &FitRule,
        at: &[(usize, AffineTransform)],
    ) -> Result<Vec<FitSums>, Error>;

    /// New scratch memory for [`cc_gradient`](Similarity::cc_gradient), for images of this shape.
    fn cc_workspace(&self, shape: [usize; 3]) -> Result<Self::CcWorkspace, Error>;

    /// Windowed cross-correlation of two images on one grid, and its gradient (Avants 2008; Luo 2015, eqs. 5 to 10).
    ///
    /// Let I and J be the fixed and the moving image, and Ī and J̄ their means in a window. With A = Σ(I−Ī)², B =
    /// Σ(J−J̄)², C = Σ(I−Ī)(J−J̄) over the window, the value of the window is C²/(A·B), or 0 if A or B is zero. The
    /// derivative with respect to the fixed value in the middle of the window is 2C/(A·B)·((J−J̄) − (C/A)(I−Ī)); that
    /// with respect to the moving value is the same with the images exchanged. A voxel counts where both masks (if
    /// given) exceed 0.5; elsewhere derivatives are zero. [`MetricOutput`] says what is computed from them.
    ///
    /// The vectors of the field `scratch` are lost. The function may use their memory, and then allocates less of its
    /// own.
    ///
    /// The function does not wait for the device. The scores are read by [`cc_scores`](Similarity::cc_scores). Other
    /// operations may be started before the scores are read, including another `cc_gradient` with the same
    /// workspace.
    fn cc_gradient(
        &self,
        images: [&Self::Image; 2],
        masks: [Option<&Self::Image>; 2],
        parameters: &CcParameters,
        workspace: &mut Self::CcWorkspace,
        out: MetricOutput<'_, Self>,
        scratch: Option<&mut Self::Field>,
    ) -> Result<Self::CcPending, Error>;

    /// Returns the scores (energy and agreement) of a [`cc_gradient`](Similarity::cc_gradient). Waits until the
    /// device has computed them.
    fn cc_scores(&self, pending: Self::CcPending) -> Result<CcScores, Error>;

    /// New scratch memory for [`mi_gradient`](Similarity::mi_gradient), with this number of bins.
    fn mi_workspace(&self, bins: usize) -> Result<Self::MiWorkspace, Error>;

    /// Mutual information of two images on one grid, and its gradient (Mattes et al. 2003; ITK's
    /// `MattesMutualInformationImageToImageMetricv4`).
    ///
    /// A value v has the position s = 2 + (bins − 4)·(v − low)/(high − low) on the axis of bins; its own bin is ⌊s⌋, at
    /// most bins − 3. The joint histogram p for the moving image counts each voxel in the fixed value's own bin i,
    /// distributed over the four bins j around the moving value by the cubic B-spline β³(j − s). MI = Σ
    /// p·ln(p/(p_fixed·p_moving)), with the marginals p_fixed and p_moving. The fixed bins do not depend on the moving
    /// values, so the derivative of MI with respect to the moving value of a voxel is exactly −(bins − 4)/(high −
    /// low)/N · Σ_j β³′(j − s)·ln(p(i, j)/p_moving(j)), with N the number of voxels that count. The result for the
    /// moving image is N times this derivative. That for the fixed image is computed in the same way from a second
    /// histogram, with the images exchanged, as in ITK's SyN. Masks are those of
    /// [`cc_gradient`](Similarity::cc_gradient). A value outside its range has derivative 0.
    ///
    /// Returns the energy: minus the mean MI of the two histograms, 0 if no voxel counts.
    ///
    /// ITK takes the ranges from the images of each iteration. Here the caller gives them once, so that a bin has the
    /// same meaning on all resolution levels. Weights are counted in units of 2⁻¹⁶, and the four weights of a voxel add
    /// up to exactly 1. Integer sums do not depend on their order, so every device gives the same histogram, bit for
    /// bit.
    fn mi_gradient(
        &self,
        images: [&Self::Image; 2],
        masks: [Option<&Self::Image>; 2],
        parameters: &MiParameters,
        workspace: &mut Self::MiWorkspace,
        out: MetricOutput<'_, Self>,
    ) -> Result<f64, Error>;
}
