//! One resolution: what the cost of a batch of transforms is computed from.

use std::sync::Arc;

use antsreg_core::AffineTransform;
use antsreg_kernels::Backend;

use crate::coordinate_search::{Candidate, SWEEPS, best_first, descend};
use crate::fixed::FixedLevel;
use crate::parameters::{Frame, Parameters, directions};
use crate::{Dof, Error};

pub(crate) struct Level<'a, B: Backend> {
    pub backend: &'a B,
    /// Spacing of the fixed grid.
    pub mm: f64,
    pub fixed: Arc<FixedLevel<B>>,
    pub moving: B::Image,
    pub moving_weight: Option<B::Image>,
    pub edge_voxels: [f64; 3],
    pub fixed_voxel_to_world: AffineTransform,
    pub world_to_moving_voxel: AffineTransform,
}

impl<B: Backend> Level<'_, B> {
    /// The cost of each set of parameters, in one call of the device; 1 where they do not make a transform.
    pub fn costs(&self, frame: &Frame, batch: &[Parameters]) -> Result<Vec<f64>, Error> {
        let transforms: Vec<Option<AffineTransform>> =
            batch.iter().map(|parameters| self.voxel_map(frame, parameters)).collect();
        let usable: Vec<AffineTransform> = transforms.iter().flatten().copied().collect();
        let costs = self.backend.correlation_ratio(
            &self.fixed.bins,
            &self.moving,
            self.moving_weight.as_ref(),
            self.edge_voxels,
            &usable,
        )?;
        let mut costs = costs.into_iter();
        Ok(transforms.iter().map(|usable| usable.and_then(|_| costs.next()).unwrap_or(1.0)).collect())
    }

    /// Parameters with their costs, best first.
    pub fn rated(&self, frame: &Frame, batch: impl Iterator<Item = Parameters>) -> Result<Vec<Candidate>, Error> {
        let batch: Vec<Parameters> = batch.collect();
        let costs = self.costs(frame, &batch)?;
        let pairs = batch.into_iter().zip(costs);
        let mut rated: Vec<Candidate> = pairs.map(|(parameters, cost)| Candidate { parameters, cost }).collect();
        best_first(&mut rated);
        Ok(rated)
    }

    /// Each start, optimised over these degrees of freedom one direction at a time; best first.
    pub fn optimise(&self, frame: &Frame, starts: &[Parameters], dof: Dof) -> Result<Vec<Candidate>, Error> {
        let mut found = descend(starts, &directions(dof, self.mm), SWEEPS, |batch| self.costs(frame, batch))?;
        best_first(&mut found);
        Ok(found)
    }

    fn voxel_map(&self, frame: &Frame, parameters: &Parameters) -> Option<AffineTransform> {
        let world = frame.transform(parameters)?;
        Some(self.world_to_moving_voxel.after(&world).after(&self.fixed_voxel_to_world))
    }
}
