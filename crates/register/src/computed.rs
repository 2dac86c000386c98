//! The part of a result that a device has computed, and the rest, which the CPU computes.

use std::time::Instant;

use antsreg_core::{AffineTransform, ChainError, ChainWarning, DisplacementField, Transform, TransformChain};
use antsreg_kernels::Backend;
use antsreg_syn as syn;
use antsreg_verdict::{self as verdict, Measures, Verdict};

use crate::images::{AlignedImages, Images};
use crate::run::{OnDevice, WarpsOnDevice};
use crate::{Coverage, Error, Options, Registration, Seconds, Side, Similarity, StageOutcome, assess};

/// The part of a registration's result that a device has computed. [`finish`](Computed::finish) computes the rest on
/// the CPU, without the device.
#[derive(Debug, Clone)]
pub struct Computed {
    /// The affine of the result, fixed → moving, RAS mm.
    pub affine: AffineTransform,
    pub(crate) start: AffineTransform,
    pub(crate) start_warnings: Vec<ChainWarning>,
    pub(crate) outcomes: Vec<StageOutcome>,
    /// Statistics of the warps; `None` without a deformable stage.
    pub(crate) statistics: Option<WarpStatistics>,
    /// The warps in main memory; `None` if the warps are only on a device, or if there is no deformable stage.
    pub(crate) warps: Option<Warps>,
    /// The warped images and the correlations of the fixed and the moving image, in main memory; `None` if the CPU
    /// computes them later.
    pub(crate) images: Option<Images>,
    pub(crate) seconds: Seconds,
}

/// Statistics of warps, which may be in main memory or on a device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WarpStatistics {
    relaxed: syn::Relaxed,
    step_mm: Option<f32>,
    scores: Option<syn::Scores>,
}

/// The warps in main memory.
#[derive(Debug, Clone)]
pub(crate) struct Warps {
    pub warp: DisplacementField,
    pub inverse_warp: Option<DisplacementField>,
}

impl Warps {
    /// Downloads the warps to main memory. `stage` is the index of the stage that the message of an error names.
    pub(crate) fn download<B: Backend>(
        backend: &B,
        warps: &syn::Warps<B>,
        stage: usize,
        inverse: bool,
    ) -> Result<Warps, Error> {
        let failed = |source| Error::deformable(stage, source);
        let warp = warps.download_warp(backend).map_err(failed)?;
        let inverse_warp = inverse.then(|| warps.download_inverse_warp(backend)).transpose().map_err(failed)?;
        Ok(Warps { warp, inverse_warp })
    }
}

impl Computed {
    /// Splits the result of the stages into the warps, which stay on the device, and all other results. The warped
    /// images are not computed yet.
    pub(crate) fn of<B: Backend>(found: OnDevice<B>) -> (Computed, Option<syn::Warps<B>>) {
        let OnDevice { start, start_warnings, affine, outcomes, seconds: stages, warps } = found;
        let seconds = Seconds { stages, ..Seconds::default() };
        let statistics = |WarpsOnDevice { warps, relaxed, scores }| {
            (WarpStatistics { relaxed, step_mm: warps.step_mm, scores }, warps)
        };
        let (statistics, warps) = warps.map(statistics).unzip();
        let computed =
            Computed { affine, start, start_warnings, outcomes, statistics, warps: None, images: None, seconds };
        (computed, warps)
    }

    /// Downloads the warps. On a GPU, also resamples the images. Without a GPU, the CPU resamples them later, in double
    /// precision.
    pub(crate) fn download<B: Backend>(
        backend: &B,
        found: OnDevice<B>,
        sides: [&Side; 2],
        options: &Options,
        on_gpu: bool,
    ) -> Result<Computed, Error> {
        let (mut computed, warps) = Computed::of(found);
        let began = Instant::now();
        let last = options.last_stage();
        let fetched = warps.as_ref().map(|warps| Warps::download(backend, warps, last, options.inverse_warp));
        computed.warps = fetched.transpose()?;
        computed.seconds.download = began.elapsed().as_secs_f64();
        if let Some(wanted) = options.images.filter(|_| on_gpu) {
            let began = Instant::now();
            let images = Images::on_device(backend, &computed.pair(sides, last), warps.as_ref(), wanted)?;
            let images = images.map(|images| images.download(backend, sides.map(Side::grid)));
            computed.images = images.transpose()?;
            computed.seconds.images = began.elapsed().as_secs_f64();
        }
        Ok(computed)
    }

    /// The data for the correlation of the images after registration: the first fixed and the first moving image, the
    /// fixed mask of the stage, and the affines.
    pub(crate) fn pair<'a>(&self, [fixed, moving]: [&'a Side; 2], stage: usize) -> AlignedImages<'a> {
        AlignedImages {
            fixed: &fixed.image,
            mask: fixed.weight(stage),
            moving: &moving.image,
            lesion: moving.lesion.as_deref(),
            start: self.start,
            affine: self.affine,
        }
    }

    /// Computes the rest of the result: images, correlation, coverage, warnings. `sides` (the fixed and the moving
    /// images with their masks) and `options` must be those of the registration.
    ///
    /// # Errors
    /// The affine is singular; an image is on a device, and the device fails.
    pub fn finish(self, sides: [&Side; 2], options: &Options) -> Result<Registration, Error> {
        let began = Instant::now();
        let pair = self.pair(sides, options.last_stage());
        let Computed { affine, start, start_warnings, outcomes, statistics, warps, images, mut seconds } = self;
        let singular = |_: ChainError| Error::SingularStart { determinant: affine.matrix.determinant() };
        let (mut forward, mut backward) = (TransformChain::new(), TransformChain::new());
        backward.push("affine", Transform::Affine(affine), true).map_err(singular)?;
        if let Some(Warps { warp, inverse_warp }) = warps {
            forward.push("warp", Transform::Displacement(warp), false).map_err(singular)?;
            if let Some(inverse_warp) = inverse_warp {
                backward.push("inverse warp", Transform::Displacement(inverse_warp), false).map_err(singular)?;
            }
        }
        forward.push("affine", Transform::Affine(affine), false).map_err(singular)?;
        let images = match (images, options.images) {
            (None, Some(wanted)) => Some(Images::on_cpu(&pair, [&forward, &backward], wanted)?),
            (images, _) => images,
        };
        let scores = statistics.and_then(|statistics| statistics.scores);
        let of_affine =
            verdict::Affine { start: &start, found: &affine, jacobian: scores.as_ref().map(|scores| &scores.warp) };
        let coarse = images.as_ref().and_then(|images| images.coarse.as_ref());
        let verdict = coarse.map(|pair| Verdict::of(Measures::of(pair, of_affine)));
        let (warped, inverse_warped, similarity) = images
            .map_or((None, None, Similarity::default()), |made| (made.warped, made.inverse_warped, made.similarity));
        let coverage = Coverage::of(pair.fixed.grid(), pair.mask.as_deref(), pair.moving.grid(), [&start, &affine]);
        seconds.images += began.elapsed().as_secs_f64();
        let mut found = Registration {
            start,
            affine,
            forward,
            backward,
            outcomes,
            relaxed: statistics.map(|statistics| statistics.relaxed),
            step_mm: statistics.and_then(|statistics| statistics.step_mm),
            scores,
            warped,
            inverse_warped,
            similarity,
            coverage,
            verdict,
            warnings: Vec::new(),
            seconds,
        };
        found.warnings = assess::warnings(&found, start_warnings, options);
        Ok(found)
    }
}
