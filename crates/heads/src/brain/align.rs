//! Aligns the template's brain with an image: an affine registration of the whole heads, then an affine and a
//! deformable registration of the region near the brain.

use std::ops::RangeInclusive;
use std::sync::Arc;

use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::Backend;
use antsreg_register::linear::{self, Search, Start};
use antsreg_register::resample::{Kernel, Sampler};
use antsreg_register::syn::{self, Metric};
use antsreg_register::{
    self as register, Continuation, Device, Grids, Image, OnDevice, Options, Preset, Progress, Side, Stage,
    WarpsOnDevice,
};
use nalgebra::Point3;
use rayon::prelude::*;

use super::finer::Finer;
use super::refine::distance_limits;
use super::warning::BrainWarning;
use super::window::Window;
use super::{Contrast, Error, Template, shading};

/// Result of the alignment: the template's brain on the grid of an image.
pub struct Aligned {
    /// The contrast of the template that is most similar to the image.
    pub contrast: Contrast,
    /// Box of the image's voxels around the brain.
    pub window: Window,
    /// The part of the image in a box around the brain, after removal of the shading.
    pub image: Arc<Volume>,
    /// For each voxel of the box: the signed distance of its centre to the border of the registered template's brain, mm;
    /// positive in the brain, within [`distance_limits`].
    pub distance_mm: Vec<f32>,
    /// Affine map from points of the template to points of the image, RAS mm.
    pub affine: AffineTransform,
    /// Absolute correlation of the image with the template near the brain after the registration.
    pub correlation: f64,
    /// The share of the template's brain that lies inside the image.
    pub held: f64,
}

/// Smallest absolute correlation of image and template at which the deformable registration uses local correlation.
/// Below it, the registration uses mutual information.
const ALIKE: f64 = 0.2;
/// Smallest absolute correlation at which a contrast of the template is accepted without a test of the other contrasts.
const SURE: f64 = 0.4;
/// Plausible volumes of a head, as a share of the template head's volume.
const SIZES: RangeInclusive<f64> = 0.4..=1.7;
/// Finest level of the registration of the whole heads, mm. The region near the brain is registered on finer levels.
const WHOLE_MM: f64 = 4.0;

/// Width of the margin around the brain in the registered part of the image, mm. Registration needs the tissue outside
/// the brain's edge, because deformation moves the edge. The refinement of the edge needs the intensities there.
const MARGIN_MM: f64 = 25.0;

/// Where the border of the image cuts the brain, the deformable registration ignores a strip of this width along the
/// border, mm. Windows of local correlation in this strip extend beyond the image, where there are no voxels.
const CUT_MM: f64 = 8.0;

/// Variance of the Gaussian that smooths the whole displacement field after each update, voxels² of the level. Without
/// this smoothing, coarse levels could move the edge between brain and skull to that between scalp and air, which looks
/// alike.
const FIELD_VARIANCE: f64 = 0.5;

/// Registers an image to the template, and resamples the template's brain on the image's grid.
pub fn align(
    image: &Arc<Volume>,
    template: &Template,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<Aligned, Error> {
    let moving = Side::new(image.clone()).on(device)?;
    let candidates = place(&moving, template, device, progress)?;
    drop(moving);
    let (mut best, mut failed): (Option<Near>, _) = (None, Error::Nowhere);
    for placed in candidates {
        match near(image, &placed, template, device, progress) {
            Ok(found) => best = best.into_iter().chain([found]).max_by(Near::compare),
            Err(stopped @ Error::Register(register::Error::Stopped)) => return Err(stopped),
            Err(error) => failed = error,
        }
    }
    let Some(Near { number, affine, similarity, window, moving, .. }) = best else { return Err(failed) };
    let (contrast, head) = &template.heads()[number];
    let metric = if similarity >= ALIKE { Metric::Cc } else { Metric::Mattes };
    let options =
        Options { start: Start::Transform(affine), stages: vec![deformable(metric, template)], ..options() };
    let held = share_inside(template, &image.grid, &affine);
    let mask = match held < BrainWarning::LEAST_INSIDE {
        true => Arc::new(away_from_border(template.near(), &image.grid, &affine)),
        false => template.near().clone(),
    };
    let fixed = Side::new(head.clone()).with_mask(mask);
    let then = BringBack { template, head, image: &moving.image };
    let (distance_mm, correlation) = register::register(&fixed, &moving, &options, device, progress)?.run(then)?;
    let image = moving.image.volume()?.clone();
    Ok(Aligned { contrast: *contrast, window, image, distance_mm, affine, correlation, held })
}

/// Result of an affine registration of the template's whole head and the head of an image.
#[derive(Clone, Copy)]
struct Placed {
    /// Index of the template contrast that is most similar to the registered image.
    number: usize,
    /// Affine map from points of the template to points of the image, RAS mm.
    affine: AffineTransform,
    /// Absolute correlation of the image with the template's head in this contrast, near the brain.
    similarity: f64,
}

impl Placed {
    /// Chooses the contrast with the largest correlation; `None` for an empty list of correlations.
    fn of((affine, similarities): (AffineTransform, Vec<f64>)) -> Option<Placed> {
        let (number, similarity) = similarities.into_iter().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Placed { number, affine, similarity })
    }

    fn is_plausible(&self) -> bool {
        SIZES.contains(&self.affine.matrix.determinant())
    }
}

/// Registers the whole heads, with one contrast of the template after the other, until a result is plausible and its
/// correlation high; returns this result alone. If no such result is found, returns the results of all contrasts, and
/// the registration of the region near the brain decides between them.
///
/// The correlation ratio assumes that voxels with equal intensities in one image also have equal intensities in the
/// other image. For some pairs of contrasts (T1 and FLAIR), an alignment with a small part of the head can fulfil this
/// better than an alignment with the whole head.
fn place(
    moving: &Side,
    template: &Template,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<Vec<Placed>, Error> {
    let options = Options { start: Start::CentreOfMass, stages: vec![whole()], ..options() };
    let mut all = Vec::new();
    for (_, fixed) in template.heads() {
        let then = Compare { template, image: &moving.image };
        let found = register::register(&Side::new(fixed.clone()), moving, &options, device, progress)?.run(then)?;
        let Some(placed) = Placed::of(found) else { continue };
        if placed.is_plausible() && placed.similarity >= SURE {
            return Ok(vec![placed]);
        }
        all.push(placed);
    }
    Ok(all)
}

/// Result of an affine registration of the region near the brain to the template.
struct Near {
    /// Index of the template contrast that is most similar to the registered image.
    number: usize,
    /// Affine map from points of the template to points of the image, RAS mm.
    affine: AffineTransform,
    /// Absolute correlation of the image with the template's head in this contrast, near the brain.
    similarity: f64,
    /// Whether the registered head has a plausible size.
    plausible: bool,
    /// Box of the image's voxels around the brain.
    window: Window,
    /// The part of the image in a box around the brain, after removal of the shading.
    moving: Side,
}

impl Near {
    fn compare(a: &Near, b: &Near) -> std::cmp::Ordering {
        a.plausible.cmp(&b.plausible).then(a.similarity.total_cmp(&b.similarity))
    }
}

/// Registers the part of an image around the brain, after removal of its shading; starts from a registration of the
/// whole heads.
fn near(
    image: &Volume,
    placed: &Placed,
    template: &Template,
    device: &Device,
    progress: &mut dyn Progress,
) -> Result<Near, Error> {
    let window = Window::around(&image.grid, template.brain(), &placed.affine, MARGIN_MM).ok_or(Error::Nowhere)?;
    let mut part = window.cut(image);
    shading::remove(&mut part, template.deep(), &placed.affine)?;
    let moving = Side::new(part).on(device)?;
    let linear = linear::Options { search: Search::None, ..Preset::Fast.linear() };
    let stages = vec![Stage::Linear(linear)];
    let options = Options { start: Start::Transform(placed.affine), stages, ..options() };
    let fixed = Side::new(template.heads()[placed.number].1.clone()).with_mask(template.near().clone());
    let then = Compare { template, image: &moving.image };
    let found = register::register(&fixed, &moving, &options, device, progress)?.run(then)?;
    let placed = Placed::of(found).ok_or(Error::Nowhere)?;
    let plausible = placed.is_plausible();
    let Placed { number, affine, similarity } = placed;
    Ok(Near { number, affine, similarity, plausible, window, moving })
}

/// Returns the settings of the affine registration of the template's whole head to the head of the image.
fn whole() -> Stage {
    Stage::Linear(linear::Options { finest_mm: WHOLE_MM, ..Preset::Fast.linear() })
}

/// Shares of all voxels at which the region's intensities are clipped: it is cut from the head and holds little air.
const CLIPPED: (f64, f64) = (0.005, 0.995);

/// Returns the settings of the deformable registration of the region near the brain.
fn deformable(metric: Metric, template: &Template) -> Stage {
    let channels = vec![syn::Channel { metric, ..syn::Channel::default() }];
    let fast = Preset::Fast.syn_for(template.head().grid.shape);
    // More contrast at the boundaries of tissues changes the brain's mask by next to nothing.
    let fast = syn::Options { winsorise: Some(CLIPPED), winsorise_over: syn::Counted::All, ..fast };
    Stage::Deformable(syn::Options { channels, total_variance: FIELD_VARIANCE, boundary_contrast: 0.0, ..fast })
}

/// GPU memory, in bytes, that brain extraction takes for an image on this grid.
pub fn device_bytes(template: &Template, image: &Grid) -> u64 {
    /// Number of scalar volumes that are in GPU memory at the same time, on the grid of the image: the image, a copy,
    /// the resampled brain, and the three components of a warp.
    const SCALARS: u64 = 6;
    let refined = Finer::than(image, &template.head().grid).map(|finer| finer.grid(image));
    let image = refined.as_ref().unwrap_or(image);
    let grids =
        Grids { images: [&template.head().grid, image], channels: [Vec::new(), Vec::new()], masked: [true, false] };
    let options = Options { stages: vec![whole(), deformable(Metric::Cc, template)], ..options() };
    options.device_bytes(&grids) + 4 * SCALARS * image.len() as u64
}

/// The options that all registrations for brain extraction share. The results stay on the device.
fn options() -> Options {
    Options { inverse_warp: false, scores: false, images: None, ..Options::default() }
}

/// The share of the template's brain that lies inside an image under an affine map from the template to the image.
fn share_inside(template: &Template, image: &Grid, affine: &AffineTransform) -> f64 {
    let brain = template.brain();
    let [nx, ny, _] = brain.grid.shape;
    let index = image.world_to_voxel().after(affine).after(&brain.grid.voxel_to_world());
    let of_row = |(row, voxels): (usize, &[f32])| {
        let inside = (0..nx).filter(|x| voxels[*x] > 0.5);
        inside.fold([0_usize; 2], |[all, held], x| {
            let voxel = Point3::new(x as f64, (row % ny) as f64, (row / ny) as f64);
            [all + 1, held + usize::from(image.holds(&index.apply(&voxel)))]
        })
    };
    let rows = brain.voxels.par_chunks(nx).enumerate().with_min_len(64);
    let [all, held] = rows.map(of_row).reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    held as f64 / all.max(1) as f64
}

/// Returns a mask of the template without the voxels that an affine maps outside an image or near its border.
fn away_from_border(mask: &Volume, image: &Grid, affine: &AffineTransform) -> Volume {
    let [nx, ny, _] = mask.grid.shape;
    let index = image.world_to_voxel().after(affine).after(&mask.grid.voxel_to_world());
    let margin = image.spacing.map(|mm| CUT_MM / mm);
    let mut mask = mask.clone();
    mask.voxels.par_chunks_mut(nx).enumerate().with_min_len(64).for_each(|(row, voxels)| {
        for (x, value) in voxels.iter_mut().enumerate() {
            let at = index.apply(&Point3::new(x as f64, (row % ny) as f64, (row / ny) as f64));
            let away =
                |axis: usize| at[axis] >= margin[axis] && at[axis] <= image.shape[axis] as f64 - 1.0 - margin[axis];
            *value = if (0..3).all(away) { *value } else { 0.0 };
        }
    });
    mask
}

/// After a linear registration: correlates the registered image with the template's head in every contrast, near the
/// brain. Returns the affine and the absolute correlations; an undefined correlation is 0.
struct Compare<'a> {
    template: &'a Template,
    image: &'a Image,
}

impl Continuation for Compare<'_> {
    type Output = (AffineTransform, Vec<f64>);
    type Error = Error;

    fn run<B: Backend>(self, backend: &B, found: OnDevice<B>) -> Result<Self::Output, Error> {
        let Compare { template, image } = self;
        let grid = &template.head().grid;
        let warped = warped(backend, image, grid, None, &found.affine)?;
        let near = backend.upload(grid.shape, &template.near().voxels)?;
        let compare = |(_, head): &(Contrast, Arc<Volume>)| correlation(backend, head, &warped, &near);
        Ok((found.affine, template.heads().iter().map(compare).collect::<Result<_, Error>>()?))
    }
}

/// After the deformable registration: resamples the template's brain on the grid of the image, and computes the signed
/// distances to its border. Also computes the absolute correlation of the image with the template's head near the
/// brain.
struct BringBack<'a> {
    template: &'a Template,
    head: &'a Volume,
    image: &'a Image,
}

impl Continuation for BringBack<'_> {
    type Output = (Vec<f32>, f64);
    type Error = Error;

    fn run<B: Backend>(self, backend: &B, found: OnDevice<B>) -> Result<Self::Output, Error> {
        let BringBack { template, head, image } = self;
        let OnDevice { affine, warps: Some(WarpsOnDevice { warps, .. }), .. } = found else {
            return Err(Error::Nowhere);
        };
        let (grid, onto) = (&head.grid, image.grid());
        let warped = warped(backend, image, grid, Some(&warps.warp), &affine)?;
        let near = backend.upload(grid.shape, &template.near().voxels)?;
        let correlation = correlation(backend, head, &warped, &near)?;
        drop((warped, near));
        let back = affine.inverse().ok_or(Error::Nowhere)?;
        // Resample the inverse warp on the grid of the image, with displacements in voxels of this grid.
        let map = grid.world_to_voxel().after(&back).after(&onto.voxel_to_world());
        let to_voxels = onto.world_to_voxel().after(&affine).after(&grid.voxel_to_world()).matrix;
        let mut field = backend.field(onto.shape)?;
        backend.resize_field(&warps.inverse_warp, &map, &to_voxels, &mut field)?;
        let mut prior = backend.image(onto.shape)?;
        let brain = Sampler::new(backend, template.brain(), Kernel::Linear)?;
        brain.read(backend, onto, Some(&field), &back, &mut prior)?;
        drop(field);
        let distance = backend.signed_distance(&prior, onto.spacing.into(), distance_limits(onto))?;
        Ok((backend.download(&distance)?, correlation))
    }
}

/// Resamples an image on `grid` through an affine and, if given, a warp with displacements in voxels of `grid`.
fn warped<B: Backend>(
    backend: &B,
    image: &Image,
    grid: &Grid,
    warp: Option<&B::Field>,
    affine: &AffineTransform,
) -> Result<B::Image, Error> {
    let voxels = image.input(backend)?.load(backend)?;
    let mut out = backend.image(grid.shape)?;
    Sampler::of(backend, voxels, image.grid(), Kernel::Linear)?.read(backend, grid, warp, affine, &mut out)?;
    Ok(out)
}

/// Absolute correlation of an image with a head inside a mask; 0 if the correlation is undefined.
fn correlation<B: Backend>(backend: &B, head: &Volume, image: &B::Image, near: &B::Image) -> Result<f64, Error> {
    let head = backend.upload(head.grid.shape, &head.voxels)?;
    let found = backend.correlation(&head, image, Some(near))?.abs();
    Ok(if found.is_finite() { found } else { 0.0 })
}
