//! The result of a registration.

use std::time::Instant;

use antsreg_core::{AffineTransform, ChainError, ChainWarning, DisplacementField, Transform, TransformChain, Volume};
use antsreg_kernels::Backend;
use antsreg_linear as linear;
use antsreg_syn as syn;
use serde::{Deserialize, Serialize};

use crate::images::{Images, Pair};
use crate::run::{OnDevice, WarpsOnDevice};
use crate::{Coverage, Error, Options, Side, Warning, warning};

/// The result of a registration. A fixed point is mapped by the warp, then by the affine, to the moving point.
#[derive(Debug)]
pub struct Registration {
    /// The start of the first stage, fixed → moving, RAS mm.
    pub start: AffineTransform,
    /// The affine of the result, fixed → moving, RAS mm.
    pub affine: AffineTransform,
    /// Maps fixed to moving points, the warp first. Used to resample the moving image on the fixed grid.
    pub forward: TransformChain,
    /// Maps moving to fixed points, the inverse warp last. Used to resample the fixed image on the moving grid.
    /// Without the inverse warp if that was not requested.
    pub backward: TransformChain,
    /// Outcome of each stage.
    pub courses: Vec<Course>,
    /// The relaxation of warp and inverse warp; `None` without a deformable stage.
    pub relaxed: Option<syn::Relaxed>,
    /// What the displacements of the warps are multiples of, mm; `None` where they stay as they were computed: as requested, or
    /// because a warp would fold.
    pub step_mm: Option<f32>,
    /// Jacobian determinants and inverse consistency of the warps, if requested.
    pub scores: Option<syn::Scores>,
    /// The moving image on the fixed grid, if requested.
    pub warped: Option<Volume>,
    /// The fixed image on the moving grid, if requested.
    pub inverse_warped: Option<Volume>,
    /// Correlation of the fixed and the moving image; `None` if no images were requested.
    pub similarity: Similarity,
    /// The share of the fixed image that the moving image covers.
    pub coverage: Coverage,
    /// Warnings about the result.
    pub warnings: Vec<Warning>,
    /// Wall time.
    pub seconds: Seconds,
}

/// The outcome of a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Course {
    /// A linear stage: its transform, and the cost at the end of each level.
    Linear(linear::Outcome),
    /// A deformable stage: the energies of each level.
    Deformable(Vec<syn::LevelOutcome>),
}

/// Pearson's correlation of the fixed image with the moving image resampled onto it, where the moving image is and the fixed
/// mask of the last stage counts. `None` where there is no such voxel, or either image is constant there.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Similarity {
    /// Under the start.
    pub correlation_at_start: Option<f64>,
    /// Under the result.
    pub correlation: Option<f64>,
}

/// Wall times of a registration, seconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Seconds {
    /// Each stage.
    pub stages: Vec<f64>,
    /// Downloading the warps.
    pub download: f64,
    /// Warped images and correlation.
    pub images: f64,
}

impl Registration {
    /// Displacement before the affine, on the fixed grid, RAS mm; `None` without a deformable stage.
    pub fn warp(&self) -> Option<&DisplacementField> {
        self.forward.displacement()
    }

    /// The inverse of the warp, on the fixed grid, RAS mm, if requested.
    pub fn inverse_warp(&self) -> Option<&DisplacementField> {
        self.backward.displacement()
    }

    /// The outcome of the last linear stage.
    pub fn linear(&self) -> Option<&linear::Outcome> {
        self.courses.iter().rev().find_map(|course| match course {
            Course::Linear(outcome) => Some(outcome),
            Course::Deformable(_) => None,
        })
    }

    /// The levels of all deformable stages, in order.
    pub fn levels(&self) -> impl Iterator<Item = &syn::LevelOutcome> {
        self.courses.iter().flat_map(|course| match course {
            Course::Linear(_) => &[][..],
            Course::Deformable(levels) => levels,
        })
    }
}

/// The part of a result that a device has computed. [`finish`](Computed::finish) computes the rest on the CPU,
/// without the device.
#[derive(Debug)]
pub struct Computed {
    /// The affine of the result, fixed → moving, RAS mm.
    pub affine: AffineTransform,
    start: AffineTransform,
    start_warnings: Vec<ChainWarning>,
    warps: Option<Warps>,
    courses: Vec<Course>,
    images: Option<Images>,
    seconds: Seconds,
}

/// The warps in main memory.
#[derive(Debug)]
struct Warps {
    warp: DisplacementField,
    inverse_warp: Option<DisplacementField>,
    relaxed: syn::Relaxed,
    step_mm: Option<f32>,
    scores: Option<syn::Scores>,
}

impl Computed {
    /// Downloads the warps, and resamples the images on a GPU. The CPU resamples them later, in double precision.
    pub(crate) fn download<B: Backend>(
        backend: &B,
        found: OnDevice<B>,
        sides: [&Side; 2],
        options: &Options,
        on_gpu: bool,
    ) -> Result<Computed, Error> {
        let OnDevice { start, start_warnings, affine, courses, seconds: stages, warps } = found;
        let mut seconds = Seconds { stages, ..Seconds::default() };
        let began = Instant::now();
        let last = options.last_stage();
        let mut on_device = None;
        let mut fetched = None;
        if let Some(WarpsOnDevice { warps, relaxed, scores }) = warps {
            let failed = |source| Error::deformable(last, source);
            let warp = warps.download_warp(backend).map_err(failed)?;
            let inverse_warp = options.inverse_warp.then(|| warps.download_inverse_warp(backend));
            let inverse_warp = inverse_warp.transpose().map_err(failed)?;
            let step_mm = warps.step_mm;
            (on_device, fetched) = (Some(warps), Some(Warps { warp, inverse_warp, relaxed, step_mm, scores }));
        }
        seconds.download = began.elapsed().as_secs_f64();
        let mut images = None;
        if let Some(wanted) = options.images.filter(|_| on_gpu) {
            let began = Instant::now();
            let pair = pair(sides, last, start, affine);
            images = Images::on_device(backend, &pair, on_device.as_ref(), wanted)?;
            seconds.images = began.elapsed().as_secs_f64();
        }
        Ok(Computed { affine, start, start_warnings, warps: fetched, courses, images, seconds })
    }

    /// Computes the rest: images, correlation, coverage, warnings. The sides and the options must be those of the
    /// registration.
    ///
    /// # Errors
    /// A singular affine.
    pub fn finish(self, sides: [&Side; 2], options: &Options) -> Result<Registration, Error> {
        let Computed { affine, start, start_warnings, warps, courses, images, mut seconds } = self;
        let began = Instant::now();
        let singular = |_: ChainError| Error::SingularStart { determinant: affine.matrix.determinant() };
        let (mut forward, mut backward) = (TransformChain::new(), TransformChain::new());
        backward.push("affine", Transform::Affine(affine), true).map_err(singular)?;
        let (mut relaxed, mut step_mm, mut scores) = (None, None, None);
        if let Some(warps) = warps {
            (relaxed, step_mm, scores) = (Some(warps.relaxed), warps.step_mm, warps.scores);
            forward.push("warp", Transform::Displacement(warps.warp), false).map_err(singular)?;
            if let Some(inverse_warp) = warps.inverse_warp {
                backward.push("inverse warp", Transform::Displacement(inverse_warp), false).map_err(singular)?;
            }
        }
        forward.push("affine", Transform::Affine(affine), false).map_err(singular)?;
        let pair = pair(sides, options.last_stage(), start, affine);
        let images =
            images.or_else(|| options.images.map(|wanted| Images::on_cpu(&pair, [&forward, &backward], wanted)));
        let (warped, inverse_warped, similarity) = images
            .map_or((None, None, Similarity::default()), |made| (made.warped, made.inverse_warped, made.similarity));
        let coverage = Coverage::of(&pair.fixed.grid, pair.mask, &pair.moving.grid, [&start, &affine]);
        seconds.images += began.elapsed().as_secs_f64();
        let mut found = Registration {
            start,
            affine,
            forward,
            backward,
            courses,
            relaxed,
            step_mm,
            scores,
            warped,
            inverse_warped,
            similarity,
            coverage,
            warnings: Vec::new(),
            seconds,
        };
        found.warnings = warning::all(&found, start_warnings, options);
        Ok(found)
    }
}

/// The first images of both sides, and the mask of a stage.
fn pair<'a>(
    [fixed, moving]: [&'a Side; 2],
    stage: usize,
    start: AffineTransform,
    affine: AffineTransform,
) -> Pair<'a> {
    let mask = fixed.mask.of_stage(stage).map(AsRef::as_ref);
    Pair { fixed: &fixed.image, mask, moving: &moving.image, start, affine }
}
