//! The operations of the backend trait [`Backend`] on the GPU ([`Cuda`]). Each method calls the function that computes
//! the operation.

use antsreg_core::AffineTransform;
use antsreg_core::intensity::Quantiles;
use antsreg_core::io::Deflated;
use antsreg_core::jacobian::JacobianSummary;
use nalgebra::Matrix3;

use super::{CcPending, CcWorkspace, Cuda, Field, FixedBins, Image, MiWorkspace, Relaxation};
use crate::{
    Backend, CcParameters, CcScores, Contrast, ContrastRule, DistanceLimits, Entropies, Error, FitRule, FitSums,
    InverseConsistency, InversionLimits, JointParameters, Lent, MetricOutput, MiParameters, Moments, Place,
    ProfileBin, RelaxRound, Sampling,
};

impl Backend for Cuda {
    type Image = Image;
    type Field = Field;
    type FixedBins = FixedBins;
    type CcWorkspace = CcWorkspace;
    type CcPending = CcPending;
    type MiWorkspace = MiWorkspace;
    type Relaxation = Relaxation;

    fn place(&self) -> Place {
        Place::Cuda(self.info().index)
    }

    fn release_kept_memory(&self) -> Result<(), Error> {
        self.device.release_kept_memory()
    }

    fn image(&self, shape: [usize; 3]) -> Result<Image, Error> {
        self.new_image(shape)
    }

    fn upload(&self, shape: [usize; 3], voxels: &[f32]) -> Result<Image, Error> {
        self.upload_image(shape, voxels)
    }

    fn download(&self, image: &Image) -> Result<Vec<f32>, Error> {
        self.download_image(image)
    }

    fn copy(&self, image: &Image) -> Result<Image, Error> {
        image.duplicate_on(&self.device)
    }

    fn field(&self, shape: [usize; 3]) -> Result<Field, Error> {
        self.new_field(shape)
    }

    fn upload_field(&self, shape: [usize; 3], vectors: &[[f32; 3]]) -> Result<Field, Error> {
        self.upload_vectors(shape, vectors, None)
    }

    fn upload_field_in(
        &self,
        shape: [usize; 3],
        vectors: &[[f32; 3]],
        matrix: &Matrix3<f32>,
    ) -> Result<Field, Error> {
        self.upload_vectors(shape, vectors, Some(matrix))
    }

    fn download_field(&self, field: &Field) -> Result<Vec<[f32; 3]>, Error> {
        self.download_vectors(field, None)
    }

    fn download_field_in(
        &self,
        field: &Field,
        matrix: &Matrix3<f32>,
        step: Option<f32>,
    ) -> Result<Vec<[f32; 3]>, Error> {
        self.download_vectors(field, Some((matrix, step)))
    }

    fn deflate_field_in(
        &self,
        field: &Field,
        matrix: &Matrix3<f32>,
        step: Option<f32>,
        factors: &[f32],
    ) -> Result<Deflated, Error> {
        self.deflate_vectors(field, matrix, step, factors)
    }

    fn deflate_image(&self, image: &Image) -> Result<Deflated, Error> {
        self.deflate_numbers(image.voxels(), image.len())
    }

    fn round_field(&self, field: &Field, matrices: [&Matrix3<f32>; 2], step: f32) -> Result<Field, Error> {
        self.round_vectors(field, matrices, step)
    }

    fn lend_image(&self, image: &Image) -> Result<Lent, Error> {
        self.lend_voxels(image)
    }

    fn lend_field(&self, field: &Field, matrix: &Matrix3<f32>, step: Option<f32>) -> Result<Lent, Error> {
        self.lend_vectors(field, matrix, step)
    }

    fn quantiles(&self, image: &Image, low: f64, high: f64) -> Result<Quantiles, Error> {
        self.quantiles_of(image, low, high)
    }

    fn clip(&self, image: &mut Image, low_high: (f32, f32), origin: f32, scale: f32) -> Result<(), Error> {
        self.clip_image(image, low_high, origin, scale)
    }

    fn smooth(&self, image: &Image, sigma_voxels: [f64; 3]) -> Result<Image, Error> {
        self.smooth_image(image, sigma_voxels)
    }

    fn gradient_magnitude(&self, image: &Image, spacing: [f64; 3]) -> Result<Image, Error> {
        self.magnitude_of_gradient(image, spacing)
    }

    fn signed_distance(&self, set: &Image, spacing_mm: [f64; 3], limits: DistanceLimits) -> Result<Image, Error> {
        self.distance_to_border(set, spacing_mm, limits)
    }

    fn gradient_profile(&self, image: &Image, spacing: [f64; 3]) -> Result<Vec<ProfileBin>, Error> {
        self.profile_of_gradient(image, spacing)
    }

    fn map_intensities(&self, image: &mut Image, curve: &[f32]) -> Result<(), Error> {
        self.map_image(image, curve)
    }

    fn resample(
        &self,
        image: &Image,
        out_to_image: &AffineTransform,
        outside: f32,
        out: &mut Image,
    ) -> Result<(), Error> {
        self.resample_affine(image, out_to_image, outside, out)
    }

    fn warp(
        &self,
        image: &Image,
        field: &Field,
        grid_to_image: &AffineTransform,
        sampling: Sampling,
        out: &mut Image,
    ) -> Result<(), Error> {
        self.warp_images([image], [field], [grid_to_image], sampling, [out])
    }

    fn spline_coefficients(&self, image: &Image) -> Result<Image, Error> {
        self.spline_through(image)
    }

    fn warp_spline(
        &self,
        coefficients: &Image,
        field: &Field,
        grid_to_image: &AffineTransform,
        out: &mut Image,
    ) -> Result<(), Error> {
        self.warp_through_spline(coefficients, field, grid_to_image, out)
    }

    fn warp_sinc(
        &self,
        image: &Image,
        field: &Field,
        grid_to_image: &AffineTransform,
        out: &mut Image,
    ) -> Result<(), Error> {
        self.warp_through_sinc(image, field, grid_to_image, out)
    }

    fn correlation(&self, first: &Image, second: &Image, mask: Option<&Image>) -> Result<f64, Error> {
        self.correlation_of(first, second, mask)
    }

    fn bin_fixed(
        &self,
        fixed: &Image,
        weight: Option<&Image>,
        low_high: (f32, f32),
        bins: usize,
    ) -> Result<FixedBins, Error> {
        self.sort_by_bin(fixed, weight, low_high, bins)
    }

    fn correlation_ratio(
        &self,
        fixed: &FixedBins,
        moving: &Image,
        moving_weight: Option<&Image>,
        edge_voxels: [f64; 3],
        fixed_to_moving: &[AffineTransform],
    ) -> Result<Vec<f64>, Error> {
        self.correlation_ratios(fixed, moving, moving_weight, edge_voxels, fixed_to_moving)
    }

    fn joint_entropies(
        &self,
        fixed: &FixedBins,
        moving: &Image,
        moving_weight: Option<&Image>,
        edge_voxels: [f64; 3],
        parameters: &JointParameters,
        fixed_to_moving: &[AffineTransform],
    ) -> Result<Vec<Entropies>, Error> {
        self.entropies_of(fixed, moving, moving_weight, edge_voxels, parameters, fixed_to_moving)
    }

    fn moments(
        &self,
        fixed: &Image,
        moving: &Image,
        weights: [Option<&Image>; 2],
        low_high: [(f32, f32); 2],
        edge_voxels: [f64; 3],
        fixed_to_moving: &[AffineTransform],
    ) -> Result<Vec<Moments>, Error> {
        self.moments_of(fixed, moving, weights, low_high, edge_voxels, fixed_to_moving)
    }

    fn contrast(
        &self,
        points: &Image,
        moving: &Image,
        rule: &ContrastRule,
        maps: &[AffineTransform],
    ) -> Result<Vec<Contrast>, Error> {
        self.contrast_of(points, moving, rule, maps)
    }

    fn fit_sums(
        &self,
        points: &Image,
        volumes: &[&Image],
        rule: &FitRule,
        at: &[(usize, AffineTransform)],
    ) -> Result<Vec<FitSums>, Error> {
        self.fit_sums_of(points, volumes, rule, at)
    }

    fn cc_workspace(&self, shape: [usize; 3]) -> Result<CcWorkspace, Error> {
        self.new_cc_workspace(shape)
    }

    fn cc_gradient(
        &self,
        images: [&Image; 2],
        masks: [Option<&Image>; 2],
        parameters: &CcParameters,
        workspace: &mut CcWorkspace,
        out: MetricOutput<'_, Cuda>,
        scratch: Option<&mut Field>,
    ) -> Result<CcPending, Error> {
        self.cc_gradient_of(images, masks, parameters, workspace, out, scratch)
    }

    fn cc_scores(&self, pending: CcPending) -> Result<CcScores, Error> {
        pending.wait()
    }

    fn mi_workspace(&self, bins: usize) -> Result<MiWorkspace, Error> {
        self.new_mi_workspace(bins)
    }

    fn mi_gradient(
        &self,
        images: [&Image; 2],
        masks: [Option<&Image>; 2],
        parameters: &MiParameters,
        workspace: &mut MiWorkspace,
        out: MetricOutput<'_, Cuda>,
    ) -> Result<f64, Error> {
        self.mi_gradient_of(images, masks, parameters, workspace, out)
    }

    fn smoothed_update(
        &self,
        image: &Image,
        derivative: &mut Image,
        spacing: [f64; 3],
        variance_voxels: f64,
        out: &mut Field,
    ) -> Result<(), Error> {
        self.smooth_update(image, derivative, spacing, variance_voxels, out)
    }

    fn magnitude(&self, field: &Field) -> Result<f64, Error> {
        self.magnitude_of(field)
    }

    fn add_scaled(&self, field: &mut Field, other: &Field, scale: f64) -> Result<(), Error> {
        self.add_scaled_field(field, other, scale)
    }

    fn field_pair(&self, shape: [usize; 3]) -> Result<[Field; 2], Error> {
        self.new_fields(shape)
    }

    fn warp_both(
        &self,
        images: [&Image; 2],
        fields: [&Field; 2],
        grid_to_image: [&AffineTransform; 2],
        sampling: Sampling,
        out: [&mut Image; 2],
    ) -> Result<(), Error> {
        self.warp_images(images, fields, grid_to_image, sampling, out)
    }

    fn smooth_both_fields(
        &self,
        fields: [&mut Field; 2],
        variance_voxels: f64,
        scratch: [&mut Field; 2],
    ) -> Result<(), Error> {
        self.smooth_both_vectors(fields, variance_voxels, scratch)
    }

    fn advance(&self, field: &mut Field, update: &Field, step_voxels: f64) -> Result<(), Error> {
        self.advance_fields([field], [update], step_voxels)
    }

    fn advance_both(&self, fields: [&mut Field; 2], updates: [&Field; 2], step_voxels: f64) -> Result<(), Error> {
        self.advance_fields(fields, updates, step_voxels)
    }

    fn invert_both(
        &self,
        fields: [&Field; 2],
        inverses: [&mut Field; 2],
        limits: &InversionLimits,
    ) -> Result<(), Error> {
        self.invert_fields(fields, inverses, limits)
    }

    fn compose(&self, field: &mut Field, then: &Field) -> Result<(), Error> {
        self.compose_fields(field, then)
    }

    fn invert(&self, field: &Field, inverse: &mut Field, limits: &InversionLimits) -> Result<(), Error> {
        self.invert_fields([field], [inverse], limits)
    }

    fn inverse_consistency(
        &self,
        first: &Field,
        then: &Field,
        mask: Option<&Image>,
    ) -> Result<InverseConsistency, Error> {
        self.consistency_of(first, then, mask)
    }

    fn resize_field(
        &self,
        field: &Field,
        out_to_field: &AffineTransform,
        matrix: &Matrix3<f64>,
        out: &mut Field,
    ) -> Result<(), Error> {
        self.resize(field, out_to_field, matrix, out)
    }

    fn jacobian_summary(&self, field: &Field, mask: Option<&Image>) -> Result<JacobianSummary, Error> {
        self.summary_of_jacobian(field, mask)
    }

    fn relaxation(&self, shape: [usize; 3]) -> Result<Relaxation, Error> {
        self.new_relaxation(shape)
    }

    fn examine_all(&self, relaxation: &mut Relaxation) -> Result<(), Error> {
        relaxation.examine_all()
    }

    fn relax(
        &self,
        pair: [&mut Field; 2],
        round: &RelaxRound,
        relaxation: &mut Relaxation,
    ) -> Result<[usize; 2], Error> {
        self.relax_pair(pair, round, relaxation)
    }
}

/// Results that only tests use, to compare the GPU with the CPU.
impl Cuda {
    /// The same result as [`Cpu::joint_histogram`](crate::Cpu::joint_histogram), bit for bit.
    pub fn joint_histogram(
        &self,
        fixed: &FixedBins,
        moving: &Image,
        moving_weight: Option<&Image>,
        edge_voxels: [f64; 3],
        parameters: &JointParameters,
        fixed_to_moving: &AffineTransform,
    ) -> Result<Vec<u64>, Error> {
        self.joint_histogram_of(fixed, moving, moving_weight, edge_voxels, parameters, fixed_to_moving)
    }

    /// The same result as [`Cpu::jacobian_determinant`](crate::Cpu::jacobian_determinant), bit for bit.
    pub fn jacobian_determinant(&self, field: &Field, out: &mut Image) -> Result<(), Error> {
        self.jacobian(field, out)
    }
}
