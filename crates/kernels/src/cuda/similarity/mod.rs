//! Similarity of two images.

mod bin_fixed;
mod bricks;
mod cc_direct;
mod cc_gradient;
mod contrast;
mod correlation;
mod correlation_ratio;
mod fit_sums;
mod images;
mod joint_entropies;
mod mi_gradient;
mod moments;
mod sampled;
mod samples;

use antsreg_core::AffineTransform;

use super::{Cuda, Field, Image};
use crate::ops::Similarity;
use crate::{
    CcParameters, CcScores, Contrast, ContrastRule, Entropies, Error, FitRule, FitSums, JointParameters,
    MetricOutput, MiParameters, Moments,
};

pub use bin_fixed::FixedBins;
pub use cc_direct::DirectCc;
pub use cc_gradient::CcWorkspace;
pub use images::CcPending;
pub use mi_gradient::MiWorkspace;

impl Similarity for Cuda {
    type FixedBins = FixedBins;
    type CcWorkspace = CcWorkspace;
    type CcPending = CcPending;
    type MiWorkspace = MiWorkspace;

    fn correlation(&self, first: &Image, second: &Image, mask: Option<&Image>) -> Result<f64, Error> {
        correlation::correlation(self, first, second, mask)
    }

    fn bin_fixed(
        &self,
        fixed: &Image,
        weight: Option<&Image>,
        low_high: (f32, f32),
        bins: usize,
    ) -> Result<FixedBins, Error> {
        bin_fixed::bin_fixed(self, fixed, weight, low_high, bins)
    }

    fn correlation_ratio(
        &self,
        fixed: &FixedBins,
        moving: &Image,
        moving_weight: Option<&Image>,
        edge_voxels: [f64; 3],
        fixed_to_moving: &[AffineTransform],
    ) -> Result<Vec<f64>, Error> {
        correlation_ratio::correlation_ratio(self, fixed, moving, moving_weight, edge_voxels, fixed_to_moving)
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
        joint_entropies::joint_entropies(self, fixed, moving, moving_weight, edge_voxels, parameters, fixed_to_moving)
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
        moments::moments(self, fixed, moving, weights, low_high, edge_voxels, fixed_to_moving)
    }

    fn contrast(
        &self,
        points: &Image,
        moving: &Image,
        rule: &ContrastRule,
        maps: &[AffineTransform],
    ) -> Result<Vec<Contrast>, Error> {
        contrast::contrast(self, points, moving, rule, maps)
    }

    fn fit_sums(
        &self,
        points: &Image,
        volumes: &[&Image],
        rule: &FitRule,
        at: &[(usize, AffineTransform)],
    ) -> Result<Vec<FitSums>, Error> {
        fit_sums::fit_sums(self, points, volumes, rule, at)
    }

    fn cc_workspace(&self, shape: [usize; 3]) -> Result<CcWorkspace, Error> {
        Ok(CcWorkspace::new(shape))
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
        cc_gradient::cc_gradient(self, images, masks, parameters, workspace, out, scratch)
    }

    fn cc_scores(&self, pending: CcPending) -> Result<CcScores, Error> {
        pending.wait()
    }

    fn mi_workspace(&self, bins: usize) -> Result<MiWorkspace, Error> {
        MiWorkspace::new(self, bins)
    }

    fn mi_gradient(
        &self,
        images: [&Image; 2],
        masks: [Option<&Image>; 2],
        parameters: &MiParameters,
        workspace: &mut MiWorkspace,
        out: MetricOutput<'_, Cuda>,
    ) -> Result<f64, Error> {
        mi_gradient::mi_gradient(self, images, masks, parameters, workspace, out)
    }
}

impl Cuda {
    /// The joint histogram from which [`joint_entropies`](Similarity::joint_entropies) are computed, the same as that of
    /// [`Cpu::joint_histogram`](crate::Cpu::joint_histogram), bit for bit. Only tests use it.
    pub fn joint_histogram(
        &self,
        fixed: &FixedBins,
        moving: &Image,
        moving_weight: Option<&Image>,
        edge_voxels: [f64; 3],
        parameters: &JointParameters,
        fixed_to_moving: &AffineTransform,
    ) -> Result<Vec<u64>, Error> {
        joint_entropies::joint_histogram(self, fixed, moving, moving_weight, edge_voxels, parameters, fixed_to_moving)
    }
}
