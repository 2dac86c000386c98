//! The template's brain on the grid of an image: by an affine registration of the heads, one of what is near the brain, and a
//! deformable one of it.

use std::ops::RangeInclusive;
use std::sync::Arc;

use antsreg_core::compare::Comparison;
use antsreg_core::{AffineTransform, Volume};
use antsreg_kernels::apply;
use antsreg_register::linear::{self, Search, Start};
use antsreg_register::syn::{self, Metric};
use antsreg_register::{Device, Interpolation, Options, Preset, Progress, Side, Stage, WarpedImages, register};

use super::window::Window;
use super::{Contrast, Error, Template};

/// Where the template's brain lies in an image.
pub struct Aligned {
    /// The contrast of the template that the image is most alike.
    pub contrast: Contrast,
    /// The part of the image around the brain.
    pub window: Window,
    /// The share of each voxel in the window that is the template's brain.
    pub prior: Volume,
    /// The affine of the template's points to those of the image, RAS mm.
    pub affine: AffineTransform,
    /// The correlation of the image with the template near the brain, without a sign, after the registration.
    pub correlation: f64,
}

/// Images at least so alike are compared by their local correlation, others by mutual information.
const ALIKE: f64 = 0.2;
/// A contrast by which an image is at least so alike is taken without trying the others.
const SURE: f64 = 0.5;
/// Volumes of heads over that of the template that are plausible.
const SIZES: RangeInclusive<f64> = 0.4..=1.7;
/// The finest level of the registration of the heads as wholes, mm: that of what is near the brain is finer.
const WHOLE_MM: f64 = 4.0;

/// What is looked at around the brain, mm: the deformation moves its edge, and the surroundings tell its intensities.
const MARGIN_MM: f64 = 25.0;

/// Registers an image to the template and brings its brain back.
pub fn align(
    image: &Arc<Volume>,
    template: &Template,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<Aligned, Error> {
    let moving = Side::new(image.clone());
    let Placed { contrast, head, affine, similarity, .. } = place(&moving, template, device, progress)?;
    let near = linear::Options { search: Search::None, ..Preset::Fast.linear() };
    let metric = if similarity >= ALIKE { Metric::Cc } else { Metric::Mattes };
    let deformable = syn::Options {
        channels: vec![syn::Channel { metric, ..syn::Channel::default() }],
        ..Preset::Fast.syn_for(head.grid.shape)
    };
    let options = Options {
        start: Start::Transform(affine),
        stages: vec![Stage::Linear(near), Stage::Deformable(deformable)],
        inverse_warp: true,
        ..options()
    };
    let fixed = Side::new(head.clone()).with_mask(template.near().clone());
    let found = register(&fixed, &moving, &options, device, progress)?;
    let window = Window::around(&image.grid, template.brain(), &found.affine, MARGIN_MM).ok_or(Error::Nowhere)?;
    let onto = window.grid(&image.grid);
    let prior = apply::resample(template.brain(), &onto, &found.backward, apply::Interpolation::Linear, 0.0);
    let correlation = found.warped.as_ref().map_or(0.0, |warped| correlation(head, warped, template));
    Ok(Aligned { contrast, window, prior, affine: found.affine, correlation })
}

/// An affine registration of an image to the template.
struct Placed<'a> {
    /// A contrast of the template, and the head in it.
    contrast: Contrast,
    head: &'a Arc<Volume>,
    /// Maps points of the template to points of the image, RAS mm.
    affine: AffineTransform,
    /// The correlation with that head near the brain, without a sign.
    similarity: f64,
    /// Whether the head has a plausible size.
    plausible: bool,
}

impl Placed<'_> {
    fn is_sure(&self) -> bool {
        self.plausible && self.similarity >= SURE
    }
}

/// Registers the heads as wholes: to one contrast after the other until one result is plausible and alike. Returns it with the
/// contrast that the image is then most alike.
///
/// The correlation ratio asks that equal intensities of one image are equal in the other. For some pairs of contrasts (T1 and
/// FLAIR) a small part of the head can fulfil that better than the whole one.
fn place<'a>(
    moving: &Side,
    template: &'a Template,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<Placed<'a>, Error> {
    let options = Options {
        start: Start::CentreOfMass,
        stages: vec![Stage::Linear(linear::Options { finest_mm: WHOLE_MM, ..Preset::Fast.linear() })],
        ..options()
    };
    let better = |a: &Placed, b: &Placed| a.plausible.cmp(&b.plausible).then(a.similarity.total_cmp(&b.similarity));
    let mut best: Option<Placed> = None;
    for (_, fixed) in template.heads() {
        let found = register(&Side::new(fixed.clone()), moving, &options, device, progress)?;
        let warped = found.warped.as_ref().ok_or(Error::Nowhere)?;
        let placed = template.heads().iter().map(|(contrast, head)| Placed {
            contrast: *contrast,
            head,
            affine: found.affine,
            similarity: correlation(head, warped, template),
            plausible: SIZES.contains(&found.affine.matrix.determinant()),
        });
        best = best.into_iter().chain(placed).max_by(better);
        if best.as_ref().is_some_and(Placed::is_sure) {
            break;
        }
    }
    best.ok_or(Error::Nowhere)
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
