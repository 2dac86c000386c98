//! The operations of the backend trait [`Backend`] on the CPU ([`Cpu`]). Each method calls the function that computes
//! the operation.

use std::sync::Arc;

use antsreg_core::AffineTransform;
use antsreg_core::intensity::{Quantiles, all_quantiles};
use antsreg_core::jacobian::JacobianSummary;
use nalgebra::Matrix3;
use rayon::prelude::*;

use super::{
    CcWorkspace, Cpu, Field, FixedBins, Image, MiWorkspace, Relaxation, contrast, correlation_ratio,
    cross_correlation, distance, field, fit_sums, gradient, intensity, invert, jacobian, joint_histogram, mattes,
    mix, moments, relax, resample, scores, sinc, smooth, spline,
};
use crate::{
    Backend, CcParameters, CcScores, Contrast, ContrastRule, DistanceLimits, Entropies, Error, FitRule, FitSums,
    InverseConsistency, InversionLimits, JointParameters, Lent, MetricOutput, MiParameters, Moments, Place,
    ProfileBin, RelaxRound, Sampling,
};

/// Number of samples of the moving image that each thread computes in one call for the costs of transforms, if the
/// caller must be able to stop between calls. Such a call takes some hundredths of a second.
const SAMPLES_IN_ONE_CALL: usize = 1 << 21;

impl Backend for Cpu {
    type Image = Image;
    type Field = Field;
    type FixedBins = FixedBins;
    type CcWorkspace = CcWorkspace;
    type CcPending = CcScores;
    type MiWorkspace = MiWorkspace;
    type Relaxation = Relaxation;

    fn costs_in_one_call(&self, samples: usize) -> usize {
        (rayon::current_num_threads() * SAMPLES_IN_ONE_CALL / samples.max(1)).max(1)
    }

    fn place(&self) -> Place {
        Place::Main
    }

    fn image(&self, shape: [usize; 3]) -> Result<Image, Error> {
        Ok(Image::zeros(shape))
    }

    fn upload(&self, shape: [usize; 3], voxels: &[f32]) -> Result<Image, Error> {
        Image::from_voxels(shape, voxels)
    }

    fn download(&self, image: &Image) -> Result<Vec<f32>, Error> {
        Ok(image.voxels.to_vec())
    }

    fn copy(&self, image: &Image) -> Result<Image, Error> {
        Ok(image.clone())
    }

    fn field(&self, shape: [usize; 3]) -> Result<Field, Error> {
        Ok(Field::zeros(shape))
    }

    fn upload_field(&self, shape: [usize; 3], vectors: &[[f32; 3]]) -> Result<Field, Error> {
        Field::from_vectors(shape, vectors)
    }

    fn download_field(&self, field: &Field) -> Result<Vec<[f32; 3]>, Error> {
        Ok(field.vectors().to_vec())
    }

    fn download_field_in(
        &self,
        field: &Field,
        matrix: &Matrix3<f32>,
        step: Option<f32>,
    ) -> Result<Vec<[f32; 3]>, Error> {
        Ok(mix::in_units(field, matrix, step))
    }

    fn lend_image(&self, image: &Image) -> Result<Lent, Error> {
        let voxels = image.voxels.to_vec();
        Ok(Lent::voxels(Place::Main, voxels.as_ptr().expose_provenance(), image.shape, Arc::new(voxels)))
    }

    fn lend_field(&self, field: &Field, matrix: &Matrix3<f32>, step: Option<f32>) -> Result<Lent, Error> {
        let vectors = self.download_field_in(field, matrix, step)?;
        Ok(Lent::vectors(Place::Main, vectors.as_ptr().expose_provenance(), field.shape, Arc::new(vectors)))
    }

    fn quantiles(&self, image: &Image, low: f64, high: f64) -> Result<Quantiles, Error> {
        Ok(all_quantiles(&image.voxels, low, high))
    }

    fn clip(&self, image: &mut Image, low_high: (f32, f32), origin: f32, scale: f32) -> Result<(), Error> {
        intensity::clip(image, low_high, origin, scale);
        Ok(())
    }

    fn smooth(&self, image: &Image, sigma_voxels: [f64; 3]) -> Result<Image, Error> {
        Ok(smooth::image(image, sigma_voxels))
    }

    fn gradient_magnitude(&self, image: &Image, spacing: [f64; 3]) -> Result<Image, Error> {
        Ok(gradient::magnitude(image, spacing))
    }

    fn signed_distance(&self, set: &Image, spacing_mm: [f64; 3], limits: DistanceLimits) -> Result<Image, Error> {
        let inside: Vec<bool> = set.voxels.par_iter().map(|value| *value > 0.5).collect();
        let voxels = distance::signed_distance(set.shape, spacing_mm, &inside, limits);
        Ok(Image { shape: set.shape, voxels: voxels.into() })
    }

    fn gradient_profile(&self, image: &Image, spacing: [f64; 3]) -> Result<Vec<ProfileBin>, Error> {
        Ok(gradient::profile(image, spacing))
    }

    fn map_intensities(&self, image: &mut Image, curve: &[f32]) -> Result<(), Error> {
        intensity::map(image, curve)
    }

    fn resample(
        &self,
        image: &Image,
        out_to_image: &AffineTransform,
        outside: f32,
        out: &mut Image,
    ) -> Result<(), Error> {
        resample::affine(image, out_to_image, outside, out);
        Ok(())
    }

    fn warp(
        &self,
        image: &Image,
        field: &Field,
        grid_to_image: &AffineTransform,
        sampling: Sampling,
        out: &mut Image,
    ) -> Result<(), Error> {
        Error::check_shape("warp", field.shape, out.shape)?;
        resample::warp(image, field, grid_to_image, sampling, out);
        Ok(())
    }

    fn spline_coefficients(&self, image: &Image) -> Result<Image, Error> {
        Ok(spline::coefficients(image))
    }

    fn warp_spline(
        &self,
        coefficients: &Image,
        field: &Field,
        grid_to_image: &AffineTransform,
        out: &mut Image,
    ) -> Result<(), Error> {
        Error::check_shape("warp_spline", field.shape, out.shape)?;
        spline::warp(coefficients, field, grid_to_image, out);
        Ok(())
    }

    fn warp_sinc(
        &self,
        image: &Image,
        field: &Field,
        grid_to_image: &AffineTransform,
        out: &mut Image,
    ) -> Result<(), Error> {
        Error::check_shape("warp_sinc", field.shape, out.shape)?;
        sinc::warp(image, field, grid_to_image, out);
        Ok(())
    }

    fn correlation(&self, first: &Image, second: &Image, mask: Option<&Image>) -> Result<f64, Error> {
        let found = [Some(second), mask].into_iter().flatten().map(|image| image.shape);
        Error::check_shapes("correlation", first.shape, found)?;
        Ok(scores::correlation(first, second, mask))
    }

    fn bin_fixed(
        &self,
        fixed: &Image,
        weight: Option<&Image>,
        low_high: (f32, f32),
        bins: usize,
    ) -> Result<FixedBins, Error> {
        correlation_ratio::bin_fixed(fixed, weight, low_high, bins)
    }

    fn correlation_ratio(
        &self,
        fixed: &FixedBins,
        moving: &Image,
        moving_weight: Option<&Image>,
        edge_voxels: [f64; 3],
        fixed_to_moving: &[AffineTransform],
    ) -> Result<Vec<f64>, Error> {
        correlation_ratio::costs(fixed, moving, moving_weight, edge_voxels, fixed_to_moving)
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
        joint_histogram::entropies(fixed, moving, moving_weight, edge_voxels, parameters, fixed_to_moving)
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
        moments::moments(fixed, moving, weights, low_high, edge_voxels, fixed_to_moving)
    }

    fn contrast(
        &self,
        points: &Image,
        moving: &Image,
        rule: &ContrastRule,
        maps: &[AffineTransform],
    ) -> Result<Vec<Contrast>, Error> {
        contrast::contrast(points, moving, rule, maps)
    }

    fn fit_sums(
        &self,
        points: &Image,
        volumes: &[&Image],
        rule: &FitRule,
        at: &[(usize, AffineTransform)],
    ) -> Result<Vec<FitSums>, Error> {
        fit_sums::fit_sums(points, volumes, rule, at)
    }

    fn cc_workspace(&self, _: [usize; 3]) -> Result<CcWorkspace, Error> {
        Ok(CcWorkspace::default())
    }

    fn cc_gradient(
        &self,
        images: [&Image; 2],
        masks: [Option<&Image>; 2],
        parameters: &CcParameters,
        workspace: &mut CcWorkspace,
        out: MetricOutput<'_, Cpu>,
        scratch: Option<&mut Field>,
    ) -> Result<CcScores, Error> {
        let shape = images[0].shape;
        let read = images.into_iter().chain(masks.into_iter().flatten()).map(|image| image.shape);
        Error::check_shapes("cc_gradient", shape, read.chain(scratch.iter().map(|field| field.shape)))?;
        let out = gradient::Out::of("cc_gradient", shape, out)?;
        Ok(cross_correlation::gradient(images, masks, parameters, workspace, out, scratch))
    }

    fn cc_scores(&self, pending: CcScores) -> Result<CcScores, Error> {
        Ok(pending)
    }

    fn mi_workspace(&self, bins: usize) -> Result<MiWorkspace, Error> {
        crate::mattes::check_bins(bins)?;
        Ok(MiWorkspace::new(bins))
    }

    fn mi_gradient(
        &self,
        images: [&Image; 2],
        masks: [Option<&Image>; 2],
        parameters: &MiParameters,
        workspace: &mut MiWorkspace,
        out: MetricOutput<'_, Cpu>,
    ) -> Result<f64, Error> {
        let shape = images[0].shape;
        let read = images.into_iter().chain(masks.into_iter().flatten()).map(|image| image.shape);
        Error::check_shapes("mi_gradient", shape, read)?;
        let out = gradient::Out::of("mi_gradient", shape, out)?;
        crate::mattes::check_workspace(parameters.bins, workspace.bins)?;
        Ok(mattes::gradient(images, masks, parameters, workspace, out))
    }

    fn smoothed_update(
        &self,
        image: &Image,
        derivative: &mut Image,
        spacing: [f64; 3],
        variance_voxels: f64,
        out: &mut Field,
    ) -> Result<(), Error> {
        Error::check_shapes("smoothed_update", image.shape, [derivative.shape, out.shape])?;
        smooth::update(&gradient::Update::new(image, derivative, spacing), variance_voxels, out);
        Ok(())
    }

    fn magnitude(&self, field: &Field) -> Result<f64, Error> {
        Ok(mix::magnitude(field))
    }

    fn add_scaled(&self, field: &mut Field, other: &Field, scale: f64) -> Result<(), Error> {
        Error::check_shape("add_scaled", field.shape, other.shape)?;
        mix::add_scaled(field, other, scale);
        Ok(())
    }

    fn round_field(&self, field: &Field, [there, back]: [&Matrix3<f32>; 2], step: f32) -> Result<Field, Error> {
        Ok(mix::round_field(field, [there, back], step))
    }

    fn smooth_both_fields(
        &self,
        fields: [&mut Field; 2],
        variance_voxels: f64,
        scratch: [&mut Field; 2],
    ) -> Result<(), Error> {
        for (field, scratch) in fields.into_iter().zip(scratch) {
            Error::check_shape("smooth_both_fields", field.shape, scratch.shape)?;
            smooth::field(field, variance_voxels);
        }
        Ok(())
    }

    fn advance(&self, field: &mut Field, update: &Field, step_voxels: f64) -> Result<(), Error> {
        Error::check_shape("advance", field.shape, update.shape)?;
        field::advance(field, update, step_voxels);
        Ok(())
    }

    fn compose(&self, field: &mut Field, then: &Field) -> Result<(), Error> {
        Error::check_shape("compose", field.shape, then.shape)?;
        field::compose(field, then);
        Ok(())
    }

    fn invert(&self, field: &Field, inverse: &mut Field, limits: &InversionLimits) -> Result<(), Error> {
        Error::check_shape("invert", field.shape, inverse.shape)?;
        invert::invert(field, inverse, limits);
        Ok(())
    }

    fn inverse_consistency(
        &self,
        first: &Field,
        then: &Field,
        mask: Option<&Image>,
    ) -> Result<InverseConsistency, Error> {
        Error::check_shape("inverse_consistency", first.shape, then.shape)?;
        Error::check_shapes("inverse_consistency", first.shape, mask.map(|mask| mask.shape))?;
        Ok(scores::inverse_consistency(first, then, mask))
    }

    fn resize_field(
        &self,
        field: &Field,
        out_to_field: &AffineTransform,
        matrix: &Matrix3<f64>,
        out: &mut Field,
    ) -> Result<(), Error> {
        field::resize(field, out_to_field, matrix, out);
        Ok(())
    }

    fn jacobian_summary(&self, field: &Field, mask: Option<&Image>) -> Result<JacobianSummary, Error> {
        Error::check_shapes("jacobian_summary", field.shape, mask.map(|mask| mask.shape))?;
        Ok(scores::jacobian_summary(field, mask))
    }

    fn relaxation(&self, shape: [usize; 3]) -> Result<Relaxation, Error> {
        Ok(Relaxation::new(shape))
    }

    fn examine_all(&self, relaxation: &mut Relaxation) -> Result<(), Error> {
        relaxation.examine_all();
        Ok(())
    }

    fn relax(
        &self,
        pair: [&mut Field; 2],
        round: &RelaxRound,
        relaxation: &mut Relaxation,
    ) -> Result<[usize; 2], Error> {
        for field in &pair {
            Error::check_shape("relax", relaxation.shape, field.shape)?;
        }
        Ok(relax::relax(pair, round, relaxation))
    }
}

/// Results that only tests use, to compare the CPU with the GPU.
impl Cpu {
    /// The joint histogram of one transform, as in [`Backend::joint_entropies`]: element `fixed bin · moving bins +
    /// moving bin` is the sum of the weights, in units of 1/[`UNIT`](JointParameters::UNIT).
    pub fn joint_histogram(
        &self,
        fixed: &FixedBins,
        moving: &Image,
        moving_weight: Option<&Image>,
        edge_voxels: [f64; 3],
        parameters: &JointParameters,
        fixed_to_moving: &AffineTransform,
    ) -> Result<Vec<u64>, Error> {
        joint_histogram::histogram(fixed, moving, moving_weight, edge_voxels, parameters, fixed_to_moving)
    }

    /// The Jacobian determinants of [`Backend::jacobian_summary`], one for each voxel.
    pub fn jacobian_determinant(&self, field: &Field, out: &mut Image) -> Result<(), Error> {
        Error::check_shape("jacobian_determinant", field.shape, out.shape)?;
        jacobian::determinant(field, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_as_many_costs_as_all_threads_compute_in_the_time_of_a_call() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let costs = |samples: usize| pool.install(|| Cpu.costs_in_one_call(samples));
        assert_eq!(costs(SAMPLES_IN_ONE_CALL / 2), 6);
        assert_eq!(costs(SAMPLES_IN_ONE_CALL), 3);
        assert_eq!(costs(2 * SAMPLES_IN_ONE_CALL), 1);
        assert_eq!(costs(1000 * SAMPLES_IN_ONE_CALL), 1, "there is at least one");
        assert!(costs(0) > 0);
    }
}
