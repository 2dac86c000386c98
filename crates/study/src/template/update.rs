//! The template of a pass: its average, moved to the mean shape.

use std::path::Path;
use std::sync::Arc;

use antsreg_cohort::template::{Movement, ShapeStep, correlation, shape_update, sharpen, sharpness};
use antsreg_core::io::itk;
use antsreg_core::{AffineTransform, DisplacementField};
use antsreg_kernels::Backend;
use antsreg_pool::{DeviceBytes, Worker};
use antsreg_register::resample::download_field;
use antsreg_register::{Error as RegisterError, Interpolation, Task};
use serde::{Deserialize, Serialize};

use super::Error as TemplateError;
use super::average::Averaged;
use super::content::{Content, write_all};
use super::manifest::Manifest;
use super::pictures::Drawn;
use super::reference::Reference;
use super::resampled::{Resampled, Resampling};
use super::session::Session;
use crate::Error;

/// Shape steps of a pass, as ANTs makes them.
const TIMES: usize = 4;

/// Figures of a template.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TemplateResults {
    /// The pass.
    pub pass: usize,
    /// Mean distance by which points of the foreground of the template before moved, voxels.
    pub moved_mean_voxels: f64,
    /// The largest such distance, voxels.
    pub moved_largest_voxels: f64,
    /// Mean length of the mean warp there, voxels: 0 for a template without bias.
    pub mean_warp_voxels: f64,
    /// Pearson's correlation with the template before, in the foreground.
    pub correlation_with_before: Option<f64>,
    /// Mean gradient magnitude in the foreground, per mm, over the mean intensity there.
    pub sharpness_per_mm: f64,
    /// Whether it moved so little that no further pass is needed.
    pub converged: bool,
}

/// A template, not written yet.
pub struct Updated {
    /// The template.
    pub reference: Arc<Reference>,
    /// The shape update, new template → average.
    pub shape: DisplacementField,
    /// Figures.
    pub results: TemplateResults,
}

/// The part of an update that a device computes.
struct Shaping<'a> {
    averaged: &'a Averaged,
    step: ShapeStep,
    interpolation: Interpolation,
}

impl Shaping<'_> {
    fn resampling(&self) -> Resampling<'_> {
        let images = &self.averaged.images;
        Resampling { images: images.iter().collect(), grid: &images[0].grid, interpolation: self.interpolation }
    }
}

impl DeviceBytes for Shaping<'_> {
    fn device_bytes(&self) -> u64 {
        /// The mean warp, the shape so far and the next one, and one in the order of main memory.
        const FIELDS: usize = 4;
        let resampling = self.resampling();
        4 * (3 * FIELDS * resampling.grid.len() + resampling.scalars()) as u64
    }
}

impl Task for Shaping<'_> {
    /// The shape update, new template → average, RAS mm; the images of the average through it.
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

/// Makes the template of a pass. `last` is the shape update of the pass before, if that had one.
///
/// Registrations have a bias of their own, the same for all subjects and in all passes. Averages come out displaced by it, and
/// the update takes the displacement back. So the template has moved by the difference between an update and the last one,
/// and stands still when the same update comes again.
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
) -> Result<Updated, Error> {
    let options = &session.plan.options;
    let step = ShapeStep { gradient: options.shape_step, times: TIMES };
    let (shape, images) = worker.run(Shaping { averaged, step, interpolation: options.interpolation })?;
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
        // The affine pass makes the first template: its movement says nothing about the passes to come.
        converged: !session.is_affine(pass) && moved.mean_voxels < options.stop_below_voxels,
    };
    Ok(Updated { reference: Arc::new(reference), shape, results })
}

/// Writes the files of a template; the function that it gives writes the manifest.
///
/// # Errors
/// A file that cannot be written.
pub fn write<'a>(
    session: &'a Session,
    pass: usize,
    updated: &Updated,
) -> Result<impl FnOnce() -> Result<Manifest, Error> + Send + use<'a>, Error> {
    let files = session.layout.template(Some(pass));
    let mut outputs: Vec<(&Path, Content)> = Vec::new();
    for (image, path) in updated.reference.images.iter().zip(&files.images) {
        outputs.push((path, Content::Image(image)));
    }
    outputs.push((&files.shape, Content::Warp(&updated.shape)));
    session.draw(Drawn::Template(Some(pass)), &updated.reference.images[0])?;
    let (written, results) = (write_all(&session.layout, &outputs)?, updated.results.clone());
    Ok(move || session.update_stage(pass)?.finish(None, written, results))
}

/// The shape update of the pass before, unless that was the affine one.
///
/// # Errors
/// A file that cannot be read.
pub fn shape_before(session: &Session, pass: usize) -> Result<Option<DisplacementField>, Error> {
    let Some(before) = session.before(pass).filter(|before| !session.is_affine(*before)) else { return Ok(None) };
    let shape = itk::read_warp(&session.layout.template(Some(before)).shape)?;
    Ok(Some(DisplacementField { grid: session.grid()?, ..shape }))
}
