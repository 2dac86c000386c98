//! What registers: a worker on one device, whose memory it shares with others.

use std::sync::Arc;

use antsreg_kernels::{Cpu, Cuda};
use antsreg_pool::{MemoryBudget, MemoryShare};

use super::registrar::Registrar;
use super::task::{Sequel, Task};
use crate::device::{Description, Device, DeviceChoice, Opened, TooLittle};
use crate::error::CliError;
use crate::register::compute::Listener;
use crate::register::{Found, Request, Seconds};

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
    budget: Arc<MemoryBudget>,
    /// What the prepared fixed side has of it.
    kept: Option<MemoryShare>,
}

impl Engine {
    /// The workers of a device, who share its memory, so much of which is free if it is a GPU.
    pub fn on(opened: Vec<Opened>, free_bytes: Option<u64>) -> Vec<Engine> {
        let budget = MemoryBudget::new(free_bytes.unwrap_or(0));
        let worker = |Opened { device, description, .. }| {
            let on = match device {
                Device::Cpu => On::Cpu(Box::new(Registrar::new(Cpu))),
                Device::Cuda(cuda) => {
                    let (registrar, budget) = (Registrar::new(*cuda), budget.clone());
                    On::Gpu(Box::new(Gpu { registrar, budget, kept: None }))
                }
            };
            Engine { description, on }
        };
        opened.into_iter().map(worker).collect()
    }

    /// Registers, and adds how long each part took. The result is the same whichever worker of one kind of device does it, and
    /// whatever it did before.
    pub fn register(
        &mut self,
        request: &Request,
        seconds: &mut Seconds,
        listener: &mut dyn Listener,
    ) -> Result<Found, CliError> {
        match &mut self.on {
            On::Cpu(registrar) => registrar.register(request, seconds, listener),
            On::Gpu(gpu) => gpu.keeping(request, request.bytes_on_device(), self.description.choice(), |registrar| {
                registrar.register(request, seconds, listener)
            }),
        }
    }

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

    /// Registers, and makes of it what is wanted where the warps are.
    pub fn register_and<T: Sequel>(&mut self, request: &Request, sequel: T) -> Result<T::Output, CliError> {
        match &mut self.on {
            On::Cpu(registrar) => registrar.register_and(request, sequel),
            On::Gpu(gpu) => {
                let warps = 4 * 6 * request.fixed.grid.len() as u64;
                let bytes = request.bytes_on_device().max(warps + sequel.bytes());
                gpu.keeping(request, bytes, self.description.choice(), |registrar| {
                    registrar.register_and(request, sequel)
                })
            }
        }
    }

    /// Does a piece of work.
    pub fn run<T: Task>(&mut self, task: T) -> Result<T::Output, CliError> {
        let choice = self.description.choice();
        match &mut self.on {
            On::Cpu(registrar) => task.run(registrar.backend()),
            On::Gpu(gpu) => {
                let _share = gpu.take(task.bytes(), choice)?;
                task.run(gpu.registrar.backend())
            }
        }
    }
}

impl Gpu {
    /// Registers within so many bytes, and keeps the memory of the fixed side that is prepared for it.
    fn keeping<T>(
        &mut self,
        request: &Request,
        bytes: u64,
        device: DeviceChoice,
        register: impl FnOnce(&mut Registrar<Cuda>) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        let mut share = self.reserve(request, bytes, device)?;
        let found = register(&mut self.registrar);
        if !self.registrar.has_prepared() {
            self.kept = None;
        } else if self.kept.is_none() {
            share.keep(request.prepared_bytes_on_device());
            self.kept = Some(share);
        }
        found
    }

    /// Takes the memory of a registration, and of the fixed side unless that is prepared already. Where too little is
    /// left, what is prepared goes, so that whoever has the rest can finish, and that is waited for.
    fn reserve(&mut self, request: &Request, bytes: u64, device: DeviceChoice) -> Result<MemoryShare, CliError> {
        if !self.registrar.serves(request) {
            self.forget();
        }
        let more = if self.kept.is_some() { 0 } else { request.prepared_bytes_on_device() };
        if let Some(share) = self.budget.try_take(bytes + more) {
            return Ok(share);
        }
        self.forget();
        self.wait_for(bytes + request.prepared_bytes_on_device(), device)
    }

    /// Takes so much memory, for which what is prepared goes if need be.
    fn take(&mut self, bytes: u64, device: DeviceChoice) -> Result<MemoryShare, CliError> {
        if let Some(share) = self.budget.try_take(bytes) {
            return Ok(share);
        }
        self.forget();
        self.wait_for(bytes, device)
    }

    fn wait_for(&self, bytes: u64, device: DeviceChoice) -> Result<MemoryShare, CliError> {
        let too_little = || CliError::DeviceMemory(TooLittle::new(device, bytes, self.budget.total()));
        self.budget.take(bytes).ok_or_else(too_little)
    }

    fn forget(&mut self) {
        self.registrar.forget();
        self.kept = None;
    }
}
