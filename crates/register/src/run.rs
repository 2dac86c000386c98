//! Runs the stages of a registration in order, on one backend.

use std::time::Instant;

use antsreg_core::report::Observer;
use antsreg_core::{AffineTransform, ChainWarning};
use antsreg_kernels::Backend;
use antsreg_linear::{self as linear, Start};
use antsreg_syn as syn;

use crate::check::check_start;
use crate::shared::SharedSide;
use crate::{Error, Options, Progress, Side, Stage, StageOutcome};

/// The fixed images and masks of a registration, prepared for every stage on a device, for any number of registrations.
pub(crate) struct FixedStages<B: Backend>(Vec<FixedStage<B>>);

/// The fixed images and the mask of one registration stage, prepared on a device as the kind of stage needs them.
enum FixedStage<B: Backend> {
    Linear(Box<linear::Fixed<B>>),
    Deformable(Box<syn::Fixed<B>>),
}

/// The fixed images of one stage, as a registration uses them.
enum StageSide<'a, B: Backend> {
    Linear(&'a linear::Fixed<B>),
    Deformable(FixedUse<'a, B>),
}

/// Whether further registrations use the fixed images of a deformable stage.
enum FixedUse<'a, B: Backend> {
    Shared(&'a syn::Fixed<B>),
    Owned(&'a mut syn::Fixed<B>),
}

impl<B: Backend> FixedStage<B> {
    fn new(
        backend: &B,
        shared: &mut SharedSide<B>,
        stage: usize,
        options: &Stage,
        observer: &mut dyn Observer,
    ) -> Result<Self, Error> {
        match options {
            Stage::Linear(options) => {
                let weight = shared.weight(stage);
                let fixed = linear::Fixed::new(backend, shared.input(backend, stage)?, weight.as_deref(), options);
                let fixed = fixed.and_then(|fixed| match (&options.boundary, &shared.side.white_matter) {
                    (Some(_), Some(white_matter)) => fixed.with_white_matter(backend, white_matter),
                    _ => Ok(fixed),
                });
                Ok(FixedStage::Linear(Box::new(fixed.map_err(|source| Error::linear(stage, source))?)))
            }
            Stage::Deformable(options) => {
                let fixed = syn::Fixed::new(backend, shared.images(backend, stage)?, options, observer);
                Ok(FixedStage::Deformable(Box::new(fixed.map_err(|source| Error::deformable(stage, source))?)))
            }
        }
    }
}

impl<B: Backend> FixedStages<B> {
    /// Prepares the fixed images and masks for all stages. For deformable stages, this includes the smoothed images of
    /// all levels.
    pub(crate) fn prepare(backend: &B, side: &Side, options: &Options) -> Result<FixedStages<B>, Error> {
        let mut side = SharedSide::new(side, options)?;
        let prepare = |(stage, options)| match FixedStage::new(backend, &mut side, stage, options, &mut ())? {
            FixedStage::Deformable(fixed) => {
                let kept = fixed.keep_pyramid(backend, &mut ()).map_err(|source| Error::deformable(stage, source))?;
                Ok(FixedStage::Deformable(Box::new(kept)))
            }
            linear => Ok(linear),
        };
        Ok(FixedStages(options.stages.iter().enumerate().map(prepare).collect::<Result<_, Error>>()?))
    }
}

/// The result of all stages of a registration, with the warps still in the memory of the device.
pub struct OnDevice<B: Backend> {
    /// The initial affine of the first stage, fixed → moving, RAS mm.
    pub start: AffineTransform,
    /// Warnings about the initial affine.
    pub start_warnings: Vec<ChainWarning>,
    /// The affine of the result, fixed → moving, RAS mm.
    pub affine: AffineTransform,
    /// Outcome of each stage of the registration, in order.
    pub outcomes: Vec<StageOutcome>,
    /// Duration of each stage, seconds.
    pub seconds: Vec<f64>,
    /// The total warp of the deformable stages and its inverse; `None` without a deformable stage.
    pub warps: Option<WarpsOnDevice<B>>,
}

/// The total warp of a registration, its inverse and their statistics, with the displacements in the memory of a
/// device.
pub struct WarpsOnDevice<B: Backend> {
    /// The warp and its inverse, in the memory of the device.
    pub warps: syn::Warps<B>,
    /// Statistics of relaxation, the local correction of the warp and its inverse where they fold or are not inverse to
    /// each other.
    pub relaxed: syn::Relaxed,
    /// Jacobian determinants and inverse consistency of the warp and its inverse; `None` if they were not requested.
    pub scores: Option<syn::Scores>,
}

/// Runs all stages. `prepared` has the fixed images, prepared for all stages. Without `prepared`, the fixed images are
/// prepared for each stage and released after the stage, so that the data of two stages do not use memory at the same
/// time. Only copies of the first images on a GPU are kept, until a deformable stage takes them.
pub(crate) fn run<B: Backend>(
    backend: &B,
    sides: [&Side; 2],
    options: &Options,
    prepared: Option<&FixedStages<B>>,
    progress: &mut dyn Progress,
) -> Result<OnDevice<B>, Error> {
    let grids = sides.map(Side::grid);
    let (mut fixed, mut moving) = (SharedSide::new(sides[0], options)?, SharedSide::new(sides[1], options)?);
    let mut found = OnDevice {
        start: AffineTransform::identity(),
        start_warnings: Vec::new(),
        affine: AffineTransform::identity(),
        outcomes: Vec::new(),
        seconds: Vec::new(),
        warps: None,
    };
    // An initial affine that is known in advance (no first stage has to compute it) is checked here, before the first
    // stage and so before any long computation.
    let mut start = options.start;
    if !matches!(options.stages.first(), Some(Stage::Linear(_))) || start != Start::CentreOfMass {
        found.start = resolve(backend, [&fixed.side, &moving.side], start)?;
        found.start_warnings = check_start(grids, &found.start)?;
        (found.affine, start) = (found.start, Start::Transform(found.start));
    }
    let mut fields = None;
    for (stage, stage_options) in options.stages.iter().enumerate() {
        let began = Instant::now();
        if stage == 0 && options.shares_copies() {
            moving.share(backend)?;
            if prepared.is_none() {
                fixed.share(backend)?;
            }
        }
        let mut made;
        let side = match prepared {
            Some(FixedStages(stages)) => match &stages[stage] {
                FixedStage::Linear(side) => StageSide::Linear(side),
                FixedStage::Deformable(side) => StageSide::Deformable(FixedUse::Shared(side)),
            },
            None => {
                made = FixedStage::new(backend, &mut fixed, stage, stage_options, progress)?;
                match &mut made {
                    FixedStage::Linear(side) => StageSide::Linear(side),
                    FixedStage::Deformable(side) => StageSide::Deformable(FixedUse::Owned(side)),
                }
            }
        };
        let outcome = match side {
            StageSide::Linear(side) => {
                let weight = moving.weight(stage);
                let outcome =
                    side.register(backend, moving.input(backend, stage)?, weight.as_deref(), start, progress);
                let outcome = outcome.map_err(|source| Error::linear(stage, source))?;
                if stage == 0 && options.start == Start::CentreOfMass {
                    found.start = outcome.start;
                    found.start_warnings = check_start(grids, &found.start)?;
                }
                found.affine = outcome.transform;
                start = Start::Transform(outcome.transform);
                StageOutcome::Linear(outcome)
            }
            StageSide::Deformable(side) => {
                let failed = |source| Error::deformable(stage, source);
                let (from, images, affine) = (fields.take(), moving.images(backend, stage)?, &found.affine);
                let (side, (now, levels)) = match side {
                    FixedUse::Shared(side) => {
                        (side, side.find(backend, images, affine, from, progress).map_err(failed)?)
                    }
                    FixedUse::Owned(side) => {
                        let reached = side.find_last(backend, images, affine, from, progress).map_err(failed)?;
                        (&*side, reached)
                    }
                };
                if stage == options.last_stage() {
                    let (warps, relaxed) = side.warps(backend, now, progress).map_err(failed)?;
                    let scores = options.scores.then(|| side.scores(backend, &warps)).transpose().map_err(failed)?;
                    found.warps = Some(WarpsOnDevice { warps, relaxed, scores });
                } else {
                    fields = Some(now);
                }
                StageOutcome::Deformable(levels)
            }
        };
        let seconds = began.elapsed().as_secs_f64();
        progress.stage_ended(stage, &outcome, seconds);
        found.outcomes.push(outcome);
        found.seconds.push(seconds);
    }
    Ok(found)
}

/// Returns the initial affine. The alignment of the centres of mass is computed from the images.
fn resolve<B: Backend>(backend: &B, [fixed, moving]: [&Side; 2], start: Start) -> Result<AffineTransform, Error> {
    match start {
        Start::Headers => Ok(AffineTransform::identity()),
        Start::Transform(transform) => Ok(transform),
        Start::CentreOfMass => {
            // The alignment by centres of mass weights the voxels as the linear stages do, that is by the mask of the
            // first stage.
            let weights = [fixed.weight(0), moving.weight(0)];
            let [fixed, moving] = [fixed.image.input(backend)?, moving.image.input(backend)?];
            let found = || {
                let side = linear::Fixed::new(backend, fixed, weights[0].as_deref(), &Default::default())?;
                side.start(backend, moving, weights[1].as_deref(), start)
            };
            found().map_err(|source| Error::linear(0, source))
        }
    }
}
