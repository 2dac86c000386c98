//! The template's brain on the grid of an image: by an affine registration of the heads, one of what is near the brain, and a
//! deformable one of it.

use std::sync::Arc;

use antsreg_core::compare::Comparison;
use antsreg_core::{AffineTransform, Volume};
use antsreg_kernels::apply;
use antsreg_register::linear::{self, Search, Start};
use antsreg_register::syn::{self, Metric};
use antsreg_register::{Device, Interpolation, Options, Preset, Progress, Side, Stage, WarpedImages, register};

use super::{Contrast, Error, Template};

/// Where the template's brain lies in an image.
pub struct Aligned {
    /// The contrast of the template that the image is most alike.
    pub contrast: Contrast,
    /// The share of each voxel of the image that is the template's brain.
    pub prior: Volume,
    /// The affine of the template's points to those of the image, RAS mm.
    pub affine: AffineTransform,
    /// The correlation of the image with the template near the brain, without a sign, after the registration.
    pub correlation: f64,
}

/// Images at least so alike are compared by their local correlation, others by mutual information.
const ALIKE: f64 = 0.35;
/// The finest level of the registration of the heads as wholes, mm: that of what is near the brain is finer.
const WHOLE_MM: f64 = 4.0;

/// Registers an image to the template and brings its brain back.
pub fn align(
    image: &Arc<Volume>,
    template: &Template,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<Aligned, Error> {
    let moving = Side::new(image.clone());
    let whole = Options {
        start: Start::CentreOfMass,
        stages: vec![Stage::Linear(linear::Options { finest_mm: WHOLE_MM, ..Preset::Fast.linear() })],
        ..options()
    };
    let found = register(&Side::new(template.head().clone()), &moving, &whole, device, progress)?;
    let warped = found.warped.as_ref().ok_or(Error::Nowhere)?;
    let similarity = |(contrast, head)| (contrast, head, correlation(head, warped, template));
    let heads = template.heads().iter().map(|(contrast, head)| similarity((*contrast, head)));
    let (contrast, head, similarity) = heads.max_by(|a, b| a.2.total_cmp(&b.2)).ok_or(Error::Nowhere)?;
    let near = linear::Options { search: Search::None, ..Preset::Fast.linear() };
    let metric = if similarity >= ALIKE { Metric::Cc } else { Metric::Mattes };
    let deformable = syn::Options {
        channels: vec![syn::Channel { metric, ..syn::Channel::default() }],
        ..Preset::Fast.syn_for(head.grid.shape)
    };
    let closer = Options {
        start: Start::Transform(found.affine),
        stages: vec![Stage::Linear(near), Stage::Deformable(deformable)],
        inverse_warp: true,
        ..options()
    };
    let fixed = Side::new(head.clone()).with_mask(template.near().clone());
    let found = register(&fixed, &moving, &closer, device, progress)?;
    let prior = apply::resample(template.brain(), &image.grid, &found.backward, apply::Interpolation::Linear, 0.0);
    let correlation = found.warped.as_ref().map_or(0.0, |warped| correlation(head, warped, template));
    Ok(Aligned { contrast, prior, affine: found.affine, correlation })
}

/// What both registrations return: transforms, and the warped image.
fn options() -> Options {
    Options {
        inverse_warp: false,
        scores: false,
        images: Some(WarpedImages { interpolation: Interpolation::Linear, warped: true, inverse_warped: false }),
        ..Options::default()
    }
}

/// The correlation with a head of the template near the brain, without a sign; 0 where there is none.
fn correlation(head: &Volume, warped: &Volume, template: &Template) -> f64 {
    let found = Comparison::between(head, warped, Some(template.near())).map(|compared| compared.correlation.abs());
    found.ok().filter(|correlation| correlation.is_finite()).unwrap_or(0.0)
}
