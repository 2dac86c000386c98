//! The operations of a registration. Formula, units, boundary rule and source are stated here, once for all devices.

use antsreg_core::AffineTransform;
use antsreg_core::intensity::Quantiles;
use antsreg_core::io::Deflated;
use antsreg_core::jacobian::JacobianSummary;
use nalgebra::{Matrix3, Vector3};
use rayon::prelude::*;

use crate::{
    CcParameters, CcScores, Contrast, ContrastRule, DistanceLimits, Entropies, Error, FitRule, FitSums,
    InverseConsistency, InversionLimits, JointParameters, Lent, MetricOutput, MiParameters, Moments, Place,
    ProfileBin, RelaxRound, Sampling,
};

/// Whole-volume operations on one device. Images stay on the device; numbers and small tables are returned to the
/// host.
///
/// # Conventions
/// - Shapes are `[nx, ny, nz]`, x fastest in memory. Maps between volumes act on voxel indices (f64); the caller
///   derives them from the grids.
/// - A *field* holds displacements `u` in voxels of its own grid: it maps index x to x + u(x). Between voxels u is
///   trilinear; outside the grid u has the value of the nearest border voxel. The registration stages set the
///   displacements of border voxels to zero. So displacements outside the grid are zero, as in ITK.
/// - Operations that take `&mut` outputs allocate nothing.
/// - The same input gives the same bits, for any number of threads.
pub trait Backend: Sized + Sync {
    /// A scalar volume in the memory of the device.
    type Image: Send + Sync + 'static;
    /// A displacement field in the memory of the device.
    type Field: Send + Sync + 'static;
    /// Fixed voxels with their histogram bins, for the correlation ratio and joint histograms.
    type FixedBins: Send + Sync;
    /// Scratch memory of [`cc_gradient`](Backend::cc_gradient), for images of one shape.
    type CcWorkspace: Send;
    /// The scores (energy and agreement) of one [`cc_gradient`](Backend::cc_gradient), which the device may still
    /// be computing.
    type CcPending: Send;
    /// Scratch memory of [`mi_gradient`](Backend::mi_gradient).
    type MiWorkspace: Send;
    /// Memory of [`relax`](Backend::relax) for two fields of one shape: scratch memory, and the marks of the voxels
    /// that the next round must examine.
    type Relaxation: Send;

    /// Number of transforms, at least one, that a caller should pass in one call of an operation that computes costs.
    /// The cost of each transform is computed from `samples` samples. With this number a call is so short that the
    /// caller can stop between calls within reasonable time. The cost of a transform does not depend on the other
    /// transforms of the call.
    fn costs_in_one_call(&self, _samples: usize) -> usize {
        usize::MAX
    }

    /// The kind of memory that images and fields of this backend lie in.
    fn place(&self) -> Place;

    /// Gives memory that this backend keeps for its next allocations back to the system. Waits for all work of the
    /// device.
    ///
    /// # Errors
    /// The device fails.
    fn release_kept_memory(&self) -> Result<(), Error> {
        Ok(())
    }

    /// A new image of zeros.
    fn image(&self, shape: [usize; 3]) -> Result<Self::Image, Error>;
    /// Copies the voxels of an image (x fastest) to the device.
    fn upload(&self, shape: [usize; 3], voxels: &[f32]) -> Result<Self::Image, Error>;
    /// Copies the voxels of an image to the host, x fastest.
    fn download(&self, image: &Self::Image) -> Result<Vec<f32>, Error>;
    /// A copy of an image. The image may belong to another instance of the backend on the same device, if that instance
    /// has finished all its work.
    fn copy(&self, image: &Self::Image) -> Result<Self::Image, Error>;
    /// A new field of zero displacements, which is the identity map.
    fn field(&self, shape: [usize; 3]) -> Result<Self::Field, Error>;
    /// Copies the displacements of a field, in voxels, to the device.
    fn upload_field(&self, shape: [usize; 3], vectors: &[[f32; 3]]) -> Result<Self::Field, Error>;
    /// Copies the displacements of a field, in voxels, to the host.
    fn download_field(&self, field: &Self::Field) -> Result<Vec<[f32; 3]>, Error>;

    /// Copies the displacements of a field to the device. Each is multiplied by `matrix`, which converts from other
    /// units to voxels.
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

    /// Copies the displacements of a field to the host. Each is multiplied by `matrix`, which converts from voxels to
    /// other units. If `step` is given, a power of two of these units, components are rounded to the nearest multiple
    /// of `step`; components of 2²² steps or more are not rounded.
    fn download_field_in(
        &self,
        field: &Self::Field,
        matrix: &Matrix3<f32>,
        step: Option<f32>,
    ) -> Result<Vec<[f32; 3]>, Error>;

    /// Compresses the displacements of a field as compressed files hold them. They are converted and rounded as by
    /// [`download_field_in`](Backend::download_field_in). Then the components are multiplied by `factors`, one for each
    /// component that is kept, and ordered component by component: all x first.
    fn deflate_field_in(
        &self,
        field: &Self::Field,
        matrix: &Matrix3<f32>,
        step: Option<f32>,
        factors: &[f32],
    ) -> Result<Deflated, Error> {
        let vectors = self.download_field_in(field, matrix, step)?;
        let component = |(axis, factor)| vectors.iter().map(move |vector: &[f32; 3]| factor * vector[axis]);
        let numbers: Vec<f32> = factors.iter().copied().enumerate().flat_map(component).collect();
        Ok(Deflated::of(&numbers))
    }

    /// Compresses the voxels of an image as compressed files hold them.
    fn deflate_image(&self, image: &Self::Image) -> Result<Deflated, Error> {
        Ok(Deflated::of(&self.download(image)?))
    }

    /// A copy of a field whose displacements u (voxels) are converted to other units, such as mm, rounded as by
    /// [`download_field_in`](Backend::download_field_in), and converted back to voxels: B·round(A·u). `there_and_back`
    /// are the matrix A, which converts voxels to the units of `step`, and its inverse B.
    fn round_field(
        &self,
        field: &Self::Field,
        there_and_back: [&Matrix3<f32>; 2],
        step: f32,
    ) -> Result<Self::Field, Error>;

    /// A copy of an image's voxels that stays in the device's memory, for other libraries.
    fn lend_image(&self, image: &Self::Image) -> Result<Lent, Error>;

    /// A copy of a field's displacements that stays in the device's memory, for other libraries. Each is multiplied by
    /// `matrix` and rounded as by [`download_field_in`](Backend::download_field_in).
    fn lend_field(&self, field: &Self::Field, matrix: &Matrix3<f32>, step: Option<f32>) -> Result<Lent, Error>;

    /// The quantiles of an image's values, as [`quantiles`](antsreg_core::intensity::quantiles) computes them.
    fn quantiles(&self, image: &Self::Image, low: f64, high: f64) -> Result<Quantiles, Error>;

    /// Clips an image to a range and rescales it: image(x) ← (min(max(image(x), low), high) − origin)·scale.
    fn clip(&self, image: &mut Self::Image, low_high: (f32, f32), origin: f32, scale: f32) -> Result<(), Error>;

    /// Gaussian smoothing, separable, with the kernel of [`gaussian::kernel`](crate::gaussian::kernel) on each axis
    /// with positive sigma. Beyond its border the image continues with the border value.
    fn smooth(&self, image: &Self::Image, sigma_voxels: [f64; 3]) -> Result<Self::Image, Error>;

    /// The gradient magnitude ‖∇image‖ by central differences, one-sided at the border. The difference along an axis is
    /// divided by the ratio of the axis's spacing to the finest spacing.
    fn gradient_magnitude(&self, image: &Self::Image, spacing: [f64; 3]) -> Result<Self::Image, Error>;

    /// The signed distance of each voxel to the border of a set of voxels, those above 0.5: for a voxel of the set, the
    /// distance of its centre to the nearest centre of a voxel outside, mm; for other voxels, minus the distance to the
    /// nearest centre of a voxel of the set. The exact Euclidean distance, computed along one axis after the other (Saito
    /// and Toriwaki 1994).
    fn signed_distance(
        &self,
        set: &Self::Image,
        spacing_mm: [f64; 3],
        limits: DistanceLimits,
    ) -> Result<Self::Image, Error>;

    /// The mean gradient magnitude, as of [`gradient_magnitude`](Backend::gradient_magnitude), of the voxels of similar
    /// intensity. The range of intensities from 0 to 1 is divided into [`PROFILE_BINS`](crate::PROFILE_BINS) bins; values outside the range
    /// count in the first or the last bin, values that are not finite in none.
    /// Magnitudes count up to 2, in steps of 2⁻²⁰.
    fn gradient_profile(&self, image: &Self::Image, spacing: [f64; 3]) -> Result<Vec<ProfileBin>, Error>;

    /// Maps intensities from 0 to 1 by a curve: image(x) ← curve(image(x)). The curve is linear between its points,
    /// at least two, which are equally spaced from 0 to 1. Values outside this range are mapped like its ends.
    fn map_intensities(&self, image: &mut Self::Image, curve: &[f32]) -> Result<(), Error>;

    /// Resamples an image by trilinear interpolation: out(x) = image(m(x)), with the map m = `out_to_image`. Where m(x)
    /// is more than half a voxel outside the image, out(x) is `outside`.
    fn resample(
        &self,
        image: &Self::Image,
        out_to_image: &AffineTransform,
        outside: f32,
        out: &mut Self::Image,
    ) -> Result<(), Error>;

    /// Warps an image: out(x) = image(m(x + u(x))), with the field u and `out` on one grid, and the map m =
    /// `grid_to_image`. Where m(x + u(x)) is more than half a voxel outside the image, out(x) is 0.
    fn warp(
        &self,
        image: &Self::Image,
        field: &Self::Field,
        grid_to_image: &AffineTransform,
        sampling: Sampling,
        out: &mut Self::Image,
    ) -> Result<(), Error>;

    /// The coefficients of the cubic B-spline through all voxels (Unser, Aldroubi & Eden 1993), for
    /// [`warp_spline`](Backend::warp_spline). The image is mirrored about its outermost voxel centres; along an axis
    /// of one voxel it is constant.
    fn spline_coefficients(&self, image: &Self::Image) -> Result<Self::Image, Error>;

    /// Warps an image like [`warp`](Backend::warp), by the spline with these coefficients: out(x) = spline(m(x +
    /// u(x))), with the field u and the map m = `grid_to_image`. Values may lie outside the image's range. Where m(x +
    /// u(x)) is more than half a voxel outside the image, out(x) is 0.
    fn warp_spline(
        &self,
        coefficients: &Self::Image,
        field: &Self::Field,
        grid_to_image: &AffineTransform,
        out: &mut Self::Image,
    ) -> Result<(), Error>;

    /// Warps an image like [`warp`](Backend::warp), by a Lanczos-windowed sinc of radius 3 with zeros outside the
    /// image. This is the interpolation of [`WindowedSinc`](crate::apply::Interpolation::WindowedSinc).
    fn warp_sinc(
        &self,
        image: &Self::Image,
        field: &Self::Field,
        grid_to_image: &AffineTransform,
        out: &mut Self::Image,
    ) -> Result<(), Error>;

    /// Pearson's correlation of two images on one grid, with sums in double precision; with a `mask`, only where it
    /// exceeds ½. NaN if either image is constant or no voxel counts.
    fn correlation(
        &self,
        first: &Self::Image,
        second: &Self::Image,
        mask: Option<&Self::Image>,
    ) -> Result<f64, Error>;

    /// Assigns each fixed voxel the bin ⌊bins·(value − low)/(high − low)⌋, clamped to 0…bins−1, for
    /// [`correlation_ratio`](Backend::correlation_ratio) and [`joint_entropies`](Backend::joint_entropies). Voxels
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
    /// The weight of a fixed voxel is that of [`correlation_ratio`](Backend::correlation_ratio), at most 1, rounded
    /// to units of 1/[`UNIT`](JointParameters::UNIT). Coordinates and values are computed in single precision in a
    /// prescribed order (`cpu/samples.rs`), so that all devices give the same histogram, bit for bit.
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
    /// are coefficients by [`spline_coefficients`](Backend::spline_coefficients), all of one shape. A point is inside
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

    /// New scratch memory for [`cc_gradient`](Backend::cc_gradient), for images of this shape.
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
    /// The function does not wait for the device. The scores are read by [`cc_scores`](Backend::cc_scores). Other
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

    /// Returns the scores (energy and agreement) of a [`cc_gradient`](Backend::cc_gradient). Waits until the
    /// device has computed them.
    fn cc_scores(&self, pending: Self::CcPending) -> Result<CcScores, Error>;

    /// New scratch memory for [`mi_gradient`](Backend::mi_gradient), with this number of bins.
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
    /// [`cc_gradient`](Backend::cc_gradient). A value outside its range has derivative 0.
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

    /// Computes the update of one image from the derivatives of a metric, as [`MetricOutput::Updates`] describes, and
    /// smooths it as [`smooth_both_fields`](Backend::smooth_both_fields) does. The bits are those of one after the
    /// other. `spacing` is in mm, `variance_voxels` in voxels², the update in voxels. The values of `derivative` are
    /// lost. No memory is needed but the operands, except on the CPU for a copy of the field, where the variance is
    /// below 0.5.
    fn smoothed_update(
        &self,
        image: &Self::Image,
        derivative: &mut Self::Image,
        spacing: [f64; 3],
        variance_voxels: f64,
        out: &mut Self::Field,
    ) -> Result<(), Error>;

    /// Norm of a field u, √Σ‖u‖² over all voxels. The updates of several channels are divided by their norms before
    /// they are added up.
    fn magnitude(&self, field: &Self::Field) -> Result<f64, Error>;

    /// Adds a scaled displacement field to another field: field(x) ← field(x) + scale·other(x).
    fn add_scaled(&self, field: &mut Self::Field, other: &Self::Field, scale: f64) -> Result<(), Error>;

    /// Composes two fields, `then` after `field`, in place: field(x) ← field(x) + then(x + field(x)).
    fn compose(&self, field: &mut Self::Field, then: &Self::Field) -> Result<(), Error>;

    /// Improves the inverse v of a displacement field u: `inverse` has the initial v and receives the result. At each
    /// voxel: up to 2 fixed-point steps v(x) ← −u(x + v(x)), then Newton steps of at most one voxel, until the residual
    /// is within the limits. Border voxels of v are zero.
    ///
    /// ITK steps all voxels together until the mean and the largest residual are small. The steps of a voxel do not
    /// depend on other voxels, so here each voxel stops on its own and one pass over memory does all steps.
    fn invert(&self, field: &Self::Field, inverse: &mut Self::Field, limits: &InversionLimits) -> Result<(), Error>;

    /// A pair of fields of zero displacements, such as those that warp the fixed and the moving image of a
    /// registration. A device may place both fields next to each other in memory, so that one kernel launch processes
    /// both.
    fn field_pair(&self, shape: [usize; 3]) -> Result<[Self::Field; 2], Error> {
        Ok([self.field(shape)?, self.field(shape)?])
    }

    /// Warps two images, each through its own field, like [`warp`](Backend::warp). Both fields and both outputs have
    /// one shape.
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

    /// Gaussian smoothing of two fields of one shape by `variance_voxels` on each axis, as for images, with ITK's
    /// rules: for a variance below 0.5 the result is blended with the unsmoothed field; border voxels are set to
    /// zero. A variance of 0 leaves the fields unchanged. Components are smoothed independently: a component that is
    /// zero everywhere stays zero.
    fn smooth_both_fields(
        &self,
        fields: [&mut Self::Field; 2],
        variance_voxels: f64,
        scratch: [&mut Self::Field; 2],
    ) -> Result<(), Error>;

    /// One step of length `step_voxels` of a field u along its update g: u(x) becomes u(x) + s·g(x + u(x)) with s =
    /// `step_voxels` / max‖g‖, or 0 if g is zero.
    fn advance(&self, field: &mut Self::Field, update: &Self::Field, step_voxels: f64) -> Result<(), Error>;

    /// One step of two fields of one shape, each along its own update, like [`advance`](Backend::advance).
    fn advance_both(
        &self,
        fields: [&mut Self::Field; 2],
        updates: [&Self::Field; 2],
        step_voxels: f64,
    ) -> Result<(), Error> {
        let mut pairs = fields.into_iter().zip(updates);
        pairs.try_for_each(|(field, update)| self.advance(field, update, step_voxels))
    }

    /// Improves the inverses of two fields of one shape, like [`invert`](Backend::invert).
    fn invert_both(
        &self,
        fields: [&Self::Field; 2],
        inverses: [&mut Self::Field; 2],
        limits: &InversionLimits,
    ) -> Result<(), Error> {
        let mut pairs = fields.into_iter().zip(inverses);
        pairs.try_for_each(|(field, inverse)| self.invert(field, inverse, limits))
    }

    /// Inverse consistency of two fields: statistics of ‖u(x) + v(x + u(x))‖, the distance between x and its position
    /// after both fields, over all voxels x; u is `first`, v is `then`. With a `mask`, only voxels count where it
    /// exceeds ½. 0 means that the fields are inverse to each other.
    ///
    /// For fields that are zero at their border the result is that of
    /// [`apply::inverse_consistency`](crate::apply::inverse_consistency) in world space, except for rounding to single
    /// precision. The reason is that v is then zero outside the grid in both functions.
    fn inverse_consistency(
        &self,
        first: &Self::Field,
        then: &Self::Field,
        mask: Option<&Self::Image>,
    ) -> Result<InverseConsistency, Error>;

    /// Resamples a field on another grid: out(x) = matrix·field(m(x)), with the map m = `out_to_field`. `matrix`
    /// converts the vectors to voxels of the other grid or to other units.
    ///
    /// If m is the identity, `matrix` is diagonal and all vectors are finite, a component whose diagonal element is 0
    /// becomes exactly 0. A component whose diagonal element is 1 is unchanged, except that the last voxel of an axis
    /// may change by rounding.
    fn resize_field(
        &self,
        field: &Self::Field,
        out_to_field: &AffineTransform,
        matrix: &Matrix3<f64>,
        out: &mut Self::Field,
    ) -> Result<(), Error>;

    /// Statistics of the Jacobian determinants det(∂(x + u(x))/∂x) over the voxels where `mask`, if given, exceeds ½,
    /// by central differences, one-sided at the border. Also statistics of the smallest determinant of each voxel over
    /// all combinations of one-sided differences, which is the smallest determinant at the corners of the trilinear
    /// cells that meet at the voxel. A NaN counts as folded. The determinants are those of the same map in world space,
    /// for any spacing and direction of the grid, because the matrices are similar.
    fn jacobian_summary(&self, field: &Self::Field, mask: Option<&Self::Image>) -> Result<JacobianSummary, Error>;

    /// New memory for [`relax`](Backend::relax) of two fields of this shape. All voxels are marked, so that the first
    /// round examines all of them.
    fn relaxation(&self, shape: [usize; 3]) -> Result<Self::Relaxation, Error>;

    /// Marks all voxels of both fields again, so that the next round of [`relax`](Backend::relax) examines all of them.
    fn examine_all(&self, relaxation: &mut Self::Relaxation) -> Result<(), Error>;

    /// One round of relaxation: corrects two displacement fields that should be inverse to each other, at the voxels
    /// where they fold or deviate by more than the limits. Returns the number of examined voxels beyond the limits, in
    /// the first and in the second field. Large deviations need several rounds.
    ///
    /// The first field u is examined first. A voxel folds if the determinant at any corner of the trilinear cells
    /// around it is below the limit. A voxel that does not fold, but where u deviates from the inverse of the second
    /// field v, is set to the inverse of v, as by [`invert`](Backend::invert). Where v is steep, a change of u by a
    /// hundredth of a voxel can be enough to remove the deviation. If the deviation then still exceeds 0.1 voxel, or
    /// the change exceeds one voxel, u is blended with its smoothed copy instead (smoothed as by
    /// [`smooth_both_fields`](Backend::smooth_both_fields)). The share of the smoothed copy is min(1, (residual/limit −
    /// 1)/2 + 0.05). At neighbours within `reach_voxels` along each axis that are not corrected themselves, this share
    /// is multiplied by 1 − d²/(`reach_voxels` + 1)², where d is the distance to the voxel. Then v is set to the
    /// inverse of the new u, as by `invert`. After that, v is examined and corrected in the same way, and u is set to
    /// the inverse of the new v.
    ///
    /// A voxel that folds is moved together with its neighbours along the axes. The determinant at a cell corner
    /// depends on four voxels: the corner and the other ends of its three edges. For each corner whose determinant is
    /// below the limit, the function computes the smallest displacements of these four voxels that raise the
    /// determinant to 0.3 above the limit, to first order. These are along the derivative of the determinant, within
    /// the allowed directions, no voxel by more than one voxel. A voxel is moved by the mean of the displacements for
    /// all such corners that it belongs to. Border voxels are not moved. In a round with `unfolds` = false, u is
    /// replaced by its smoothed copy at the voxels that fold.
    ///
    /// The first call examines all voxels. Further calls examine the bricks of 8³ voxels that contain a neighbour of a
    /// changed voxel, and the bricks around the position in the other field to which a changed voxel is mapped. v is
    /// computed again only in the bricks within 3 voxels of the mapped positions of changed voxels of u. When no
    /// examined voxel is beyond the limits, [`examine_all`](Backend::examine_all) marks all voxels, to check that this
    /// holds everywhere.
    fn relax(
        &self,
        pair: [&mut Self::Field; 2],
        round: &RelaxRound,
        relaxation: &mut Self::Relaxation,
    ) -> Result<[usize; 2], Error>;
}
