//! What registers: a worker on one device, whose memory it shares with others.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use antsreg_core::report::Observer;
use antsreg_core::{DisplacementField, Volume};
use antsreg_kernels::{Backend, Cpu, Cuda, InverseConsistency, InversionLimits};

use super::budget::{Budget, Share};
use super::reading::Reading;
use super::registrar::Registrar;
use super::request::{Registered, Request};
use crate::device::{Description, Device, DeviceChoice, Opened};
use crate::error::CliError;

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
            Device::Cpu => On::Cpu(Box::new(Registrar::new(Cpu))),
            Device::Cuda(cuda) => {
                let budget = match budgets.entry(cuda.info().index) {
                    Entry::Occupied(known) => known.get().clone(),
                    Entry::Vacant(place) => {
                        place.insert(Budget::new(cuda.memory().map_err(CliError::Device)?.free)).clone()
                    }
                };
                On::Gpu(Box::new(Gpu { registrar: Registrar::new(*cuda), budget, kept: None }))
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
            On::Gpu(gpu) => gpu.registrar.backend().info().index,
        }
    }

    /// Brings images onto a grid: on a GPU where it has kernels for that, else on the processor.
    pub fn read(&mut self, reading: &Reading) -> Result<Vec<Volume>, CliError> {
        let choice = self.description.choice();
        match (&mut self.on, reading.step()) {
            (On::Gpu(gpu), Some(step)) => {
                let _share = gpu.take(step.bytes(), choice)?;
                step.run(gpu.registrar.backend()).map_err(CliError::Device)
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
            On::Cpu(registrar) => invert(registrar.backend(), warp, limits, mask),
            On::Gpu(gpu) => {
                let _share = gpu.take((4 * SCALARS * warp.vectors.len()) as u64, choice)?;
                invert(gpu.registrar.backend(), warp, limits, mask)
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
        if !self.registrar.has_prepared() {
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
        self.registrar.forget();
        self.kept = None;
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
