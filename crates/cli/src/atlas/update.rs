//! The template of a pass: its average, moved to the mean shape.

use std::path::Path;
use std::sync::Arc;

use antsreg_cohort::template::{Movement, ShapeStep, likeness, shape_update, sharpen, sharpness};
use antsreg_core::io::itk;
use antsreg_core::{AffineTransform, DisplacementField};
use antsreg_kernels::Backend;
use antsreg_study::template::Manifest;
use serde::{Deserialize, Serialize};

use super::Error;
use super::average::Averaged;
use super::content::{Content, write_all};
use super::onto::{Onto, Seen};
use super::session::{Drawn, Session};
use super::template::Template;
use crate::cohort::{Engine, Task};
use crate::error::CliError;
use crate::interpolation::ImageInterpolation;
use crate::on_device::in_mm;

/// How often a pass takes the shape step, as ANTs does.
const TIMES: usize = 4;

/// Figures of a template.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TemplateResults {
    /// The pass it is of.
    pub pass: usize,
    /// How far points of the foreground of the template before moved, on the average.
    pub moved_mean_voxels: f64,
    /// … and at most.
    pub moved_largest_voxels: f64,
    /// Length of the mean warp there, on the average: 0 for a template without bias.
    pub mean_warp_voxels: f64,
    /// Pearson's correlation with the template before, in the foreground.
    pub correlation_with_before: Option<f64>,
    /// Mean gradient magnitude in the foreground, per mm, over the mean intensity there.
    pub sharpness_per_mm: f64,
    /// Whether it moved so little that no pass is needed after this one.
    pub converged: bool,
}

/// A template, not written yet.
pub struct Updated {
    /// What it is.
    pub template: Arc<Template>,
    /// New template → average.
    pub shape: DisplacementField,
    /// Figures.
    pub results: TemplateResults,
}

/// The work of a device on it.
struct Shaping<'a> {
    averaged: &'a Averaged,
    step: ShapeStep,
    how: ImageInterpolation,
}

impl Shaping<'_> {
    fn onto(&self) -> Onto<'_> {
        let images = &self.averaged.images;
        Onto { images, grid: &images[0].grid, how: self.how }
    }
}

impl Task for Shaping<'_> {
    /// New template → average, mm, and the average's images through it.
    type Output = (DisplacementField, Vec<Seen>);

    fn bytes(&self) -> u64 {
        /// The mean warp, the shape so far and the next one; one in the host's order.
        const FIELDS: usize = 4;
        let onto = self.onto();
        4 * (3 * FIELDS * onto.grid.len() + onto.scalars()) as u64
    }

    fn run<B: Backend>(self, backend: &B) -> Result<Self::Output, CliError> {
        let (Averaged { warp, stretch, .. }, onto) = (self.averaged, self.onto());
        let shape = shape_update(backend, onto.grid, stretch, warp.as_ref(), self.step).map_err(Error::Shape)?;
        let images = onto.read(backend, Some(&shape), &AffineTransform::identity()).map_err(CliError::Device)?;
        Ok((in_mm(backend, onto.grid, &shape)?, images))
    }
}

/// Makes the template. `last` is the shape update of the pass before, if that had one.
///
/// Registrations have a bias of their own, alike for all subjects and in all passes: averages come out displaced by it, and
/// the update takes it back. So the template has moved by what an update differs from the last one, and stands still when
/// the same one comes again.
pub fn compute(
    engine: &mut Engine,
    session: &Session,
    pass: usize,
    averaged: &Averaged,
    before: &Template,
    last: Option<&DisplacementField>,
) -> Result<Updated, CliError> {
    let args = &session.plan.args;
    let step = ShapeStep { gradient: args.shape_step, times: TIMES };
    let (shape, seen) = engine.run(Shaping { averaged, step, how: args.interpolation })?;
    let template = match seen.first().filter(|_| !args.sharpen).map(|first| first.foreground) {
        Some(foreground) => Template::with(seen.into_iter().map(|seen| seen.image).collect(), foreground),
        None => Template::new(seen.iter().map(|seen| sharpen(&seen.image)).collect()),
    };
    let (first, mask) = (&template.images[0], &before.mask);
    let moved = || last.map_or_else(|| Movement::of(&shape, mask), |last| Movement::beyond(&shape, last, mask));
    let mean_warp = || averaged.warp.as_ref().map(|warp| Movement::of(warp, mask)).transpose();
    let like = || likeness(first, &before.images[0], &template.mask);
    let ((moved, mean_warp), (like, sharpness)) =
        rayon::join(|| rayon::join(moved, mean_warp), || rayon::join(like, || sharpness(first, &template.mask)));
    let moved = moved?;
    let results = TemplateResults {
        pass,
        moved_mean_voxels: moved.mean_voxels,
        moved_largest_voxels: moved.largest_voxels,
        mean_warp_voxels: mean_warp?.map_or(0.0, |mean| mean.mean_voxels),
        correlation_with_before: like?,
        sharpness_per_mm: sharpness.map_err(CliError::Grid)?,
        // The affine pass makes the start: what it moved says nothing about the passes to come.
        converged: !session.is_affine(pass) && moved.mean_voxels < args.stop_below,
    };
    Ok(Updated { template: Arc::new(template), shape, results })
}

/// Writes its files; what it gives records them.
pub fn write<'a>(
    session: &'a Session,
    pass: usize,
    updated: &Updated,
) -> Result<impl FnOnce() -> Result<Manifest, CliError> + Send + use<'a>, CliError> {
    let files = session.layout.template(Some(pass));
    let mut outputs: Vec<(&Path, Content)> = Vec::new();
    for (image, path) in updated.template.images.iter().zip(&files.images) {
        outputs.push((path, Content::Image(image)));
    }
    outputs.push((&files.shape, Content::Warp(&updated.shape)));
    session.draw(Drawn::Template(Some(pass)), &updated.template.images[0])?;
    let (written, results) = (write_all(&session.layout, &outputs)?, updated.results.clone());
    Ok(move || Ok(session.update_stage(pass)?.finish(None, written, results)?))
}

/// The shape update of the pass before, if that was not the affine one.
pub fn shape_before(session: &Session, pass: usize) -> Result<Option<DisplacementField>, CliError> {
    let Some(before) = session.before(pass).filter(|before| !session.is_affine(*before)) else { return Ok(None) };
    let shape = itk::read_warp(&session.layout.template(Some(before)).shape)?;
    Ok(Some(DisplacementField { grid: session.grid()?, ..shape }))
}
