//! One subject to the template of the pass before.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use antsreg_cohort::template::{Brightness, likeness, nearest_affine, warp_before};
use antsreg_core::io::{itk, nifti};
use antsreg_core::{AffineTransform, DisplacementField, Grid, Volume};
use antsreg_kernels::Backend;
use antsreg_study::template::Manifest;
use serde::{Deserialize, Serialize};

use super::content::{Content, write_all};
use super::onto::{Onto, Seen};
use super::parameters;
use super::session::Session;
use super::start::make_folder;
use super::template::Template;
use crate::cohort::{Engine, Sequel};
use crate::device::Description;
use crate::error::CliError;
use crate::interpolation::ImageInterpolation;
use crate::on_device::in_mm;
use crate::register::compute::{OnDevice, WarpsOnDevice};
use crate::register::{Request, Wanted};

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
    warped: Vec<Seen>,
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
    let plan = parameters::of(session)?;
    let affine_only = session.is_affine(pass);
    let request = Request {
        fixed: &template.images[0],
        fixed_channels: if affine_only { &[] } else { &template.images[1..] },
        fixed_mask: None,
        moving: &images[0],
        moving_channels: if affine_only { &[] } else { &images[1..] },
        moving_mask: None,
        initial: AffineTransform::identity(),
        start: parameters::start(session),
        linear: plan.linear.as_ref(),
        syn: plan.syn.as_ref().filter(|_| !affine_only),
        wanted: Wanted::WARP,
    };
    make_folder(&session.layout.registrations(pass))?;
    let place = session.layout.registration(pass, &session.subject(subject).name).affine;
    // The affine average is what others are measured by: read as it usually is.
    let how = if affine_only { ImageInterpolation::Linear } else { session.plan.args.interpolation };
    let device = device_name(&engine.description);
    engine.register_and(&request, Bringing { template, images, place, how, device })
}

/// Writes the affine, and makes of the images what was found.
struct Bringing<'a> {
    template: &'a Template,
    images: &'a [Volume],
    /// Where the affine is written.
    place: PathBuf,
    how: ImageInterpolation,
    device: String,
}

impl Bringing<'_> {
    fn onto(&self) -> Onto<'_> {
        Onto { images: self.images, grid: &self.template.images[0].grid, how: self.how }
    }
}

impl Sequel for Bringing<'_> {
    type Output = Computed;

    fn bytes(&self) -> u64 {
        /// The warp turned, what that is added to, one in the host's order.
        const FIELDS: usize = 3;
        let onto = self.onto();
        4 * (3 * FIELDS * onto.grid.len() + onto.scalars()) as u64
    }

    fn run<B: Backend>(self, backend: &B, found: OnDevice<B>) -> Result<Computed, CliError> {
        let OnDevice { affine: first, linear, syn } = found;
        let affine_cost = linear.map_or(f64::NAN, |linear| linear.cost);
        let (warp, levels) =
            syn.map_or((None, Vec::new()), |WarpsOnDevice { warps, course, .. }| (Some(warps.warp), course.levels));
        let energies = levels.iter().filter_map(|level| level.energies.last().copied()).collect();
        let (onto, sparse) = (self.onto(), &self.template.sparse);
        let nearest = match &warp {
            Some(warp) => nearest_affine(backend, &first, onto.grid, warp, sparse).map_err(CliError::Device)?,
            None => first,
        };
        itk::write_affine(&self.place, &nearest, self.template.centre)?;
        // What follows uses what stands in the file, so that it comes out the same when it is taken up from there.
        let affine = itk::read_affine(&self.place)?;
        let before = |warp| Ok(warp_before(backend, &affine, &first, onto.grid, &warp)?.unwrap_or(warp));
        let field = warp.map(before).transpose().map_err(CliError::Device)?;
        let warped = onto.read(backend, field.as_ref(), &affine).map_err(CliError::Device)?;
        let warp = field.map(|field| in_mm(backend, onto.grid, &field)).transpose()?;
        Ok(Computed { affine, warp, warped, affine_cost, energies, device: self.device })
    }
}

/// Sees how well it fits.
pub fn judge(template: &Template, computed: Computed) -> Result<Brought, CliError> {
    let Computed { affine, warp, warped, affine_cost, energies, device } = computed;
    let (warped, brightness) = Seen::brightness(warped);
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
    Ok(move || Ok(session.register_stage(pass, subject)?.finish(Some(device), written, results)?))
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
