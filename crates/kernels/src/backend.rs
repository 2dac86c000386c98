//! The operations of a registration, stated once: formula, units, boundary rule, source.

use antsreg_core::AffineTransform;
use antsreg_core::intensity::Quantiles;
use antsreg_core::jacobian::JacobianSummary;
use nalgebra::{Matrix3, Vector3};
use rayon::prelude::*;

use crate::{
    CcParameters, CcScores, Entropies, Error, InverseConsistency, InversionLimits, JointParameters, MiParameters,
    Moments, RelaxRound, Sampling,
};

/// Whole-volume operations on one device. Images stay where they are; scalars and small tables come back.
///
/// # Conventions
/// - Shapes are `[nx, ny, nz]`, x fastest in memory. Maps between volumes act on voxel indices (f64); the caller
///   derives them from the grids.
/// - A *field* holds displacements `u` in voxels of its own grid: index x goes to x + u(x). Between voxels u is
///   trilinear, outside it keeps the value of the nearest edge voxel. The stages keep the edge at zero, so that this is
///   ITK's rule of no displacement outside.
/// - Nothing is allocated by operations that take `&mut` outputs.
/// - Same input, same bits out, whatever the number of threads.
pub trait Backend: Sized + Sync {
    /// A scalar volume on the device.
    type Image: Send + Sync;
    /// A displacement field on the device.
    type Field: Send + Sync;
    /// Fixed voxels with their bins, as the correlation ratio and joint histograms want them.
    type FixedBins: Send + Sync;
    /// Scratch memory of [`cc_update`](Backend::cc_update) for one shape.
    type CcWorkspace: Send;
    /// The scores of one [`cc_update`](Backend::cc_update), which the device may still be computing.
    type CcPending: Send;
    /// Scratch memory of [`mi_update`](Backend::mi_update).
    type MiWorkspace: Send;
    /// Scratch memory of [`relax`](Backend::relax) for one shape, and what it has still to examine.
    type Relaxation: Send;

    /// How many costs of `samples` samples each a caller should ask for in one call, at least one, if it is to be able to
    /// stop between calls. Costs do not depend on the others of their call.
    fn costs_in_one_call(&self, _samples: usize) -> usize {
        usize::MAX
    }

    /// A volume of zeros.
    fn image(&self, shape: [usize; 3]) -> Result<Self::Image, Error>;
    /// Copies voxels (x fastest) to the device.
    fn upload(&self, shape: [usize; 3], voxels: &[f32]) -> Result<Self::Image, Error>;
    /// Copies voxels back.
    fn download(&self, image: &Self::Image) -> Result<Vec<f32>, Error>;
    /// The identity: a field of zero displacements.
    fn field(&self, shape: [usize; 3]) -> Result<Self::Field, Error>;
    /// Copies displacements (voxels) to the device.
    fn upload_field(&self, shape: [usize; 3], vectors: &[[f32; 3]]) -> Result<Self::Field, Error>;
    /// Copies displacements (voxels) back.
    fn download_field(&self, field: &Self::Field) -> Result<Vec<[f32; 3]>, Error>;

    /// Copies displacements to the device, each multiplied by `matrix`, which takes it from other units to voxels.
    fn upload_field_in(
        &self,
        shape: [usize; 3],
        vectors: &[[f32; 3]],
        matrix: &Matrix3<f32>,
    ) -> Result<Self::Field, Error> {
        let turned: Vec<[f32; 3]> =
            vectors.par_iter().map(|vector| (matrix * Vector3::from(*vector)).into()).collect();
        self.upload_field(shape, &turned)
    }

    /// Copies displacements back, each multiplied by `matrix`, which takes it from voxels to other units.
    fn download_field_in(&self, field: &Self::Field, matrix: &Matrix3<f32>) -> Result<Vec<[f32; 3]>, Error> {
        let mut vectors = self.download_field(field)?;
        vectors.par_iter_mut().for_each(|vector| *vector = (matrix * Vector3::from(*vector)).into());
        Ok(vectors)
    }

    /// [`quantiles`](antsreg_core::intensity::quantiles) of an image.
    fn quantiles(&self, image: &Self::Image, low: f64, high: f64) -> Result<Quantiles, Error>;

    /// image(x) ← (min(max(image(x), low), high) − origin)·scale.
    fn clip(&self, image: &mut Self::Image, low_high: (f32, f32), origin: f32, scale: f32) -> Result<(), Error>;

    /// Gaussian smoothing, separable, with the kernel of [`gaussian::kernel`](crate::gaussian::kernel) on each
    /// axis of positive sigma; the image continues beyond its border with its edge value.
    fn smooth(&self, image: &Self::Image, sigma_voxels: [f64; 3]) -> Result<Self::Image, Error>;

    /// ‖∇image‖: central differences, one-sided at the border, each divided by its axis's spacing (mm, any common factor)
    /// relative to the finest.
    fn gradient_magnitude(&self, image: &Self::Image, spacing: [f64; 3]) -> Result<Self::Image, Error>;

    /// out(x) = image(m(x)), trilinear; `outside` where m(x) lies more than half a voxel beyond the image.
    fn resample(
        &self,
        image: &Self::Image,
        out_to_image: &AffineTransform,
        outside: f32,
        out: &mut Self::Image,
    ) -> Result<(), Error>;

    /// out(x) = image(m(x + u(x))), u and out on one grid; 0 where that lies more than half a voxel beyond the image.
    fn warp(
        &self,
        image: &Self::Image,
        field: &Self::Field,
        grid_to_image: &AffineTransform,
        sampling: Sampling,
        out: &mut Self::Image,
    ) -> Result<(), Error>;

    /// The coefficients of the cubic B-spline that passes through all voxels (Unser, Aldroubi & Eden 1993), for
    /// [`warp_spline`](Backend::warp_spline). The image continues mirrored about its outermost centres; one voxel along an
    /// axis is all there is.
    fn spline_coefficients(&self, image: &Self::Image) -> Result<Self::Image, Error>;

    /// out(x) = spline(m(x + u(x))), as [`warp`](Backend::warp) has it: the spline of these coefficients, which may
    /// overshoot the image's values; 0 where that lies more than half a voxel beyond.
    fn warp_spline(
        &self,
        coefficients: &Self::Image,
        field: &Self::Field,
        grid_to_image: &AffineTransform,
        out: &mut Self::Image,
    ) -> Result<(), Error>;

    /// As [`warp`](Backend::warp), through a Lanczos-windowed sinc of radius 3; the image continues with zeros. As
    /// [`WindowedSinc`](crate::apply::Interpolation::WindowedSinc) reads.
    fn warp_sinc(
        &self,
        image: &Self::Image,
        field: &Self::Field,
        grid_to_image: &AffineTransform,
        out: &mut Self::Image,
    ) -> Result<(), Error>;

    /// Pearson's correlation of two images on one grid where `mask`, if there is one, exceeds ½, by sums in double precision.
    /// NaN where either is constant, or nothing counts.
    fn correlation(
        &self,
        first: &Self::Image,
        second: &Self::Image,
        mask: Option<&Self::Image>,
    ) -> Result<f64, Error>;

    /// Assigns each fixed voxel the bin ⌊bins·(value − low)/(high − low)⌋, clamped to 0…bins−1, for
    /// [`correlation_ratio`](Backend::correlation_ratio) and [`joint_entropies`](Backend::joint_entropies). Voxels of zero weight are left out.
    fn bin_fixed(
        &self,
        fixed: &Self::Image,
        weight: Option<&Self::Image>,
        low_high: (f32, f32),
        bins: usize,
    ) -> Result<Self::FixedBins, Error>;

    /// The cost 1 − η of each transform of a batch: Σ_b n_b·var_b / (n·var), over the bins b of the fixed image, of the
    /// trilinearly sampled moving values (Jenkinson & Smith 2001; Li 2015, eqs. 1 to 4).
    ///
    /// A fixed voxel x counts with the weight Π_axis clamp(d_axis / edge_voxels_axis, 0, 1), where d is the distance of
    /// m(x) from the moving image's border voxel centres (negative outside), times its own weight, times the sampled
    /// moving weight. Bins with n ≤ 2 do not count. An overlap without variance costs 1.
    ///
    /// Slices have one voxel along the third axis, which is all border: with an edge of 0 there, maps that lead to index 0
    /// everywhere (their third row is 0) count in full, others not at all.
    fn correlation_ratio(
        &self,
        fixed: &Self::FixedBins,
        moving: &Self::Image,
        moving_weight: Option<&Self::Image>,
        edge_voxels: [f64; 3],
        fixed_to_moving: &[AffineTransform],
    ) -> Result<Vec<f64>, Error>;

    /// The entropies of the joint histogram of each transform of a batch: H = −Σ p·ln p over the joint histogram and its
    /// two marginal ones (Shams 2010, 2.1). All zero where nothing overlaps.
    ///
    /// Mutual information is H(X) + H(Y) − H(X,Y); normalised, (H(X) + H(Y)) / H(X,Y) (Studholme 1999).
    ///
    /// A fixed voxel counts with the weight that it has in [`correlation_ratio`](Backend::correlation_ratio), at most 1.
    /// Weights are rounded to units of 1/[`UNIT`](JointParameters::UNIT) before they are added. Coordinates and values are
    /// computed in single precision in an order that is part of the contract (`cpu/samples.rs`): all devices give the same
    /// histogram, bit for bit.
    fn joint_entropies(
        &self,
        fixed: &Self::FixedBins,
        moving: &Self::Image,
        moving_weight: Option<&Self::Image>,
        edge_voxels: [f64; 3],
        parameters: &JointParameters,
        fixed_to_moving: &[AffineTransform],
    ) -> Result<Vec<Entropies>, Error>;

    /// The moments of the pairs (x, y) of fixed and trilinearly sampled moving values under each transform of a batch, both
    /// as shares of their ranges, (value − low)/(high − low). Weights are those of
    /// [`correlation_ratio`](Backend::correlation_ratio).
    fn moments(
        &self,
        fixed: &Self::Image,
        moving: &Self::Image,
        weights: [Option<&Self::Image>; 2],
        low_high: [(f32, f32); 2],
        edge_voxels: [f64; 3],
        fixed_to_moving: &[AffineTransform],
    ) -> Result<Vec<Moments>, Error>;

    /// Scratch memory for [`cc_update`](Backend::cc_update).
    fn cc_workspace(&self, shape: [usize; 3]) -> Result<Self::CcWorkspace, Error>;

    /// Windowed cross-correlation of two images on one grid, and the directions in which it grows
    /// (Avants 2008; Luo 2015, eqs. 5 to 10).
    ///
    /// With A = Σ(I−Ī)², B = Σ(J−J̄)², C = Σ(I−Ī)(J−J̄) over the window, the value is C²/(A·B), 0 where A or B vanishes.
    /// `fixed_update` is 2C/(A·B)·((J−J̄) − (C/A)(I−Ī))·∇I, `moving_update` its mirror; the gradient is by central
    /// differences, one-sided at the border, turned into a displacement in voxels by 1/spacing² on each axis. A voxel
    /// counts where both masks (if given) exceed 0.5; elsewhere updates are zero.
    ///
    /// Does not wait for the device: the scores are read by [`cc_scores`](Backend::cc_scores), and further operations,
    /// another `cc_update` with the same workspace among them, may be started before that.
    #[expect(clippy::too_many_arguments, reason = "two images, where they count, and what comes of both")]
    fn cc_update(
        &self,
        fixed: &Self::Image,
        moving: &Self::Image,
        masks: [Option<&Self::Image>; 2],
        parameters: &CcParameters,
        workspace: &mut Self::CcWorkspace,
        fixed_update: &mut Self::Field,
        moving_update: &mut Self::Field,
    ) -> Result<Self::CcPending, Error>;

    /// The scores of a [`cc_update`](Backend::cc_update). Waits until the device has computed them.
    fn cc_scores(&self, pending: Self::CcPending) -> Result<CcScores, Error>;

    /// Scratch memory for [`mi_update`](Backend::mi_update) with so many bins.
    fn mi_workspace(&self, bins: usize) -> Result<Self::MiWorkspace, Error>;

    /// Mutual information of two images on one grid, and the directions in which it grows (Mattes et al. 2003; ITK's
    /// `MattesMutualInformationImageToImageMetricv4`).
    ///
    /// A value v stands at s = 2 + (bins − 4)·(v − low)/(high − low) on the axis of bins; its own bin is ⌊s⌋, at most
    /// bins − 3. The moving side's joint histogram p counts each voxel in the fixed value's own bin i, spread over the four
    /// bins j around the moving value by the cubic B-spline β³(j − s). MI = Σ p·ln(p/(p_fixed·p_moving)), and as the fixed
    /// bins do not move, its derivative by the moving value of a voxel is exactly
    /// −(bins − 4)/(high − low)/N · Σ_j β³′(j − s)·ln(p(i, j)/p_moving(j)). `moving_update` is N times that, times ∇J; N
    /// counts the voxels. The fixed side has a histogram of its own, the roles exchanged, as ITK's SyN has it.
    /// Gradients and masks are those of [`cc_update`](Backend::cc_update). A value beyond its range pulls at nothing.
    ///
    /// Returns the energy: minus the mean of both sides' MI, 0 if no voxel counts.
    ///
    /// ITK takes ranges from the images at hand in each iteration; here the caller gives them once, and a bin means the
    /// same from level to level. Weights are counted in units of 2⁻¹⁶, the four of a voxel adding up to 1 exactly: sums of
    /// integers have no order, so that every device finds one histogram, to the bit.
    #[expect(clippy::too_many_arguments, reason = "two images, where they count, and what comes of both")]
    fn mi_update(
        &self,
        fixed: &Self::Image,
        moving: &Self::Image,
        masks: [Option<&Self::Image>; 2],
        parameters: &MiParameters,
        workspace: &mut Self::MiWorkspace,
        fixed_update: &mut Self::Field,
        moving_update: &mut Self::Field,
    ) -> Result<f64, Error>;

    /// √Σ‖u‖² over all voxels: what several updates are compared by before they are added.
    fn magnitude(&self, field: &Self::Field) -> Result<f64, Error>;

    /// field(x) ← field(x) + scale·other(x).
    fn add_scaled(&self, field: &mut Self::Field, other: &Self::Field, scale: f64) -> Result<(), Error>;

    /// out = `then` after `first`: out(x) = first(x) + then(x + first(x)).
    fn compose(&self, first: &Self::Field, then: &Self::Field, out: &mut Self::Field) -> Result<(), Error>;

    /// Improves `inverse` (the start as well as the result) by up to 4 fixed-point steps v(x) ← −u(x + v(x)), then Newton
    /// steps of at most a voxel, at each voxel until its residual is within the limits; border voxels of v are zero.
    ///
    /// ITK steps all voxels together until the mean and the largest residual are small. A voxel's steps depend on no
    /// other voxel's, so each can stop alone and one pass over memory does them all.
    fn invert(&self, field: &Self::Field, inverse: &mut Self::Field, limits: &InversionLimits) -> Result<(), Error>;

    /// Two fields of zero displacements, for the operations on both sides that follow; a device may lay them side by side.
    fn field_pair(&self, shape: [usize; 3]) -> Result<[Self::Field; 2], Error> {
        Ok([self.field(shape)?, self.field(shape)?])
    }

    /// [`warp`](Backend::warp) of two images through a field each. Fields and outputs have one shape.
    fn warp_both(
        &self,
        images: [&Self::Image; 2],
        fields: [&Self::Field; 2],
        grid_to_image: [&AffineTransform; 2],
        sampling: Sampling,
        out: [&mut Self::Image; 2],
    ) -> Result<(), Error> {
        let [first, second] = out;
        self.warp(images[0], fields[0], grid_to_image[0], sampling, first)?;
        self.warp(images[1], fields[1], grid_to_image[1], sampling, second)
    }

    /// Gaussian smoothing of two fields of one shape by `variance_voxels` on each axis, as of images, with ITK's rules: for
    /// a variance below 0.5 the result is blended with the unsmoothed field; the border voxels are set to zero. A variance
    /// of 0 leaves the fields untouched. Components are smoothed apart: one that is zero everywhere stays zero.
    fn smooth_both_fields(
        &self,
        fields: [&mut Self::Field; 2],
        variance_voxels: f64,
        scratch: [&mut Self::Field; 2],
    ) -> Result<(), Error>;

    /// One step of length `step_voxels` of two fields of one shape, each along its own update g:
    /// out(x) = u(x) + s·g(x + u(x)) with s = step / max‖g‖ (0 if g vanishes).
    fn advance_both(
        &self,
        fields: [&Self::Field; 2],
        updates: [&Self::Field; 2],
        step_voxels: f64,
        out: [&mut Self::Field; 2],
    ) -> Result<(), Error>;

    /// [`invert`](Backend::invert) of two fields of one shape.
    fn invert_both(
        &self,
        fields: [&Self::Field; 2],
        inverses: [&mut Self::Field; 2],
        limits: &InversionLimits,
    ) -> Result<(), Error> {
        let mut pairs = fields.into_iter().zip(inverses);
        pairs.try_for_each(|(field, inverse)| self.invert(field, inverse, limits))
    }

    /// The distances ‖u(x) + v(x + u(x))‖ of all voxels x from where they started, u being `first` and v `then`, where
    /// `mask`, if there is one, exceeds ½: how nearly the two undo each other.
    ///
    /// Of fields that are zero at their edges it is what [`apply::inverse_consistency`](crate::apply::inverse_consistency)
    /// finds in world space, but for single precision: outside, v is zero there.
    fn inverse_consistency(
        &self,
        first: &Self::Field,
        then: &Self::Field,
        mask: Option<&Self::Image>,
    ) -> Result<InverseConsistency, Error>;

    /// out(x) = matrix·field(m(x)): a field on another grid, its vectors multiplied by the matrix, which takes them to voxels
    /// of that grid or to other units. With the identity as the map, finite vectors and a diagonal matrix, a component whose
    /// element is 0 is exactly 0, and one whose element is 1 is unchanged but for rounding at the last voxel of an axis, which
    /// is read as the end of a cell.
    fn resize_field(
        &self,
        field: &Self::Field,
        out_to_field: &AffineTransform,
        matrix: &Matrix3<f64>,
        out: &mut Self::Field,
    ) -> Result<(), Error>;

    /// Statistics of the determinants det(∂(x + u(x))/∂x), by central differences, one-sided at the border, of the voxels
    /// where `mask`, if there is one, exceeds ½; and of the smallest one by one-sided differences at each of them, whichever
    /// side along each axis, which is the smallest at the corners that the trilinear cells have there. One that is not a number
    /// counts as folded. They are those of the same map in world space, whatever the grid's spacing and direction: the
    /// matrices are similar.
    fn jacobian_summary(&self, field: &Self::Field, mask: Option<&Self::Image>) -> Result<JacobianSummary, Error>;

    /// Which parts of a pair of fields are still to be examined by [`relax`](Backend::relax): all of them.
    fn relaxation(&self, shape: [usize; 3]) -> Result<Self::Relaxation, Error>;

    /// Has all parts examined again.
    fn examine_all(&self, relaxation: &mut Self::Relaxation) -> Result<(), Error>;

    /// Draws two fields that should be inverse to each other closer to it where they are beyond the limits. Returns how many
    /// voxels were, of those that were examined, in the first field and in the second; what is far beyond needs several
    /// calls.
    ///
    /// First the first field u is examined. A voxel folds where the determinant at any corner of the trilinear cells around it is
    /// below the limit. One where u misses the second field, v, and does not fold becomes the inverse
    /// of v, as by [`invert`](Backend::invert): where v is steep, a hundredth of a voxel is enough. If that leaves more than
    /// 0.1 voxel or takes more than a voxel, u is drawn towards itself smoothed (as by
    /// [`smooth_both_fields`](Backend::smooth_both_fields)) instead, by min(1, (residual/limit − 1)/2 + 0.05), and less with the
    /// distance, as 1 − d²/(reach + 1)², at its neighbours within `reach_voxels` along each axis that are not corrected
    /// themselves. Then v follows, as by `invert`, and the same happens the other way round.
    ///
    /// A voxel that folds is, with its neighbours along the axes, moved by the mean of what corners want that are below the limit
    /// and have it as an end of an edge: the shortest move of all four ends, along the derivative of the determinant and
    /// within the allowed directions, that brings it 0.3 above the limit, to first order, and no end further than a voxel.
    /// Voxels on the border stay. Of a round that does not unfold, u is smoothed there wholly.
    ///
    /// The first call examines all voxels, further ones those in bricks of 8³ that hold a voxel next to what changed, or
    /// that may lead to what changed; v follows only within 3 voxels of where a changed voxel of u leads. Once there is
    /// nothing beyond, [`examine_all`](Backend::examine_all) says whether that holds everywhere.
    fn relax(
        &self,
        pair: [&mut Self::Field; 2],
        round: &RelaxRound,
        relaxation: &mut Self::Relaxation,
    ) -> Result<[usize; 2], Error>;
}
