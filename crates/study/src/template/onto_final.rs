//! Moves a subject to the final template, from the template to which the last pass registered the subjects: computes
//! the subject's transforms in both directions and its images, on a device.

use std::sync::Arc;

use antsreg_cohort::template::from_new_template;
use antsreg_core::{AffineTransform, DisplacementField};
use antsreg_kernels::{Backend, InverseConsistency, InversionLimits};
use antsreg_pool::{DeviceBytes, Worker};
use antsreg_register::resample::{download_field, upload_field};
use antsreg_register::{Computation, Error as RegisterError};

use super::Error as TemplateError;
use super::channels::Channels;
use super::contribution::Contribution;
use super::final_pass::FinalPass;
use super::resampled::{Resampled, Resampling};
use crate::Error;

/// Limits for computing the inverse of a final warp by iteration. The iteration at a voxel ends when the residual is
/// below a small fraction of a voxel.
const INVERSION: InversionLimits = InversionLimits { steps: 50, tolerance_voxels: 0.005, untouched_voxels: 0.0 };

/// A subject with its transforms to the template to which the last pass registered the subjects.
pub struct SubjectToMove {
    /// The subject's transforms and resampled images.
    pub contribution: Arc<Contribution>,
    /// The subject's images on their own grids.
    pub images: Arc<Channels>,
}

/// A subject on the final template: transforms in both directions, and images.
pub struct MovedSubject {
    /// Affine transform from points of the template, displaced by `warp`, to points of the subject, RAS mm.
    pub affine: AffineTransform,
    /// Displacements that are added to points of the template before the affine transform is applied.
    pub warp: DisplacementField,
    /// The inverse of the warp.
    pub inverse_warp: DisplacementField,
    /// Inverse consistency of `warp` and `inverse_warp`.
    pub consistency: InverseConsistency,
    /// The subject's images on their own grids.
    pub images: Arc<Channels>,
    /// The subject's images on the template's grid.
    pub warped: Vec<Resampled>,
}

impl SubjectToMove {
    /// Moves the subject to the final template, on the device of a worker.
    ///
    /// # Errors
    /// A device that fails; a mean stretch that is singular.
    pub fn run(self, worker: &mut Worker, final_pass: &FinalPass) -> Result<MovedSubject, Error> {
        worker.run(MoveTask { subject: self, final_pass })
    }
}

struct MoveTask<'a> {
    subject: SubjectToMove,
    final_pass: &'a FinalPass<'a>,
}

impl MoveTask<'_> {
    fn resampling(&self) -> Resampling<'_> {
        let FinalPass { session, shape, .. } = self.final_pass;
        let images = self.subject.images.iter().map(Arc::as_ref).collect();
        Resampling { images, grid: &shape.grid, interpolation: session.plan.options.interpolation }
    }
}

impl DeviceBytes for MoveTask<'_> {
    fn device_bytes(&self) -> u64 {
        /// Largest number of displacement fields on the device at a time. They serve to join the transforms, to
        /// separate the affine part, to hold the result and its inverse, and to copy a field to main memory.
        const FIELDS: usize = 7;
        let resampling = self.resampling();
        let voxels = resampling.grid.len();
        4 * (3 * FIELDS * voxels + resampling.scalars().max(voxels)) as u64
    }
}

impl Computation for MoveTask<'_> {
    type Output = MovedSubject;
    type Error = Error;

    fn run<B: Backend>(self, backend: &B) -> Result<MovedSubject, Error> {
        let last = self.final_pass;
        let (grid, Contribution { affine, warp, .. }) = (&last.shape.grid, self.subject.contribution.as_ref());
        let shape = upload_field(backend, &last.shape).map_err(RegisterError::Device)?;
        let old = warp.as_ref().map_or_else(|| backend.field(grid.shape), |warp| upload_field(backend, warp));
        let old = old.map_err(RegisterError::Device)?;
        let (affine, field) =
            from_new_template(backend, grid, affine, &old, &last.stretch, &shape).map_err(TemplateError::Shape)?;
        drop((shape, old));
        let compute = || {
            // The inverse of the warp is computed by iteration, which starts from the negative displacements of the
            // warp.
            let mut inverse = backend.field(grid.shape)?;
            backend.add_scaled(&mut inverse, &field, -1.0)?;
            backend.invert(&field, &mut inverse, &INVERSION)?;
            let mask = backend.upload(grid.shape, &last.reference.mask.voxels)?;
            let consistency = backend.inverse_consistency(&field, &inverse, Some(&mask))?;
            drop(mask);
            let warped = self.resampling().run(backend, Some(&field), &affine)?;
            let [warp, inverse_warp] = [&field, &inverse].map(|field| download_field(backend, grid, field));
            Ok::<_, antsreg_kernels::Error>((warp?, inverse_warp?, consistency, warped))
        };
        let (warp, inverse_warp, consistency, warped) = compute().map_err(RegisterError::Device)?;
        Ok(MovedSubject { affine, warp, inverse_warp, consistency, images: self.subject.images, warped })
    }
}
