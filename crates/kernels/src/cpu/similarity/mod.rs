//! Similarity of two images.

mod bin_fixed;
mod cc_gradient;
mod contrast;
mod correlation;
mod correlation_ratio;
mod fit_sums;
mod joint_entropies;
mod mi_gradient;
mod moments;
mod samples;
mod slices;

use antsreg_core::AffineTransform;

use super::gradient::Out;
use super::{Cpu, Field, Image};
use crate::ops::Similarity;
use crate::{
    CcParameters, CcScores, Contrast, ContrastRule, Entropies, Error, FitRule, FitSums, JointParameters,
    MetricOutput, MiParameters, Moments, mattes,
};

pub use bin_fixed::FixedBins;
pub use cc_gradient::CcWorkspace;
pub use mi_gradient::MiWorkspace;

/// Number of samples of the moving image that each thread computes in one call for the costs of transforms, if the
/// caller must be able to stop between calls. Such a call takes some hundredths of a second.
const SAMPLES_IN_ONE_CALL: usize = 1 << 21;

impl Similarity for Cpu {
    type FixedBins = FixedBins;
    type CcWorkspace = CcWorkspace;
    type CcPending = CcScores;
    type MiWorkspace = MiWorkspace;

    fn costs_in_one_call(&self, samples: usize) -> usize {
        (rayon::current_num_threads() * SAMPLES_IN_ONE_CALL / samples.max(1)).max(1)
    }

    fn correlation(&self, first: &Image, second: &Image, mask: Option<&Image>) -> Result<f64, Error> {
        let found = [Some(second), mask].into_iter().flatten().map(|image| image.shape);
        Error::check_shapes("correlation", first.shape, found)?;
        Ok(correlation::correlation(first, second, mask))
    }

    fn bin_fixed(
        &self,
        fixed: &Image,
        weight: Option<&Image>,
        low_high: (f32, f32),
        bins: usize,
    ) -> Result<FixedBins, Error> {
        bin_fixed::bin_fixed(fixed, weight, low_high, bins)
    }

    fn correlation_ratio(
        &self,
        fixed: &FixedBins,
        moving: &Image,
        moving_weight: Option<&Image>,
        edge_voxels: [f64; 3],
        fixed_to_moving: &[AffineTransform],
    ) -> Result<Vec<f64>, Error> {
        correlation_ratio::correlation_ratio(fixed, moving, moving_weight, edge_voxels, fixed_to_moving)
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
        joint_entropies::joint_entropies(fixed, moving, moving_weight, edge_voxels, parameters, fixed_to_moving)
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
        let out = Out::of("cc_gradient", shape, out)?;
        Ok(cc_gradient::cc_gradient(images, masks, parameters, workspace, out, scratch))
    }

    fn cc_scores(&self, pending: CcScores) -> Result<CcScores, Error> {
        Ok(pending)
    }

    fn mi_workspace(&self, bins: usize) -> Result<MiWorkspace, Error> {
        mattes::check_bins(bins)?;
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
        let out = Out::of("mi_gradient", shape, out)?;
        mattes::check_workspace(parameters.bins, workspace.bins)?;
        Ok(mi_gradient::mi_gradient(images, masks, parameters, workspace, out))
    }
}

impl Cpu {
    /// The joint histogram of one transform, as in [`joint_entropies`](Similarity::joint_entropies): element `fixed bin · moving bins +
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
        joint_entropies::joint_histogram(fixed, moving, moving_weight, edge_voxels, parameters, fixed_to_moving)
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
