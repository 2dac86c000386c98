//! The stages in order, on one backend.

use std::time::Instant;

use antsreg_core::report::Observer;
use antsreg_core::{AffineTransform, ChainWarning, Grid, Transform, TransformChain, Volume};
use antsreg_kernels::Backend;
use antsreg_linear::{self as linear, Start};
use antsreg_syn as syn;
use nalgebra::Point3;

use crate::{Course, Error, Options, Side, Stage};

/// Follows a registration: every iteration, and every stage that has ended.
pub trait Progress: Observer {
    /// A stage has ended, `stage` counted from 0, after so many seconds.
    fn stage_ended(&mut self, _stage: usize, _course: &Course, _seconds: f64) {}
}

/// Follows nothing.
impl Progress for () {}

/// The fixed side of every stage on a device, for any number of registrations.
pub(crate) struct FixedStages<B: Backend>(Vec<FixedStage<B>>);

/// The fixed side of one stage.
enum FixedStage<B: Backend> {
    Linear(Box<linear::Fixed<B>>),
    Deformable(Box<syn::Fixed<B>>),
}

impl<B: Backend> FixedStage<B> {
    fn new(
        backend: &B,
        side: &Side,
        stage: usize,
        options: &Stage,
        observer: &mut dyn Observer,
    ) -> Result<Self, Error> {
        match options {
            Stage::Linear(options) => {
                let weight = side.mask.of_stage(stage).map(AsRef::as_ref);
                let fixed = linear::Fixed::new(backend, &side.image, weight, options);
                Ok(FixedStage::Linear(Box::new(fixed.map_err(|source| Error::linear(stage, source))?)))
            }
            Stage::Deformable(options) => {
                let fixed = syn::Fixed::new(backend, side.images(stage), options, observer);
                Ok(FixedStage::Deformable(Box::new(fixed.map_err(|source| Error::deformable(stage, source))?)))
            }
        }
    }
}

impl<B: Backend> FixedStages<B> {
    /// Prepares all stages, the smoothed images of deformable levels included.
    pub(crate) fn prepare(backend: &B, side: &Side, options: &Options) -> Result<FixedStages<B>, Error> {
        let prepare = |(stage, options)| match FixedStage::new(backend, side, stage, options, &mut ())? {
            FixedStage::Deformable(fixed) => {
                let kept = fixed.keep_pyramid(backend, &mut ()).map_err(|source| Error::deformable(stage, source))?;
                Ok(FixedStage::Deformable(Box::new(kept)))
            }
            linear => Ok(linear),
        };
        Ok(FixedStages(options.stages.iter().enumerate().map(prepare).collect::<Result<_, Error>>()?))
    }
}

/// The result of all stages, the warps still on the device.
pub struct OnDevice<B: Backend> {
    /// The start of the first stage, fixed → moving, RAS mm.
    pub start: AffineTransform,
    /// Doubtful properties of the start.
    pub start_warnings: Vec<ChainWarning>,
    /// The affine of the result, fixed → moving, RAS mm.
    pub affine: AffineTransform,
    /// What each stage did.
    pub courses: Vec<Course>,
    /// Seconds of each stage.
    pub seconds: Vec<f64>,
    /// The warps of the deformable stages.
    pub warps: Option<WarpsOnDevice<B>>,
}

/// Warps on a device.
pub struct WarpsOnDevice<B: Backend> {
    /// The warp and its inverse.
    pub warps: syn::Warps<B>,
    /// How the two were made inverse to each other.
    pub relaxed: syn::Relaxed,
    /// Their Jacobian determinants and inverse consistency, if wanted.
    pub scores: Option<syn::Scores>,
}

/// Runs all stages. A fixed side that is not prepared is made for each stage and released with it, so that never two of
/// them take memory at once.
pub(crate) fn run<B: Backend>(
    backend: &B,
    [fixed, moving]: [&Side; 2],
    options: &Options,
    prepared: Option<&FixedStages<B>>,
    progress: &mut dyn Progress,
) -> Result<OnDevice<B>, Error> {
    let grids = [fixed.grid(), moving.grid()];
    let mut found = OnDevice {
        start: AffineTransform::identity(),
        start_warnings: Vec::new(),
        affine: AffineTransform::identity(),
        courses: Vec::new(),
        seconds: Vec::new(),
        warps: None,
    };
    // A start that needs no search is judged before the work begins.
    let mut start = options.start;
    if !matches!(options.stages.first(), Some(Stage::Linear(_))) || start != Start::CentreOfMass {
        found.start = resolve(backend, [fixed, moving], start)?;
        found.start_warnings = check_start(grids, &found.start)?;
        (found.affine, start) = (found.start, Start::Transform(found.start));
    }
    let mut fields = None;
    for (stage, stage_options) in options.stages.iter().enumerate() {
        let began = Instant::now();
        let made;
        let side = match prepared {
            Some(FixedStages(stages)) => &stages[stage],
            None => {
                made = FixedStage::new(backend, fixed, stage, stage_options, progress)?;
                &made
            }
        };
        let course = match side {
            FixedStage::Linear(side) => {
                let weight = moving.mask.of_stage(stage).map(AsRef::as_ref);
                let outcome = side.register(backend, &moving.image, weight, start, progress);
                let outcome = outcome.map_err(|source| Error::linear(stage, source))?;
                if stage == 0 && options.start == Start::CentreOfMass {
                    found.start = outcome.start;
                    found.start_warnings = check_start(grids, &found.start)?;
                }
                found.affine = outcome.transform;
                start = Start::Transform(outcome.transform);
                Course::Linear(outcome)
            }
            FixedStage::Deformable(side) => {
                let failed = |source| Error::deformable(stage, source);
                let from = fields.take();
                let (now, levels) =
                    side.find(backend, moving.images(stage), &found.affine, from, progress).map_err(failed)?;
                if stage == options.last_stage() {
                    let (warps, relaxed) = side.warps(backend, now, progress).map_err(failed)?;
                    let scores = options.scores.then(|| side.scores(backend, &warps)).transpose().map_err(failed)?;
                    found.warps = Some(WarpsOnDevice { warps, relaxed, scores });
                } else {
                    fields = Some(now);
                }
                Course::Deformable(levels)
            }
        };
        let seconds = began.elapsed().as_secs_f64();
        progress.stage_ended(stage, &course, seconds);
        found.courses.push(course);
        found.seconds.push(seconds);
    }
    Ok(found)
}

/// The affine that a start stands for.
fn resolve<B: Backend>(backend: &B, [fixed, moving]: [&Side; 2], start: Start) -> Result<AffineTransform, Error> {
    match start {
        Start::Headers => Ok(AffineTransform::identity()),
        Start::Transform(transform) => Ok(transform),
        Start::CentreOfMass => {
            // As linear stages find it.
            let weight = |side: &Side| side.mask.of_stage(0).cloned();
            let found = || {
                let weights: [Option<std::sync::Arc<Volume>>; 2] = [weight(fixed), weight(moving)];
                let side = linear::Fixed::new(backend, &fixed.image, weights[0].as_deref(), &Default::default())?;
                side.start(backend, &moving.image, weights[1].as_deref(), start)
            };
            found().map_err(|source| Error::linear(0, source))
        }
    }
}

/// Refuses a start that is singular or brings nothing of the moving image to the fixed one; warns where it brings little.
pub(crate) fn check_start([fixed, moving]: [&Grid; 2], start: &AffineTransform) -> Result<Vec<ChainWarning>, Error> {
    let singular = || Error::SingularStart { determinant: start.matrix.determinant() };
    let inverse = start.inverse().ok_or_else(singular)?;
    if !inverse.apply(&Point3::origin()).iter().all(|value| value.is_finite()) {
        return Err(singular());
    }
    let chain = TransformChain::from(vec![Transform::Affine(*start)]);
    chain.check(fixed, Some(moving)).map_err(|_| Error::NoOverlapAtStart)
}
