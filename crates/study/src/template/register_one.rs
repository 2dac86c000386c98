//! Registers one subject to the template of the previous pass, and resamples the subject on the template's grid.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use antsreg_cohort::template::{correlation, nearest_affine, warp_before};
use antsreg_core::io::{itk, outputs};
use antsreg_core::{AffineTransform, DisplacementField, Volume};
use antsreg_kernels::Backend;
use antsreg_pool::{DeviceBytes, Target, Worker};
use antsreg_register::resample::download_field;
use antsreg_register::{
    Continuation, Description, Error as RegisterError, Interpolation, OnDevice, StageOutcome, WarpsOnDevice,
};

use super::channels::Channels;
use super::content::{Content, write_all};
use super::contribution::Contribution;
use super::manifest::Manifest;
use super::reference::Reference;
use super::registrations;
use super::resampled::{Resampled, Resampling};
use super::results::RegistrationResults;
use super::session::Session;
use crate::Error;

/// The part of a subject's registration that a device computed: transforms, resampled images and statistics.
pub struct Computed {
    affine: AffineTransform,
    warp: Option<DisplacementField>,
    warped: Vec<Resampled>,
    affine_cost: f64,
    energies: Vec<f64>,
    device: String,
}

/// A registered subject on the template's grid. The file of the affine has been written, the subject's other files have
/// not.
pub struct RegisteredSubject {
    /// The subject's transforms and resampled images, for the average.
    pub contribution: Arc<Contribution>,
    /// Results of the registration: cost, energies, correlation and mean intensity.
    pub results: RegistrationResults,
    device: String,
}

/// Registers a subject's images and resamples them on the template's grid.
///
/// # Errors
/// A registration that fails; an affine that cannot be written.
pub fn compute(
    worker: &mut Worker,
    session: &Session,
    pass: usize,
    subject: usize,
    (reference, target): (&Reference, &Arc<Target>),
    images: &Channels,
) -> Result<Computed, Error> {
    outputs::make_folder(&session.layout.registrations(pass))?;
    let bringing = ResampleSubject {
        reference,
        images,
        place: session.layout.registration(pass, &session.subject(subject).name).affine,
        // The average of the affine pass is compared with the templates of other programs, so the affine pass
        // interpolates as these programs do.
        interpolation: match session.is_affine(pass) {
            true => Interpolation::Linear,
            false => session.plan.options.interpolation,
        },
        device: device_name(worker.description()),
    };
    worker.register_and(target, &registrations::side(session, pass, images), bringing)
}

/// The work that follows a registration while the warp is still in the memory of the GPU or CPU that computed it:
/// writes the affine transform to a file and resamples the images.
struct ResampleSubject<'a> {
    reference: &'a Reference,
    images: &'a Channels,
    /// Path of the file of the affine.
    place: PathBuf,
    interpolation: Interpolation,
    device: String,
}

impl ResampleSubject<'_> {
    fn resampling(&self) -> Resampling<'_> {
        let images = self.images.iter().map(Arc::as_ref).collect();
        Resampling { images, grid: &self.reference.images[0].grid, interpolation: self.interpolation }
    }
}

impl DeviceBytes for ResampleSubject<'_> {
    fn device_bytes(&self) -> u64 {
        /// Largest number of displacement fields on the device at a time: the warp, the field that is added to it when
        /// the affine changes, and one field for the copy to main memory.
        const FIELDS: usize = 3;
        let resampling = self.resampling();
        4 * (3 * FIELDS * resampling.grid.len() + resampling.scalars()) as u64
    }
}

impl Continuation for ResampleSubject<'_> {
    type Output = Computed;
    type Error = Error;

    fn run<B: Backend>(self, backend: &B, found: OnDevice<B>) -> Result<Computed, Error> {
        let OnDevice { affine: first, outcomes, warps, .. } = found;
        let (mut affine_cost, mut energies) = (f64::NAN, Vec::new());
        for outcome in outcomes {
            match outcome {
                StageOutcome::Linear(outcome) => affine_cost = outcome.cost,
                StageOutcome::Deformable(levels) => {
                    energies.extend(levels.iter().filter_map(|level| level.energies.last()));
                }
            }
        }
        let warp = warps.map(|WarpsOnDevice { warps, .. }| warps.warp);
        let (resampling, sparse) = (self.resampling(), &self.reference.sparse);
        let grid = resampling.grid;
        let nearest = match &warp {
            Some(warp) => nearest_affine(backend, &first, grid, warp, sparse).map_err(RegisterError::Device)?,
            None => first,
        };
        itk::write_affine(&self.place, &nearest, self.reference.centre)?;
        // The affine transform is read back from its file, with rounded numbers, so that a continued run gives the same
        // bytes.
        let affine = itk::read_affine(&self.place)?;
        let before = |warp| Ok(warp_before(backend, &affine, &first, grid, &warp)?.unwrap_or(warp));
        let field = warp.map(before).transpose().map_err(RegisterError::Device)?;
        let warped = resampling.run(backend, field.as_ref(), &affine).map_err(RegisterError::Device)?;
        let warp = field.map(|field| download_field(backend, grid, &field)).transpose();
        let warp = warp.map_err(RegisterError::Device)?;
        Ok(Computed { affine, warp, warped, affine_cost, energies, device: self.device })
    }
}

/// Computes the correlation of a resampled subject with the template, on the CPU.
///
/// # Errors
/// Images on different grids.
pub fn measure(reference: &Reference, computed: Computed) -> Result<RegisteredSubject, Error> {
    let Computed { affine, warp, warped, affine_cost, energies, device } = computed;
    let (warped, brightness) = Resampled::brightness(warped);
    let results = RegistrationResults {
        affine_cost,
        energies,
        correlation: correlation(&reference.images[0], &warped[0], &reference.mask)?,
        mean_intensity: brightness[0].mean,
    };
    let contribution = Contribution { affine, warp, warped, brightness };
    Ok(RegisteredSubject { contribution: Arc::new(contribution), results, device })
}

/// Writes the files of a registration. Returns the function that writes the manifest.
///
/// # Errors
/// A file that cannot be written.
pub fn write<'a>(
    session: &'a Session,
    pass: usize,
    subject: usize,
    brought: &RegisteredSubject,
) -> Result<impl FnOnce() -> Result<Manifest, Error> + Send + use<'a>, Error> {
    let RegisteredSubject { contribution, results, device } = brought;
    let files = session.layout.registration(pass, &session.subject(subject).name);
    let mut outputs: Vec<(&Path, Content)> = vec![(&files.affine, Content::Written)];
    outputs.extend(contribution.warp.as_ref().map(|warp| (files.warp.as_path(), Content::Warp(warp))));
    let warped = files.warped.iter().zip(&contribution.warped);
    outputs.extend(warped.map(|(path, image): (&PathBuf, &Volume)| (path.as_path(), Content::Image(image))));
    let written = write_all(&session.layout, &outputs)?;
    let (results, device) = (results.clone(), device.clone());
    Ok(move || session.register_stage(pass, subject)?.finish(Some(device), written, results))
}

/// A device's name without its number: devices with the same name compute the same bytes.
fn device_name(description: &Description) -> String {
    match description {
        Description::Cpu => "cpu".into(),
        Description::Cuda { name, .. } => name.clone(),
    }
}
