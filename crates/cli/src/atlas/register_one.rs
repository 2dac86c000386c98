//! One subject to the template of the pass before.

use std::path::Path;
use std::sync::Arc;

use antsreg_cohort::template::{Brightness, likeness, nearest_affine, warp_before};
use antsreg_core::io::{itk, nifti};
use antsreg_core::{AffineTransform, DisplacementField, Grid, Transform, TransformChain, Volume};
use antsreg_linear as linear;
use antsreg_syn::{Channel, Metric};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::content::{Content, write_all};
use super::manifest::Manifest;
use super::session::{Session, Template};
use super::start::make_folder;
use crate::cohort::{Engine, Reading, Registered, Request};
use crate::device::Description;
use crate::error::CliError;
use crate::interpolation::ImageInterpolation;
use crate::register::{self, Diffeomorphism, Start, Wanted};

/// What a subject adds to the average.
pub struct Contribution {
    /// Template → subject, as the file has it.
    pub affine: AffineTransform,
    /// Displacement before it; none in the affine pass.
    pub warp: Option<DisplacementField>,
    /// Each channel on the template's grid.
    pub warped: Vec<Volume>,
    /// How bright each is.
    pub brightness: Vec<Brightness>,
}

/// Figures of a registration.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RegistrationResults {
    /// Of the affine stage, 1 − η.
    pub affine_cost: f64,
    /// Of the diffeomorphic stage, at the end of each level.
    pub energies: Vec<f64>,
    /// Pearson's, with the template's first channel in its foreground.
    pub correlation: Option<f64>,
    /// Mean of the first channel's positive voxels.
    pub mean_intensity: f64,
}

/// What a device made of a subject.
pub struct Computed {
    affine: AffineTransform,
    warp: Option<DisplacementField>,
    warped: Vec<Volume>,
    affine_cost: f64,
    energies: Vec<f64>,
    device: String,
}

/// A subject on the template's grid, not written yet but for its affine.
pub struct Brought {
    /// What it adds to the average.
    pub contribution: Arc<Contribution>,
    /// Figures.
    pub results: RegistrationResults,
    device: String,
}

/// Registers the subject's images and brings them to the template.
pub fn compute(
    engine: &mut Engine,
    session: &Session,
    pass: usize,
    subject: usize,
    template: &Template,
    images: &[Volume],
) -> Result<Computed, CliError> {
    let found = register(engine, session, pass, template, images)?;
    let affine_cost = found.linear.as_ref().map_or(f64::NAN, |linear| linear.cost);
    let (warp, levels) = match found.syn {
        Some(Diffeomorphism { warp, course, .. }) => (Some(warp), course.levels),
        None => (None, Vec::new()),
    };
    let energies = levels.iter().filter_map(|level| level.energies.last().copied()).collect();
    drop(levels);
    let (affine, warp, warped) = bring(engine, session, pass, subject, template, images, found.affine, warp)?;
    Ok(Computed { affine, warp, warped, affine_cost, energies, device: device_name(&engine.description) })
}

fn register(
    engine: &mut Engine,
    session: &Session,
    pass: usize,
    template: &Template,
    images: &[Volume],
) -> Result<Registered, CliError> {
    let args = &session.plan.args;
    let start = match args.settings.initial_transform {
        Some(Start::Headers) => linear::Start::Headers,
        _ => linear::Start::CentreOfMass,
    };
    let linear = register::linear_options(&args.settings, start, template.images[0].grid.is_slice())?;
    let mut syn = register::syn_options(&args.settings, template.images[0].grid.shape)?;
    let metric = syn.channels.first().map_or_else(Metric::default, |channel| channel.metric);
    let weight = |channel: usize| args.weights.get(channel).copied().unwrap_or(1.0);
    syn.channels = (0..images.len()).map(|channel| Channel { metric, weight: weight(channel) }).collect();
    let affine_only = session.is_affine(pass);
    let further: Vec<&Volume> = if affine_only { Vec::new() } else { images[1..].iter().collect() };
    let request = Request {
        fixed: &template.images[0],
        fixed_channels: if affine_only { &[] } else { &template.images[1..] },
        fixed_mask: None,
        moving: &images[0],
        moving_channels: &further,
        moving_mask: None,
        initial: AffineTransform::identity(),
        linear: Some(&linear),
        syn: (!affine_only).then_some(&syn),
        wanted: Wanted::WARP,
    };
    engine.register(&request, &mut ())
}

/// Writes the affine, and makes of the images what was found.
#[expect(clippy::too_many_arguments, reason = "who, to what, and what was found")]
fn bring(
    engine: &mut Engine,
    session: &Session,
    pass: usize,
    subject: usize,
    template: &Template,
    images: &[Volume],
    found: AffineTransform,
    warp: Option<DisplacementField>,
) -> Result<(AffineTransform, Option<DisplacementField>, Vec<Volume>), CliError> {
    let files = session.layout.registration(pass, &session.subject(subject).name);
    make_folder(&session.layout.pass(pass))?;
    let grid = &template.images[0].grid;
    let nearest = match &warp {
        Some(warp) => nearest_affine(&found, warp, &template.mask)?,
        None => found,
    };
    itk::write_affine(&files.affine, &nearest, template.centre)?;
    // What follows uses what stands in the file, so that it comes out the same when it is taken up from there.
    let affine = itk::read_affine(&files.affine)?;
    let mut chain = TransformChain::new();
    if let Some(warp) = warp {
        chain.push("1Warp", Transform::Displacement(warp_before(&affine, &found, warp)), false)?;
    }
    chain.push("0GenericAffine", Transform::Affine(affine), false)?;
    // The affine average is what others are measured by: read as it usually is.
    let how = if session.is_affine(pass) { ImageInterpolation::Linear } else { session.plan.args.interpolation };
    let warped = read_through(engine, images, grid, &chain, how)?;
    Ok((affine, chain.into_displacement(), warped))
}

/// Sees how well it fits.
pub fn judge(template: &Template, computed: Computed) -> Result<Brought, CliError> {
    let Computed { affine, warp, warped, affine_cost, energies, device } = computed;
    let brightness: Vec<Brightness> = warped.iter().map(Brightness::of).collect();
    let results = RegistrationResults {
        affine_cost,
        energies,
        correlation: likeness(&template.images[0], &warped[0], &template.mask)?,
        mean_intensity: brightness[0].mean,
    };
    let contribution = Contribution { affine, warp, warped, brightness };
    Ok(Brought { contribution: Arc::new(contribution), results, device })
}

/// Writes its files; what it gives records them.
pub fn write<'a>(
    session: &'a Session,
    pass: usize,
    subject: usize,
    brought: &Brought,
) -> Result<impl FnOnce() -> Result<Manifest, CliError> + Send + use<'a>, CliError> {
    let Brought { contribution, results, device } = brought;
    let files = session.layout.registration(pass, &session.subject(subject).name);
    let mut outputs: Vec<(&Path, Content)> = vec![(&files.affine, Content::Written)];
    outputs.extend(contribution.warp.as_ref().map(|warp| (files.warp.as_path(), Content::Warp(warp))));
    for (image, path) in contribution.warped.iter().zip(&files.warped) {
        outputs.push((path, Content::Image(image)));
    }
    let written = write_all(&session.layout, &outputs)?;
    let (results, device) = (results.clone(), device.clone());
    Ok(move || session.register_stage(pass, subject)?.finish(Some(device), written, results))
}

/// Images of one space on a grid through a chain. Smooth interpolation overshoots at edges: what comes out stays within the
/// image's range.
pub fn read_through(
    engine: &mut Engine,
    images: &[Volume],
    onto: &Grid,
    chain: &TransformChain,
    how: ImageInterpolation,
) -> Result<Vec<Volume>, CliError> {
    let mut read = engine.read(&Reading { images, onto, chain, how })?;
    for (image, read) in images.iter().zip(&mut read) {
        let [low, high] = range_with_zero(&image.voxels);
        read.voxels.par_iter_mut().for_each(|value| *value = value.clamp(low, high));
    }
    Ok(read)
}

/// The smallest and the largest value, zero among them: that is what lies beyond an image.
fn range_with_zero(voxels: &[f32]) -> [f32; 2] {
    const LANES: usize = 16;
    let of_piece = |piece: &[f32]| {
        let [mut low, mut high] = [[0.0_f32; LANES]; 2];
        // Lanes of their own: a single extreme would have each value wait for the one before.
        for values in piece.chunks(LANES) {
            for ((low, high), value) in low.iter_mut().zip(&mut high).zip(values) {
                (*low, *high) = (low.min(*value), high.max(*value));
            }
        }
        [low.into_iter().fold(0.0, f32::min), high.into_iter().fold(0.0, f32::max)]
    };
    let extremes = |[low, high]: [f32; 2], [least, most]: [f32; 2]| [low.min(least), high.max(most)];
    voxels.par_chunks(1 << 16).map(of_piece).reduce(|| [0.0; 2], extremes)
}

impl Contribution {
    /// From the files of a registration that is done.
    pub fn read(session: &Session, pass: usize, subject: usize, grid: &Grid) -> Result<Contribution, CliError> {
        let files = session.layout.registration(pass, &session.subject(subject).name);
        // The template's own numbers, so that it makes no difference whether a file lies in between.
        let on_grid = |mut volume: Volume| {
            volume.grid = grid.clone();
            volume
        };
        let warped = files.warped.iter().map(|path| Ok(on_grid(nifti::read_volume(path)?)));
        let warped = warped.collect::<Result<Vec<_>, CliError>>()?;
        Ok(Contribution {
            brightness: warped.iter().map(Brightness::of).collect(),
            warped,
            ..Contribution::read_transforms(session, pass, subject, grid)?
        })
    }

    /// The same without the images.
    pub fn read_transforms(
        session: &Session,
        pass: usize,
        subject: usize,
        grid: &Grid,
    ) -> Result<Contribution, CliError> {
        let files = session.layout.registration(pass, &session.subject(subject).name);
        Ok(Contribution {
            affine: itk::read_affine(&files.affine)?,
            warp: match session.is_affine(pass) {
                true => None,
                false => Some(DisplacementField { grid: grid.clone(), ..itk::read_warp(&files.warp)? }),
            },
            warped: Vec::new(),
            brightness: Vec::new(),
        })
    }
}

/// A device's name without its number: its like computes the same.
fn device_name(description: &Description) -> String {
    match description {
        Description::Cpu => "cpu".into(),
        Description::Cuda { name, .. } => name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_lies_between_the_extremes_and_zero() {
        let values = |from: i32, to: i32| (from..to).map(|n| n as f32).collect::<Vec<_>>();
        assert_eq!(range_with_zero(&values(-70_003, 70_001)), [-70_003.0, 70_000.0]);
        assert_eq!(range_with_zero(&values(5, 22)), [0.0, 21.0]);
        assert_eq!(range_with_zero(&values(-9, -2)), [-9.0, 0.0]);
        assert_eq!(range_with_zero(&[]), [0.0, 0.0]);
    }
}
