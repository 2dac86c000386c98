//! Brings the images and labels of many atlases onto one target.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use antsreg_core::{AffineTransform, DisplacementField, LabelVolume, Transform, TransformChain, Volume};
use antsreg_kernels::apply;
use antsreg_linear as linear;
use antsreg_pool::StageThreads;

use super::atlas::Loaded;
use crate::cohort::{Engine, Engines, Largest};
use crate::device::Description;
use crate::devices;
use crate::error::CliError;
use crate::interpolation::LabelInterpolation;
use crate::progress::Console;
use crate::register::{self, Diffeomorphism, FixedInputs, Found, Plan, Request, Seconds, Settings, Wanted};

/// The image that gets labels.
#[derive(Debug)]
pub struct Target {
    /// What it is called.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// The image.
    pub image: Arc<Volume>,
    /// Which of its voxels count.
    pub mask: Option<Arc<Volume>>,
}

/// An atlas on the target's grid.
#[derive(Debug)]
pub struct Propagated {
    /// What it is called.
    pub name: String,
    /// Its image.
    pub image: Volume,
    /// Its labels.
    pub labels: LabelVolume,
    /// Correlation of its image with the target's.
    pub correlation: Option<f64>,
    /// Target → atlas, RAS mm.
    pub affine: AffineTransform,
    /// Displacement before the affine and its inverse, if they are to be kept.
    pub warps: Option<[DisplacementField; 2]>,
}

/// What registers, and how.
pub struct Propagation<'a> {
    settings: &'a Settings,
    interpolation: LabelInterpolation,
    keep_warps: bool,
    engines: Engines,
}

/// What one registration needs beside the images.
struct Job<'a> {
    number: usize,
    atlas: &'a Loaded,
    initial: AffineTransform,
    start: linear::Start,
}

impl<'a> Propagation<'a> {
    /// Opens the devices for these atlases, which come to these targets.
    pub fn new(
        settings: &'a Settings,
        interpolation: LabelInterpolation,
        keep_warps: bool,
        atlases: &[Loaded],
        targets: &[&Volume],
        console: &mut Console,
    ) -> Result<Propagation<'a>, CliError> {
        let masked = atlases.iter().any(|atlas| atlas.mask.is_some());
        let chosen = register::devices(settings, &[], masked, console);
        let needed_bytes = || {
            let largest = atlases.iter().map(|atlas| &atlas.image.grid).max_by_key(|grid| grid.len());
            let masked = [masked; 2];
            let needed = |target: &&Volume| {
                let plan = Plan::new(settings, target.grid.shape, Description::Cpu)?;
                let (fixed, moving) = (vec![&target.grid], largest.cloned());
                Ok(Largest { fixed, moving, masked, plan: &plan, images: None }.bytes_on_device())
            };
            let all = targets.iter().map(needed).collect::<Result<Vec<u64>, CliError>>()?;
            Ok(all.into_iter().max().unwrap_or(0))
        };
        let engines = Engines::of(devices::open(&chosen, None), needed_bytes)?.all()?;
        engines.notes().tell(console);
        Ok(Propagation { settings, interpolation, keep_warps, engines })
    }

    /// Where it computes, each device once.
    pub fn devices(&self) -> Vec<Description> {
        let mut devices = self.engines.devices();
        devices.dedup();
        devices
    }

    /// The parameters on a target, and where a registration to it starts.
    fn plan(&self, target: &Target) -> Result<(FixedInputs, Plan), CliError> {
        let fixed = FixedInputs::new(target.image.clone(), target.mask.clone(), self.settings)?;
        let plan = Plan::new(self.settings, fixed.image.grid.shape, Description::Cpu)?;
        Ok((fixed, plan))
    }

    /// The parameters of both stages on a target.
    pub fn parameters(&self, target: &Target) -> Result<Plan, CliError> {
        Ok(self.plan(target)?.1)
    }

    /// Registers every atlas to the target and brings it there. What goes wrong with one is told of that one alone.
    pub fn run(
        &mut self,
        target: &Target,
        atlases: &[&Loaded],
        console: &mut Console,
    ) -> Result<Vec<Result<Propagated, CliError>>, CliError> {
        let (fixed, plan) = self.plan(target)?;
        let masked = target.mask.is_some() || atlases.iter().any(|atlas| atlas.mask.is_some());
        for device in self.devices() {
            Plan { device, ..plan.clone() }.check_radius(masked)?;
        }
        let mut results: Vec<Option<Result<Propagated, CliError>>> = atlases.iter().map(|_| None).collect();
        let mut jobs = Vec::new();
        for (number, atlas) in atlases.iter().enumerate() {
            match fixed.initial(&atlas.image, [&target.path, &atlas.path]) {
                Ok((initial, warnings)) => {
                    warnings.iter().for_each(|warning| console.warn(format_args!("atlas {}: {warning}", atlas.name)));
                    jobs.push(Job { number, atlas, initial, start: fixed.linear_start() });
                }
                Err(error) => results[number] = Some(Err(atlas.blame(error))),
            }
        }
        let (interpolation, keep_warps) = (self.interpolation, self.keep_warps);
        let register = |engine: &mut Engine, job| register(engine, job, target, &plan, keep_warps);
        let bring = |(job, found, took): (Job<'_>, Result<Found, CliError>, Duration)| {
            let brought = found.and_then(|found| bring(target, job.atlas, found, interpolation));
            (job.number, brought.map_err(|error| job.atlas.blame(error)), took)
        };
        let stage_threads = StageThreads { readers: 1, writers: 2 };
        let mut done = 0;
        self.engines.run(
            jobs,
            stage_threads,
            |job| job,
            register,
            bring,
            |(number, brought, took)| {
                done += 1;
                if let Ok(Propagated { name, correlation, .. }) = &brought {
                    let correlation = correlation.map_or(String::new(), |r| format!(", correlation {r:.4}"));
                    console.note(format_args!(
                        "{}: {name} registered ({done} of {}), {:.2} s{correlation}",
                        target.name,
                        atlases.len(),
                        took.as_secs_f64()
                    ));
                }
                results[number] = Some(brought);
            },
        )?;
        Ok(results.into_iter().flatten().collect())
    }
}

/// Registers one atlas; tells how long it took.
fn register<'a>(
    engine: &mut Engine,
    job: Job<'a>,
    target: &Target,
    plan: &Plan,
    keep_warps: bool,
) -> (Job<'a>, Result<Found, CliError>, Duration) {
    let began = Instant::now();
    let request = Request {
        fixed: &target.image,
        fixed_channels: &[],
        fixed_mask: target.mask.as_ref(),
        moving: &job.atlas.image,
        moving_channels: &[],
        moving_mask: job.atlas.mask.as_deref(),
        initial: job.initial,
        start: job.start,
        linear: plan.linear.as_ref(),
        syn: plan.syn.as_ref(),
        wanted: Wanted { inverse_warp: keep_warps, ..Wanted::WARP },
    };
    let found = engine.register(&request, &mut Seconds::default(), &mut ());
    (job, found, began.elapsed())
}

/// Image and labels of an atlas on the target's grid.
fn bring(
    target: &Target,
    atlas: &Loaded,
    found: Found,
    interpolation: LabelInterpolation,
) -> Result<Propagated, CliError> {
    let mut chain = TransformChain::new();
    let mut inverse = None;
    if let Some(Diffeomorphism { warp, inverse_warp, .. }) = found.syn {
        chain.push("1Warp", Transform::Displacement(warp), false)?;
        inverse = inverse_warp;
    }
    chain.push("0GenericAffine", Transform::Affine(found.affine), false)?;
    let grid = &target.image.grid;
    let image = apply::resample(&atlas.image, grid, &chain, apply::Interpolation::Linear, 0.0);
    let labels = apply::resample_labels(&atlas.labels, grid, &chain, interpolation.into());
    let correlation = crate::compare::correlation(&target.image, &image, target.mask.as_deref())?;
    let warp = chain.steps.into_iter().find_map(|step| match step.transform {
        Transform::Displacement(warp) => Some(warp),
        Transform::Affine(_) => None,
    });
    let warps = inverse.zip(warp).map(|(inverse, warp)| [warp, inverse]);
    Ok(Propagated { name: atlas.name.clone(), image, labels, correlation, affine: found.affine, warps })
}
