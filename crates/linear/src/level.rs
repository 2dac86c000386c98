//! One resolution level: both images in the form that the cost function needs, and the evaluation of batches of
//! transforms.

use std::sync::Arc;

use antsreg_core::AffineTransform;
use antsreg_kernels::{Backend, JointParameters, JointSampling};
use rayon::prelude::*;

use crate::fixed::{FixedLevel, FixedValues};
use crate::lockstep::{Candidate, best_first};
use crate::overlap::Overlap;
use crate::parameters::{Frame, Parameters};
use crate::progress::Progress;
use crate::{Cost, Error, Optimiser};

/// Smallest number of transforms that a thread computes. Smaller shares would take less time than to start a thread.
pub(crate) const LEAST_SHARE: usize = 64;

/// The fixed and the moving image on the device at one resolution level, with the settings of the level's search.
pub(crate) struct Level<'a, B: Backend> {
    pub backend: &'a B,
    pub overlap: &'a Overlap,
    /// Voxel size of the fixed grid, mm.
    pub mm: f64,
    pub optimiser: Optimiser,
    pub cost: Cost,
    pub histogram: JointSampling,
    /// Robust range of the intensities (lowest, highest) of the fixed and of the moving image.
    pub low_high: [(f32, f32); 2],
    pub fixed: Arc<FixedLevel<B>>,
    pub moving: B::Image,
    pub moving_weight: Option<B::Image>,
    /// Width of the zone at the border of the moving image where weights fall to 0, along each axis, in voxels.
    pub edge_voxels: [f64; 3],
    pub fixed_voxel_to_world: AffineTransform,
    pub world_to_moving_voxel: AffineTransform,
}

impl<B: Backend> Level<'_, B> {
    /// The cost of each set of parameters, raised where hardly any overlap is left; 1 for parameters that have no valid
    /// transform. The observer is polled after each call to the device.
    pub fn costs(&self, frame: &Frame, batch: &[Parameters], progress: &mut Progress) -> Result<Vec<f64>, Error> {
        let transforms: Vec<_> =
            batch.par_iter().with_min_len(LEAST_SHARE).map(|parameters| frame.transform(parameters)).collect();
        self.penalised(&transforms, progress)
    }

    /// The cost of each transform, fixed → moving, RAS mm, raised where hardly any overlap is left; 1 for `None`. The
    /// observer is polled after each call to the device.
    pub fn penalised(
        &self,
        transforms: &[Option<AffineTransform>],
        progress: &mut Progress,
    ) -> Result<Vec<f64>, Error> {
        let usable: Vec<AffineTransform> = transforms.iter().flatten().copied().collect();
        let mut costs = Vec::with_capacity(usable.len());
        for call in usable.chunks(self.backend.costs_in_one_call(self.fixed.grid.len())) {
            let measured = self.costs_of(call)?.into_par_iter().zip(call).with_min_len(LEAST_SHARE);
            costs.par_extend(measured.map(|(cost, transform)| self.overlap.penalised(cost, transform)));
            progress.poll()?;
        }
        let mut costs = costs.into_iter();
        Ok(transforms.iter().map(|usable| usable.and_then(|_| costs.next()).unwrap_or(1.0)).collect())
    }

    /// Evaluates the cost of several sets of transform parameters and returns the sets with their costs, best first.
    pub fn rated(
        &self,
        frame: &Frame,
        batch: impl Iterator<Item = Parameters>,
        progress: &mut Progress,
    ) -> Result<Vec<Candidate>, Error> {
        let batch: Vec<Parameters> = batch.collect();
        let costs = self.costs(frame, &batch, progress)?;
        let pairs = batch.into_iter().zip(costs);
        let mut rated: Vec<Candidate> = pairs.map(|(parameters, cost)| Candidate { parameters, cost }).collect();
        best_first(&mut rated);
        Ok(rated)
    }

    /// The cost of each transform, fixed → moving, RAS mm, whatever its overlap is.
    pub fn costs_of(&self, transforms: &[AffineTransform]) -> Result<Vec<f64>, Error> {
        self.measured(&transforms.iter().map(|transform| self.between_voxels(transform)).collect::<Vec<_>>())
    }

    /// The cost of each affine map from voxels of the fixed grid to voxels of the moving grid.
    fn measured(&self, maps: &[AffineTransform]) -> Result<Vec<f64>, Error> {
        let Level { backend, cost, moving, edge_voxels, low_high, .. } = self;
        let weight = self.moving_weight.as_ref();
        Ok(match &self.fixed.values {
            FixedValues::Binned(fixed, bins) if cost.has_joint_histogram() => {
                let parameters = JointParameters { sampling: self.histogram, bins: *bins, low_high: low_high[1] };
                let entropies = backend.joint_entropies(fixed, moving, weight, *edge_voxels, &parameters, maps)?;
                entropies.iter().map(|entropies| cost.of_entropies(entropies, *bins)).collect()
            }
            FixedValues::Binned(fixed, _) => backend.correlation_ratio(fixed, moving, weight, *edge_voxels, maps)?,
            FixedValues::Plain { image, weight: own } => {
                let weights = [own.as_ref(), weight];
                let moments = backend.moments(image, moving, weights, *low_high, *edge_voxels, maps)?;
                moments.iter().map(|moments| cost.of_moments(moments)).collect()
            }
        })
    }

    fn between_voxels(&self, fixed_to_moving: &AffineTransform) -> AffineTransform {
        self.world_to_moving_voxel.after(fixed_to_moving).after(&self.fixed_voxel_to_world)
    }
}

#[cfg(test)]
mod tests;
