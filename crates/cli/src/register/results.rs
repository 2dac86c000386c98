//! From what the stages found to files: warps, images, labels, scores and the record.

use std::path::{Path, PathBuf};
use std::time::Instant;

use antsreg_core::io::{self, itk, nifti};
use antsreg_core::overlap::Overlap;
use antsreg_core::{AffineTransform, Transform, TransformChain};
use antsreg_kernels::apply;

use super::args::Args;
use super::coverage::Coverage;
use super::device_memory::DeviceMemory;
use super::doubts::doubts;
use super::files::Files;
use super::found::{Diffeomorphism, Found};
use super::images::{Images, Pair, WantedImages};
use super::inputs::Inputs;
use super::memory;
use super::parameters::Parameters;
use super::plan::Plan;
use super::profile::Profile;
use super::record::{
    ImageRecord, InputsRecord, JacobianRecord, LinearRecord, OverlapRecord, Record, Seconds, Similarity, SynRecord,
};
use crate::error::CliError;
use crate::overlap;
use antsreg_core::io::outputs::{Outputs, Writing};

/// What was written.
#[derive(Debug)]
pub struct Written {
    /// The record, as it stands in its file.
    pub record: Record,
    /// Overlap of the labels, if there were any to score.
    pub overlap: Option<Overlap>,
    /// The files.
    pub paths: Vec<PathBuf>,
}

/// What was registered, and how.
#[derive(Clone, Copy)]
pub struct Registration<'a> {
    /// As typed.
    pub args: &'a Args,
    /// What was read.
    pub inputs: &'a Inputs,
    /// What was done.
    pub plan: &'a Plan,
    /// Where it is written.
    pub files: &'a Files,
    /// Threads that computed.
    pub threads: usize,
}

/// What was measured of it.
#[derive(Debug, Default)]
pub struct Measured {
    /// Wall time of each part before writing.
    pub seconds: Seconds,
    /// Memory of the GPU, if it was one.
    pub device_memory: Option<DeviceMemory>,
    /// Times of its kernels, if they were asked for.
    pub profile: Option<Profile>,
}

/// Writes everything; the files appear at the end, together. `total_seconds` tells, from the seconds of the parts, how long
/// all took so far.
pub fn write(
    of: Registration,
    found: Found,
    measured: Measured,
    total_seconds: impl FnOnce(&Seconds) -> f64,
) -> Result<Written, CliError> {
    let Registration { args, inputs, plan, files, .. } = of;
    let began = Instant::now();
    let mut outputs = Outputs::new();
    let Found { affine, linear, syn, images } = found;
    let Measured { mut seconds, device_memory, profile } = measured;
    let course = syn.as_ref().map(|syn| SynRecord::new(&syn.course));
    let jacobian = syn.as_ref().and_then(|syn| syn.scores.as_ref()).map(JacobianRecord::new);
    let ways = Ways::new(&affine, syn)?;
    let images = match images {
        Some(images) => images,
        None => {
            let (fixed, mask, moving) = (&inputs.fixed, inputs.masks()[0], &inputs.moving);
            let pair = Pair { fixed, mask, moving, initial: inputs.initial, affine };
            Images::here(&pair, [&ways.forward, &ways.backward], WantedImages::new(&args.writing))?
        }
    };
    write_volumes(inputs, files, &affine, &ways, &images, &mut outputs)?;
    let similarity = images.similarity;
    let grids = [&inputs.fixed.grid, &inputs.moving.grid];
    let coverage = Coverage::of(grids[0], inputs.masks()[0], grids[1], [&inputs.initial, &affine]);
    drop(images);
    let overlap = labels(of, &ways.forward, &mut outputs)?;
    seconds.outputs += began.elapsed().as_secs_f64();
    seconds.total = total_seconds(&seconds);
    let record = Record {
        warnings: doubts(plan, &similarity, &coverage, course.as_ref()),
        coverage,
        linear: linear.as_ref().map(LinearRecord::from),
        syn: course,
        jacobian,
        similarity,
        overlap: overlap.as_ref().map(OverlapRecord::from),
        seconds,
        device_memory,
        profile,
        ..blank(of, &affine)
    };
    outputs.write(&files.record, |path| {
        let json =
            serde_json::to_string_pretty(&record).map_err(|source| CliError::Json { path: path.into(), source })?;
        std::fs::write(path, json + "\n").map_err(|source| CliError::Write { path: path.into(), source })
    })?;
    let paths = outputs.commit()?;
    Ok(Written { record, overlap, paths })
}

/// The two ways between the images.
struct Ways {
    forward: TransformChain,
    /// Without the inverse warp where that was not asked for.
    backward: TransformChain,
}

impl Ways {
    fn new(affine: &AffineTransform, syn: Option<Diffeomorphism>) -> Result<Ways, CliError> {
        let (mut forward, mut backward) = (TransformChain::new(), TransformChain::new());
        backward.push("0GenericAffine", Transform::Affine(*affine), true)?;
        if let Some(Diffeomorphism { warp, inverse_warp, .. }) = syn {
            forward.push("1Warp", Transform::Displacement(warp), false)?;
            if let Some(inverse_warp) = inverse_warp {
                backward.push("1InverseWarp", Transform::Displacement(inverse_warp), false)?;
            }
        }
        forward.push("0GenericAffine", Transform::Affine(*affine), false)?;
        Ok(Ways { forward, backward })
    }
}

/// Writes transforms and images, all at once: each is encoded by many threads, but goes into its file by one.
fn write_volumes(
    inputs: &Inputs,
    files: &Files,
    affine: &AffineTransform,
    ways: &Ways,
    images: &Images,
    outputs: &mut Outputs,
) -> Result<(), CliError> {
    // What ITK calls two-dimensional, it gets as such; slices of another plane only mean something in space.
    let planar = [&inputs.fixed, &inputs.moving].iter().all(|image| image.grid.is_slice_across_z());
    outputs.write(&files.affine, |path| match planar {
        true => itk::write_affine_of_slices(path, affine, inputs.fixed_centre),
        false => itk::write_affine(path, affine, inputs.fixed_centre),
    })?;
    let mut all: Vec<(&Path, Writing<io::Error>)> = Vec::new();
    for (name, chain) in [(&files.warp, &ways.forward), (&files.inverse_warp, &ways.backward)] {
        if let (Some(name), Some(field)) = (name, chain.displacement()) {
            all.push((name, Box::new(|path| itk::write_warp(path, field))));
        }
    }
    let warped = [(&files.warped, &images.warped), (&files.inverse_warped, &images.inverse_warped)];
    for (name, image) in warped {
        if let (Some(name), Some(image)) = (name, image) {
            all.push((name, Box::new(|path| nifti::write_volume(path, image))));
        }
    }
    Ok(outputs.write_all(all)?)
}

/// Carries the moving labels, and scores them where there is something to score against.
fn labels(of: Registration, forward: &TransformChain, outputs: &mut Outputs) -> Result<Option<Overlap>, CliError> {
    let Registration { args, inputs, files, .. } = of;
    let (Some(labels), Some(name)) = (&inputs.moving_labels, &files.labels) else { return Ok(None) };
    let carried = apply::resample_labels(labels, &inputs.fixed.grid, forward, args.label_interpolation.into());
    outputs.write(name, |path| nifti::write_labels(path, &carried))?;
    let (Some(target), Some(name)) = (&inputs.fixed_labels, &files.overlap) else { return Ok(None) };
    let overlap = overlap::score(&carried, target, inputs.label_list.as_deref())?;
    outputs.write(name, |path| overlap::write_csv(path, &overlap))?;
    Ok(Some(overlap))
}

/// The record of what was asked for, without any result but the affine.
fn blank(of: Registration, affine: &AffineTransform) -> Record {
    let Registration { args, inputs, plan, files, threads } = of;
    let matrix = affine.to_homogeneous();
    Record {
        program: "antsreg-gpu",
        version: env!("CARGO_PKG_VERSION"),
        command_line: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        device: plan.device.clone(),
        threads,
        inputs: InputsRecord {
            fixed: ImageRecord::new(&args.fixed, &inputs.fixed.grid),
            moving: ImageRecord::new(&args.moving, &inputs.moving.grid),
            channels: (args.channels.iter().zip(inputs.fixed_channels.iter().zip(&inputs.moving_channels)))
                .map(|(files, (fixed, moving))| {
                    [ImageRecord::new(&files.fixed, &fixed.grid), ImageRecord::new(&files.moving, &moving.grid)]
                })
                .collect(),
            fixed_mask: args.fixed_mask.clone(),
            moving_mask: args.moving_mask.clone(),
            fixed_labels: args.fixed_labels.clone(),
            moving_labels: args.moving_labels.clone(),
        },
        parameters: Parameters::new(args, &inputs.start, plan),
        linear: None,
        syn: None,
        affine_ras: std::array::from_fn(|row| std::array::from_fn(|column| matrix[(row, column)])),
        jacobian: None,
        similarity: Similarity { correlation_at_start: None, correlation: None },
        coverage: Coverage { at_start: None, now: None },
        warnings: Vec::new(),
        overlap: None,
        seconds: Seconds::default(),
        peak_memory_bytes: memory::peak(),
        device_memory: None,
        profile: None,
        outputs: files.all().into_iter().map(Into::into).collect(),
    }
}
