//! A subject's transforms from the last pass's template to the new one, the way back, and its images there: the work of a device.

use std::sync::Arc;

use antsreg_cohort::template::from_new_template;
use antsreg_core::{AffineTransform, DisplacementField, Volume};
use antsreg_kernels::{Backend, InverseConsistency, InversionLimits};

use super::Error;
use super::carry::Carrying;
use super::onto::{Onto, Seen};
use super::register_one::Contribution;
use crate::cohort::{Engine, Task};
use crate::error::CliError;
use crate::on_device::{in_mm, in_voxels};

/// The inverse of a final warp, to a small fraction of a voxel.
const INVERSION: InversionLimits = InversionLimits { steps: 50, tolerance_voxels: 0.005, untouched_voxels: 0.0 };

/// A subject, and its transforms to the template of the last pass.
pub struct Forward {
    /// The transforms.
    pub contribution: Arc<Contribution>,
    /// Its images.
    pub images: Arc<Vec<Volume>>,
}

/// The subject on the new template.
pub struct There {
    /// New template → subject, after `warp`.
    pub affine: AffineTransform,
    /// Displacement before it.
    pub warp: DisplacementField,
    /// What undoes the warp.
    pub inverse_warp: DisplacementField,
    /// How far the two miss each other.
    pub missed: InverseConsistency,
    /// As read.
    pub images: Arc<Vec<Volume>>,
    /// On the template's grid.
    pub warped: Vec<Seen>,
}

impl Forward {
    /// Brings the subject there.
    pub fn bring(self, engine: &mut Engine, carrying: &Carrying) -> Result<There, CliError> {
        engine.run(Bringing { forward: self, carrying })
    }
}

struct Bringing<'a> {
    forward: Forward,
    carrying: &'a Carrying<'a>,
}

impl Bringing<'_> {
    fn onto(&self) -> Onto<'_> {
        let Carrying { session, last, .. } = self.carrying;
        Onto { images: &self.forward.images, grid: &last.shape.grid, how: session.plan.args.interpolation }
    }
}

impl Task for Bringing<'_> {
    type Output = There;

    fn bytes(&self) -> u64 {
        /// Both transforms, joined, turned; the result and its inverse; one in the host's order.
        const FIELDS: usize = 7;
        let onto = self.onto();
        4 * (3 * FIELDS * onto.grid.len() + onto.scalars().max(onto.grid.len())) as u64
    }

    fn run<B: Backend>(self, backend: &B) -> Result<There, CliError> {
        let last = &self.carrying.last;
        let (grid, Contribution { affine, warp, .. }) = (&last.shape.grid, self.forward.contribution.as_ref());
        let shape = in_voxels(backend, &last.shape).map_err(CliError::Device)?;
        let old = warp.as_ref().map_or_else(|| backend.field(grid.shape), |warp| in_voxels(backend, warp));
        let old = old.map_err(CliError::Device)?;
        let (affine, field) =
            from_new_template(backend, grid, affine, &old, &last.stretch, &shape).map_err(Error::Shape)?;
        drop((shape, old));
        let back = || {
            // To start from: the opposite displacements.
            let mut inverse = backend.field(grid.shape)?;
            backend.add_scaled(&mut inverse, &field, -1.0)?;
            backend.invert(&field, &mut inverse, &INVERSION)?;
            let mask = backend.upload(grid.shape, &last.template.mask.voxels)?;
            let missed = backend.inverse_consistency(&field, &inverse, Some(&mask))?;
            Ok::<_, antsreg_kernels::Error>((inverse, missed))
        };
        let (inverse, missed) = back().map_err(CliError::Device)?;
        let warped = self.onto().read(backend, Some(&field), &affine).map_err(CliError::Device)?;
        let (warp, inverse_warp) = (in_mm(backend, grid, &field)?, in_mm(backend, grid, &inverse)?);
        Ok(There { affine, warp, inverse_warp, missed, images: self.forward.images, warped })
    }
}
