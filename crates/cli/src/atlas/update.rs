//! The template of a pass: its average, moved to the mean shape.

use std::path::Path;

use antsreg_cohort::template::{Movement, ShapeStep, foreground, shape_update, sharpen, sharpness};
use antsreg_core::io::{itk, nifti};
use antsreg_core::{DisplacementField, Transform, TransformChain, Volume};
use antsreg_kernels::apply;
use serde::{Deserialize, Serialize};

use super::Error;
use super::average::Averaged;
use super::session::{Session, Template};
use crate::compare;
use crate::error::CliError;

/// How often a pass takes the shape step, as ANTs does.
const TIMES: usize = 4;

/// Figures of a template.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TemplateResults {
    /// The pass it is of.
    pub pass: usize,
    /// How far the update moved points of the foreground, on the average.
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

/// Makes the template.
pub fn run(
    session: &Session,
    pass: usize,
    averaged: Averaged,
    before: &Template,
) -> Result<TemplateResults, CliError> {
    let stage = session.update_stage(pass)?;
    let files = session.layout.template(Some(pass));
    let args = &session.plan.args;
    let Averaged { images, warp, stretch } = averaged;
    let mask = foreground(&images[0]);
    let mean_warp = warp.unwrap_or_else(|| DisplacementField::zeros(images[0].grid.clone()));
    let mean_warp_voxels = Movement::of(&mean_warp, &mask)?.mean_voxels;
    let step = ShapeStep { gradient: args.shape_step, times: TIMES };
    let shape = shape_update(&stretch, &mean_warp, step).map_err(Error::Stretch)?;
    drop(mean_warp);
    let moved = Movement::of(&shape, &mask)?;
    let chain = TransformChain::from(vec![Transform::Displacement(shape)]);
    let mut outputs: Vec<&Path> = Vec::new();
    let mut template = Vec::new();
    for (image, path) in images.iter().zip(&files.images) {
        let shaped = apply::resample(image, &image.grid, &chain, args.interpolation.into(), 0.0);
        let shaped = if args.sharpen { sharpen(&shaped) } else { shaped };
        nifti::write_volume(path, &shaped)?;
        outputs.push(path);
        template.push(shaped);
    }
    if let Some(Transform::Displacement(shape)) = chain.steps.first().map(|step| &step.transform) {
        itk::write_warp(&files.shape, shape)?;
        outputs.push(&files.shape);
    }
    let first: &Volume = &template[0];
    let mask = foreground(first);
    let results = TemplateResults {
        pass,
        moved_mean_voxels: moved.mean_voxels,
        moved_largest_voxels: moved.largest_voxels,
        mean_warp_voxels,
        correlation_with_before: compare::correlation(first, &before.images[0], Some(&mask))?,
        sharpness_per_mm: sharpness(first, &mask).map_err(CliError::Grid)?,
        // The affine pass makes the start: what it moved says nothing about the passes to come.
        converged: !session.is_affine(pass) && moved.mean_voxels < args.stop_below,
    };
    stage.finish(None, &outputs, &results)?;
    Ok(results)
}
