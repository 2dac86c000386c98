//! The template of a pass: its average, moved to the mean shape.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use antsreg_cohort::template::{Movement, ShapeStep, foreground, likeness, shape_update, sharpen, sharpness};
use antsreg_core::io::itk;
use antsreg_core::{DisplacementField, Transform, TransformChain};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Error;
use super::average::Averaged;
use super::content::{Content, write_all};
use super::manifest::Manifest;
use super::register_one::read_through;
use super::session::{Session, Template};
use crate::cohort::Engine;
use crate::error::CliError;

/// How often a pass takes the shape step, as ANTs does.
const TIMES: usize = 4;

/// Figures of a template.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TemplateResults {
    /// The pass it is of.
    pub pass: usize,
    /// How far points of the foreground moved since the pass before, on the average.
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
    let Averaged { images, warp, stretch } = averaged;
    let mask = foreground(&images[0]);
    let none = || DisplacementField::zeros(images[0].grid.clone());
    let mean_warp = warp.as_ref().map_or_else(|| Cow::Owned(none()), Cow::Borrowed);
    let mean_warp_voxels = Movement::of(&mean_warp, &mask)?.mean_voxels;
    let step = ShapeStep { gradient: args.shape_step, times: TIMES };
    let shape = shape_update(stretch, &mean_warp, step).map_err(Error::Stretch)?;
    let moved = match last {
        Some(last) => Movement::of(&difference(&shape, last), &mask)?,
        None => Movement::of(&shape, &mask)?,
    };
    drop(mean_warp);
    let chain = TransformChain::from(vec![Transform::Displacement(shape)]);
    let shaped = read_through(engine, images, &images[0].grid, &chain, args.interpolation)?;
    let shaped = shaped.into_iter().map(|image| if args.sharpen { sharpen(&image) } else { image });
    let template = Template::new(shaped.collect());
    let results = TemplateResults {
        pass,
        moved_mean_voxels: moved.mean_voxels,
        moved_largest_voxels: moved.largest_voxels,
        mean_warp_voxels,
        correlation_with_before: likeness(&template.images[0], &before.images[0], &template.mask)?,
        sharpness_per_mm: sharpness(&template.images[0], &template.mask).map_err(CliError::Grid)?,
        // The affine pass makes the start: what it moved says nothing about the passes to come.
        converged: !session.is_affine(pass) && moved.mean_voxels < args.stop_below,
    };
    let shape = chain.into_displacement().unwrap_or_else(none);
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
    let (written, results) = (write_all(&session.layout, &outputs)?, updated.results.clone());
    Ok(move || session.update_stage(pass)?.finish(None, written, results))
}

/// The shape update of the pass before, if that was not the affine one.
pub fn shape_before(session: &Session, pass: usize) -> Result<Option<DisplacementField>, CliError> {
    let Some(before) = session.before(pass).filter(|before| !session.is_affine(*before)) else { return Ok(None) };
    let shape = itk::read_warp(&session.layout.template(Some(before)).shape)?;
    Ok(Some(DisplacementField { grid: session.grid()?, ..shape }))
}

/// a − b.
fn difference(a: &DisplacementField, b: &DisplacementField) -> DisplacementField {
    let of = |(a, b): (&[f32; 3], &[f32; 3])| std::array::from_fn(|axis| a[axis] - b[axis]);
    DisplacementField { grid: a.grid.clone(), vectors: a.vectors.par_iter().zip(&b.vectors).map(of).collect() }
}
