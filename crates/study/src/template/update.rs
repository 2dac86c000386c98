//! The template that results from a pass: the average of the pass, moved to the mean shape.

use std::path::Path;
use std::sync::Arc;

use antsreg_cohort::template::{Movement, ShapeStep, correlation, shape_update, sharpen, sharpness};
use antsreg_core::io::itk;
use antsreg_core::{AffineTransform, DisplacementField};
use antsreg_kernels::Backend;
use antsreg_pool::{DeviceBytes, Worker};
use antsreg_register::resample::download_field;
use antsreg_register::{Computation, Error as RegisterError, Interpolation};

use super::Error as TemplateError;
use super::average::Averaged;
use super::content::{Content, write_all};
use super::manifest::Manifest;
use super::pictures::PictureOf;
use super::reference::Reference;
use super::resampled::{Resampled, Resampling};
use super::results::TemplateResults;
use super::session::Session;
use crate::Error;

/// Number of steps towards the mean shape in each pass, as in ANTs.
const TIMES: usize = 4;

/// The updated template of a pass, whose files have not been written yet.
pub struct UpdatedTemplate {
    /// The template.
    pub reference: Arc<Reference>,
    /// Displacements of the shape update, from points of the new template to points of the average.
    pub shape: DisplacementField,
    /// Figures.
    pub results: TemplateResults,
}

/// The part of a template update that a device computes.
struct UpdateTask<'a> {
    averaged: &'a Averaged,
    step: ShapeStep,
    interpolation: Interpolation,
}

impl UpdateTask<'_> {
    fn resampling(&self) -> Resampling<'_> {
        let images = &self.averaged.images;
        Resampling { images: images.iter().collect(), grid: &images[0].grid, interpolation: self.interpolation }
    }
}

impl DeviceBytes for UpdateTask<'_> {
    fn device_bytes(&self) -> u64 {
        /// Largest number of displacement fields on the device at a time: the mean warp, the shape update before and
        /// after a step, and one field for the copy to main memory.
        const FIELDS: usize = 4;
        let resampling = self.resampling();
        4 * (3 * FIELDS * resampling.grid.len() + resampling.scalars()) as u64
    }
}

impl Computation for UpdateTask<'_> {
    /// The shape update (displacements from points of the new template to points of the average, RAS mm), and the
    /// images of the average resampled through the shape update.
    type Output = (DisplacementField, Vec<Resampled>);
    type Error = Error;

    fn run<B: Backend>(self, backend: &B) -> Result<Self::Output, Error> {
        let (Averaged { warp, stretch, .. }, resampling) = (self.averaged, self.resampling());
        let grid = resampling.grid;
        let shape = shape_update(backend, grid, stretch, warp.as_ref(), self.step).map_err(TemplateError::Shape)?;
        let images = resampling.run(backend, Some(&shape), &AffineTransform::identity());
        let images = images.map_err(RegisterError::Device)?;
        Ok((download_field(backend, grid, &shape).map_err(RegisterError::Device)?, images))
    }
}

/// Makes the template of a pass. `last` is the shape update of the previous pass, if there was one.
///
/// Registrations have a bias that is the same for all subjects and in all passes. This bias displaces the average, and
/// the shape update removes the displacement. So the movement of the template is the difference between the new and the
/// previous shape update; the template has converged when both are equal.
///
/// # Errors
/// A mean stretch that is singular; a device that fails.
pub fn compute(
    worker: &mut Worker,
    session: &Session,
    pass: usize,
    averaged: &Averaged,
    before: &Reference,
    last: Option<&DisplacementField>,
) -> Result<UpdatedTemplate, Error> {
    let options = &session.plan.options;
    let step = ShapeStep { gradient: options.shape_step, times: TIMES };
    let (shape, images) = worker.run(UpdateTask { averaged, step, interpolation: options.interpolation })?;
    let reference = match images.first().filter(|_| !options.sharpen).map(|first| first.foreground) {
        Some(foreground) => {
            Reference::with(images.into_iter().map(|resampled| resampled.image).collect(), foreground)
        }
        None => Reference::new(images.iter().map(|resampled| sharpen(&resampled.image)).collect()),
    };
    let (first, mask) = (&reference.images[0], &before.mask);
    let moved = || last.map_or_else(|| Movement::of(&shape, mask), |last| Movement::beyond(&shape, last, mask));
    let mean_warp = || averaged.warp.as_ref().map(|warp| Movement::of(warp, mask)).transpose();
    let alike = || correlation(first, &before.images[0], &reference.mask);
    let ((moved, mean_warp), (alike, sharpness)) =
        rayon::join(|| rayon::join(moved, mean_warp), || rayon::join(alike, || sharpness(first, &reference.mask)));
    let moved = moved?;
    let results = TemplateResults {
        pass,
        moved_mean_voxels: moved.mean_voxels,
        moved_largest_voxels: moved.largest_voxels,
        mean_warp_voxels: mean_warp?.map_or(0.0, |mean| mean.mean_voxels),
        correlation_with_before: alike?,
        sharpness_per_mm: sharpness?,
        // After the affine pass the template never counts as converged: this first movement does not predict the
        // movement in later passes.
        converged: !session.is_affine(pass) && moved.mean_voxels < options.stop_below_voxels,
    };
    Ok(UpdatedTemplate { reference: Arc::new(reference), shape, results })
}

/// Writes the files of a template. Returns the function that writes the manifest.
///
/// # Errors
/// A file that cannot be written.
pub fn write<'a>(
    session: &'a Session,
    pass: usize,
    updated: &UpdatedTemplate,
) -> Result<impl FnOnce() -> Result<Manifest, Error> + Send + use<'a>, Error> {
    let files = session.layout.template(Some(pass));
    let mut outputs: Vec<(&Path, Content)> = Vec::new();
    for (image, path) in updated.reference.images.iter().zip(&files.images) {
        outputs.push((path, Content::Image(image)));
    }
    outputs.push((&files.shape, Content::Warp(&updated.shape)));
    session.pictures.draw(PictureOf::Template(Some(pass)), &updated.reference.images[0])?;
    let (written, results) = (write_all(&session.layout, &outputs)?, updated.results.clone());
    Ok(move || session.update_stage(pass)?.finish(None, written, results))
}

/// The displacements by which the previous pass moved its average to the mean shape (shape update); `None` if the
/// previous pass was the affine pass.
///
/// # Errors
/// A file that cannot be read.
pub fn shape_before(session: &Session, pass: usize) -> Result<Option<DisplacementField>, Error> {
    let Some(before) = session.before(pass).filter(|before| !session.is_affine(*before)) else { return Ok(None) };
    let shape = itk::read_warp(&session.layout.template(Some(before)).shape)?;
    Ok(Some(DisplacementField { grid: session.grid()?, ..shape }))
}
