//! The template's brain on the grid of an image: by an affine registration of the heads, one of what is near the brain, and a
//! deformable one of it.

use std::sync::Arc;

use antsreg_core::Volume;
use antsreg_core::compare::Comparison;
use antsreg_kernels::apply;
use antsreg_register::linear::{self, Search, Start};
use antsreg_register::syn::{self, Metric};
use antsreg_register::{
    Device, Interpolation, Mask, Options, Preset, Progress, Registration, Side, Stage, WarpedImages, register,
};

use super::{Contrast, Error, Template};

/// Where the template's brain lies in an image.
pub struct Aligned {
    /// The contrast of the template that the image is most alike.
    pub contrast: Contrast,
    /// The share of each voxel of the image that is the template's brain.
    pub prior: Volume,
    /// The correlation of the image with the template near the brain, without a sign, after the registration.
    pub correlation: f64,
}

/// Images at least so alike are compared by their correlation, others by mutual information.
const ALIKE: f64 = 0.35;

/// Registers an image to the template and brings its brain back.
pub fn align(
    image: &Arc<Volume>,
    template: &Template,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<Aligned, Error> {
    let moving = Side::new(image.clone());
    let affine = affine(&moving, template, device, progress)?;
    let warped = affine.warped.as_ref().ok_or(Error::Nowhere)?;
    let alike = |(_, head): &&(Contrast, Arc<Volume>)| correlation(head, warped, template);
    let (contrast, head) = template
        .heads
        .iter()
        .max_by(|a, b| alike(a).total_cmp(&alike(b)))
        .ok_or_else(|| Error::Template("it has no image".into()))?;
    let metric = if correlation(head, warped, template) >= ALIKE { Metric::Cc } else { Metric::Mattes };
    let deformable = syn::Options {
        channels: vec![syn::Channel { metric, ..syn::Channel::default() }],
        ..Preset::Fast.syn_for(head.grid.shape)
    };
    let options = Options {
        start: Start::Transform(affine.affine),
        stages: vec![Stage::Deformable(deformable)],
        inverse_warp: true,
        scores: false,
        images: warped_alone(),
    };
    let fixed = Side::new(head.clone()).with_mask(template.near.clone());
    let found = register(&fixed, &moving, &options, device, progress)?;
    let prior = apply::resample(&template.brain, &image.grid, &found.backward, apply::Interpolation::Linear, 0.0);
    let correlation = found.warped.as_ref().map_or(0.0, |warped| correlation(head, warped, template));
    Ok(Aligned { contrast: *contrast, prior, correlation })
}

/// The affine of the heads as wholes, then of what is near the brain, from there.
fn affine(
    moving: &Side,
    template: &Template,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<Registration, Error> {
    let head = template.head();
    let whole = Preset::Fast.linear();
    let near = linear::Options { search: Search::None, ..whole.clone() };
    let options = Options {
        start: Start::CentreOfMass,
        stages: vec![Stage::Linear(whole), Stage::Linear(near)],
        inverse_warp: false,
        scores: false,
        images: warped_alone(),
    };
    let mask = Mask::PerStage(vec![None, Some(template.near.clone())]);
    let fixed = Side { mask, ..Side::new(head.clone()) };
    Ok(register(&fixed, moving, &options, device, progress)?)
}

fn warped_alone() -> Option<WarpedImages> {
    Some(WarpedImages { interpolation: Interpolation::Linear, warped: true, inverse_warped: false })
}

/// The correlation with a head of the template near the brain, without a sign; 0 where there is none.
fn correlation(head: &Volume, warped: &Volume, template: &Template) -> f64 {
    let found = Comparison::between(head, warped, Some(&template.near)).map(|compared| compared.correlation.abs());
    found.ok().filter(|correlation| correlation.is_finite()).unwrap_or(0.0)
}
