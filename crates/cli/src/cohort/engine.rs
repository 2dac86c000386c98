//! What registers: one worker on one device, with the fixed side it has prepared there.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Instant;

use antsreg_core::report::Observer;
use antsreg_core::{AffineTransform, DisplacementField, Volume};
use antsreg_kernels::{Backend, Cpu, Cuda, InverseConsistency, InversionLimits};
use antsreg_linear::{self as linear, Start};
use antsreg_syn as syn;

use super::budget::{Budget, Share};
use super::reading::Reading;
use crate::device::{Description, Device, DeviceChoice, Opened};
use crate::error::CliError;
use crate::register::{Diffeomorphism, Images, Pair, Wanted, memory};

/// One registration.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The image that stays. What is prepared of it serves every request that shares it.
    pub fixed: &'a Arc<Volume>,
    /// Further images of the same space, for the diffeomorphic stage.
    pub fixed_channels: &'a [Arc<Volume>],
    /// Its voxels that count.
    pub fixed_mask: Option<&'a Arc<Volume>>,
    /// The image that is brought to it.
    pub moving: &'a Volume,
    /// Further images of its space, as many.
    pub moving_channels: &'a [&'a Volume],
    /// Its voxels that count.
    pub moving_mask: Option<&'a Volume>,
    /// Start of the diffeomorphic stage where there is no affine one, fixed → moving, RAS mm.
    pub initial: AffineTransform,
    /// Parameters of the affine stage, unless left out.
    pub linear: Option<&'a linear::Options>,
    /// Parameters of the diffeomorphic stage, unless left out.
    pub syn: Option<&'a syn::Options>,
    /// What is wanted of it; images where a GPU registers only.
    pub wanted: Wanted,
}

/// What a registration found, and how long each stage took.
#[derive(Debug)]
pub struct Registered {
    /// Fixed → moving, RAS mm.
    pub affine: AffineTransform,
    /// Outcome of the affine stage.
    pub linear: Option<linear::Outcome>,
    /// Seconds of the affine stage.
    pub linear_seconds: Option<f64>,
    /// What the diffeomorphic stage found.
    pub syn: Option<Diffeomorphism>,
    /// Seconds of the diffeomorphic stage.
    pub syn_seconds: Option<f64>,
    /// What the device made of the images, if it did.
    pub images: Option<Images>,
    /// Seconds of that.
    pub images_seconds: f64,
}

/// A worker on a device.
pub struct Engine {
    /// Where it works.
    pub description: Description,
    on: On,
}

enum On {
    Cpu(Box<Registrar<Cpu>>),
    Gpu(Box<Gpu>),
}

/// A worker on a GPU, whose memory it shares.
struct Gpu {
    registrar: Registrar<Cuda>,
    budget: Arc<Budget>,
    /// What the prepared fixed side has of it.
    kept: Option<Share>,
}

/// A worker for each opened device; those of one GPU share its memory.
pub fn engines(opened: Vec<Opened>) -> Result<Vec<Engine>, CliError> {
    let mut budgets: BTreeMap<usize, Arc<Budget>> = BTreeMap::new();
    let mut engines = Vec::new();
    for Opened { device, description, .. } in opened {
        let on = match device {
            Device::Cpu => On::Cpu(Box::new(Registrar { backend: Cpu, prepared: None })),
            Device::Cuda(cuda) => {
                let budget = match budgets.entry(cuda.info().index) {
                    Entry::Occupied(known) => known.get().clone(),
                    Entry::Vacant(place) => {
                        place.insert(Budget::new(cuda.memory().map_err(CliError::Device)?.free)).clone()
                    }
                };
                On::Gpu(Box::new(Gpu { registrar: Registrar { backend: *cuda, prepared: None }, budget, kept: None }))
            }
        };
        engines.push(Engine { description, on });
    }
    Ok(engines)
}

impl Engine {
    /// Registers. The result is the same whichever worker of one kind of device does it, and whatever it did before.
    pub fn register(&mut self, request: &Request, observer: &mut dyn Observer) -> Result<Registered, CliError> {
        match &mut self.on {
            On::Cpu(registrar) => {
                registrar.register(&Request { wanted: request.wanted.without_images(), ..*request }, observer)
            }
            On::Gpu(gpu) => gpu.register(request, self.description.choice(), observer),
        }
    }
}

impl Engine {
    /// Whether it works on a GPU.
    pub fn is_gpu(&self) -> bool {
        matches!(self.on, On::Gpu(_))
    }

    /// Where it works: workers of one GPU have one number.
    pub fn place(&self) -> usize {
        match &self.on {
            On::Cpu(_) => 0,
            On::Gpu(gpu) => gpu.registrar.backend.info().index,
        }
    }

    /// Brings images onto a grid: on a GPU where it has kernels for that, else on the processor.
    pub fn read(&mut self, reading: &Reading) -> Result<Vec<Volume>, CliError> {
        let choice = self.description.choice();
        match (&mut self.on, reading.step()) {
            (On::Gpu(gpu), Some(step)) => {
                let _share = gpu.take(step.bytes(), choice)?;
                step.run(&gpu.registrar.backend).map_err(CliError::Device)
            }
            _ => Ok(reading.here()),
        }
    }

    /// The inverse of a warp that has one, and how far points end from where they started after both, where `mask`, on
    /// the warp's grid, exceeds ½.
    pub fn invert(
        &mut self,
        warp: &DisplacementField,
        limits: &InversionLimits,
        mask: &Volume,
    ) -> Result<(DisplacementField, InverseConsistency), CliError> {
        /// Both fields, the mask, and a field in the host's order on its way.
        const SCALARS: usize = 10;
        let choice = self.description.choice();
        match &mut self.on {
            On::Cpu(registrar) => invert(&registrar.backend, warp, limits, mask),
            On::Gpu(gpu) => {
                let _share = gpu.take((4 * SCALARS * warp.vectors.len()) as u64, choice)?;
                invert(&gpu.registrar.backend, warp, limits, mask)
            }
        }
        .map_err(CliError::Device)
    }
}

impl Gpu {
    fn register(
        &mut self,
        request: &Request,
        device: DeviceChoice,
        observer: &mut dyn Observer,
    ) -> Result<Registered, CliError> {
        let mut share = self.reserve(request, device)?;
        let found = self.registrar.register(request, observer);
        if self.registrar.prepared.is_none() {
            self.kept = None;
        } else if self.kept.is_none() {
            share.keep(request.prepared_bytes());
            self.kept = Some(share);
        }
        found
    }

    /// Takes the memory of a registration, and of the fixed side unless that is prepared already. Where too little is
    /// left, what is prepared goes, so that whoever has the rest can finish, and that is waited for.
    fn reserve(&mut self, request: &Request, device: DeviceChoice) -> Result<Share, CliError> {
        if !self.registrar.serves(request) {
            self.forget();
        }
        let bytes = request.bytes();
        let more = if self.kept.is_some() { 0 } else { request.prepared_bytes() };
        if let Some(share) = self.budget.try_take(bytes + more) {
            return Ok(share);
        }
        self.forget();
        self.wait_for(bytes + request.prepared_bytes(), device)
    }

    /// Takes so much memory, for which what is prepared goes if need be.
    fn take(&mut self, bytes: u64, device: DeviceChoice) -> Result<Share, CliError> {
        if let Some(share) = self.budget.try_take(bytes) {
            return Ok(share);
        }
        self.forget();
        self.wait_for(bytes, device)
    }

    fn wait_for(&self, bytes: u64, device: DeviceChoice) -> Result<Share, CliError> {
        let too_little = || CliError::DeviceMemory {
            device,
            // Rounded apart, so that both numbers never read the same.
            needed_mb: bytes.div_ceil(1_000_000),
            free_mb: self.budget.total() / 1_000_000,
        };
        self.budget.take(bytes).ok_or_else(too_little)
    }

    fn forget(&mut self) {
        self.registrar.prepared = None;
        self.kept = None;
    }
}

impl Request<'_> {
    /// Memory of a GPU that it takes while it runs.
    fn bytes(&self) -> u64 {
        let masked = [self.fixed_mask.is_some(), self.moving_mask.is_some()];
        let grids = [&self.fixed.grid, &self.moving.grid];
        let stages = self.channels() * memory::on_device(grids, masked, self.linear, self.syn) as u64;
        let images =
            |wanted| memory::images_on_device(grids, self.fixed_mask.is_some(), self.syn.is_some(), wanted) as u64;
        stages.max(self.wanted.images.map_or(0, images))
    }

    /// Memory of a GPU that its fixed side keeps afterwards.
    fn prepared_bytes(&self) -> u64 {
        let masked = self.fixed_mask.is_some();
        self.channels() * memory::prepared_on_device(&self.fixed.grid, masked, self.linear, self.syn) as u64
    }

    /// Each takes at most as much memory again as one.
    fn channels(&self) -> u64 {
        1 + self.fixed_channels.len() as u64
    }
}

/// A field on a device.
pub(super) fn in_voxels<B: Backend>(
    backend: &B,
    field: &DisplacementField,
) -> Result<B::Field, antsreg_kernels::Error> {
    let to_voxels = field.grid.world_to_voxel().matrix;
    backend.upload_field_in(field.grid.shape, &field.vectors, &to_voxels.cast())
}

/// The field that undoes another, found on a device, and how well it does.
fn invert<B: Backend>(
    backend: &B,
    warp: &DisplacementField,
    limits: &InversionLimits,
    mask: &Volume,
) -> Result<(DisplacementField, InverseConsistency), antsreg_kernels::Error> {
    let grid = &warp.grid;
    let field = in_voxels(backend, warp)?;
    // To start from: the opposite displacements.
    let mut inverse = backend.field(grid.shape)?;
    backend.add_scaled(&mut inverse, &field, -1.0)?;
    backend.invert(&field, &mut inverse, limits)?;
    let mask = backend.upload(mask.grid.shape, &mask.voxels)?;
    let missed = backend.inverse_consistency(&field, &inverse, Some(&mask))?;
    let vectors = backend.download_field_in(&inverse, &grid.voxel_to_world().matrix.cast())?;
    Ok((DisplacementField { grid: grid.clone(), vectors }, missed))
}

/// A backend, and the fixed side it has prepared last.
struct Registrar<B: Backend> {
    backend: B,
    prepared: Option<Prepared<B>>,
}

/// A fixed image on a device, ready for any number of registrations.
struct Prepared<B: Backend> {
    fixed: Arc<Volume>,
    channels: Vec<Arc<Volume>>,
    mask: Option<Arc<Volume>>,
    linear: Option<linear::Fixed<B>>,
    syn: Option<syn::Fixed<B>>,
}

impl<B: Backend> Prepared<B> {
    fn new(backend: &B, request: &Request) -> Result<Prepared<B>, CliError> {
        let mask = request.fixed_mask.map(Arc::as_ref);
        let linear = request.linear.map(|options| linear::Fixed::new(backend, request.fixed, mask, options));
        let syn = request.syn.map(|options| {
            let channels = [request.fixed].into_iter().chain(request.fixed_channels).map(Arc::as_ref).collect();
            let images = syn::Images { channels, mask };
            syn::Fixed::new(backend, images, options).and_then(|fixed| fixed.keep_pyramid(backend))
        });
        Ok(Prepared {
            fixed: request.fixed.clone(),
            channels: request.fixed_channels.to_vec(),
            mask: request.fixed_mask.cloned(),
            linear: linear.transpose()?,
            syn: syn.transpose()?,
        })
    }

    fn serves(&self, request: &Request) -> bool {
        let same_mask = match (&self.mask, request.fixed_mask) {
            (Some(mask), Some(other)) => Arc::ptr_eq(mask, other),
            (mask, other) => mask.is_none() && other.is_none(),
        };
        // Each registration brings its own start.
        let linear = request.linear.map(|options| linear::Options { start: Start::Headers, ..options.clone() });
        let own = self.linear.as_ref().map(linear::Fixed::options);
        let own = own.map(|options| linear::Options { start: Start::Headers, ..options.clone() });
        let same_channels = self.channels.len() == request.fixed_channels.len()
            && self.channels.iter().zip(request.fixed_channels).all(|(own, other)| Arc::ptr_eq(own, other));
        Arc::ptr_eq(&self.fixed, request.fixed)
            && same_channels
            && same_mask
            && linear == own
            && self.syn.as_ref().map(syn::Fixed::options) == request.syn
    }
}

impl<B: Backend> Registrar<B> {
    fn serves(&self, request: &Request) -> bool {
        self.prepared.as_ref().is_some_and(|prepared| prepared.serves(request))
    }

    fn register(&mut self, request: &Request, observer: &mut dyn Observer) -> Result<Registered, CliError> {
        if !self.serves(request) {
            // Before the next one is made: there need not be room for two.
            self.prepared = None;
        }
        let backend = &self.backend;
        let prepared = match &mut self.prepared {
            Some(prepared) => prepared,
            none => none.insert(Prepared::new(backend, request)?),
        };
        let mut found = Registered {
            affine: request.initial,
            linear: None,
            linear_seconds: None,
            syn: None,
            syn_seconds: None,
            images: None,
            images_seconds: 0.0,
        };
        if let (Some(fixed), Some(options)) = (&prepared.linear, request.linear) {
            let began = Instant::now();
            let (moving, mask) = (request.moving, request.moving_mask);
            let outcome = fixed.register(backend, moving, mask, options.start, observer)?;
            found.linear_seconds = Some(began.elapsed().as_secs_f64());
            found.affine = outcome.transform;
            found.linear = Some(outcome);
        }
        let mut on_device = None;
        if let Some(fixed) = &prepared.syn {
            let began = Instant::now();
            let channels = [request.moving].into_iter().chain(request.moving_channels.iter().copied()).collect();
            let moving = syn::Images { channels, mask: request.moving_mask };
            let (warps, course) = fixed.find(backend, moving, &found.affine, observer)?;
            found.syn = Some(Diffeomorphism::fetch(backend, &warps, course, request.wanted)?);
            on_device = Some(warps);
            found.syn_seconds = Some(began.elapsed().as_secs_f64());
        }
        if let Some(wanted) = request.wanted.images {
            let began = Instant::now();
            let Request { fixed, moving, initial, .. } = *request;
            let pair =
                Pair { fixed, mask: request.fixed_mask.map(Arc::as_ref), moving, initial, affine: found.affine };
            found.images = Images::by(backend, &pair, on_device.as_ref(), wanted).map_err(CliError::Device)?;
            found.images_seconds = began.elapsed().as_secs_f64();
        }
        Ok(found)
    }
}
