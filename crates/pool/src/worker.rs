//! A worker: runs registrations on one device, whose memory it shares with other workers.

use std::sync::Arc;

use antsreg_register::{
    Computation, Continuation, Description, Device, Error, Fixed, Opened, Progress, Registered, Side, TooLittleMemory,
};

use crate::{MemoryBudget, MemoryShare, Target};

/// Runs registrations on one device, one at a time.
pub struct Worker {
    device: Device,
    /// The fixed side (image, channels and masks) that this worker has prepared last, with the number that identifies
    /// it.
    prepared: Option<(u64, Fixed)>,
    /// The memory budget of the GPU, and this worker's part of it; `None` on the CPU.
    memory: Option<DeviceMemory>,
}

/// Memory budget of a GPU, shared by its workers, and the part of the budget that the fixed images prepared by this
/// worker occupy.
struct DeviceMemory {
    budget: Arc<MemoryBudget>,
    prepared: Option<MemoryShare>,
}

/// Work for a worker of a device that states how much GPU memory it needs.
pub trait DeviceBytes {
    /// GPU memory that the work needs in addition to data that are already in the memory of the GPU, bytes.
    fn device_bytes(&self) -> u64;
}

impl Worker {
    /// Makes the workers of one device, which share its memory. `free_bytes` is the free memory of a GPU.
    pub fn of_device(opened: Vec<Opened>, free_bytes: Option<u64>) -> Vec<Worker> {
        let budget = free_bytes.map(MemoryBudget::new);
        let worker = |Opened { device, .. }| {
            let memory = budget.clone().map(|budget| DeviceMemory { budget, prepared: None });
            Worker { device, prepared: None, memory }
        };
        opened.into_iter().map(worker).collect()
    }

    /// Description of the device on which this worker computes.
    pub fn description(&self) -> &Description {
        self.device.description()
    }

    /// Whether this worker computes on a GPU.
    pub fn is_gpu(&self) -> bool {
        self.device.is_gpu()
    }

    /// Number that identifies the device of this worker. All workers of one GPU have the same number.
    pub fn place(&self) -> usize {
        match self.description() {
            Description::Cpu => 0,
            Description::Cuda { index, .. } => *index,
        }
    }

    /// Prepares the fixed side of registrations (image, channels and masks) before the first registration needs this
    /// side.
    ///
    /// # Errors
    /// Those of [`Fixed::new`]; a GPU with too little memory.
    pub fn prepare(&mut self, target: &Arc<Target>) -> Result<(), Error> {
        self.with_prepared(target, 0, |_| Ok(()))
    }

    /// Registers a moving image (with its channels and masks) to the fixed images of `target`. Then calls the function
    /// `then` with the result, whose warps are on the device. The result does not depend on the worker's earlier work,
    /// and is the same on all devices of one kind.
    ///
    /// # Errors
    /// Those of [`antsreg_register::register`] and of `then`; a GPU with too little memory.
    pub fn register<T, E: From<Error>>(
        &mut self,
        target: &Arc<Target>,
        moving: &Side,
        progress: &mut dyn Progress,
        then: impl FnOnce(Registered) -> Result<T, E>,
    ) -> Result<T, E> {
        let bytes = target.device_bytes(moving, &self.device);
        self.with_prepared(target, bytes, |fixed| then(fixed.register(moving, progress)?))
    }

    /// Registers a moving image as [`register`](Worker::register) does. Then runs a continuation, which states how much
    /// memory of the device it needs beside the warps.
    ///
    /// # Errors
    /// Those of [`antsreg_register::register`] and of the continuation; a GPU with too little memory.
    pub fn register_and<C: Continuation + DeviceBytes>(
        &mut self,
        target: &Arc<Target>,
        moving: &Side,
        continuation: C,
    ) -> Result<C::Output, C::Error> {
        /// Number of scalars per voxel of a warp and its inverse together: three components each.
        const WARPS: u64 = 2 * 3;
        let warps = 4 * WARPS * target.side.grid().len() as u64;
        let bytes = target.device_bytes(moving, &self.device).max(warps + continuation.device_bytes());
        self.with_prepared(target, bytes, |fixed| fixed.register(moving, &mut ())?.run(continuation))
    }

    /// Makes another worker of the same device, which shares the memory of the device with this worker.
    ///
    /// # Errors
    /// A GPU that fails.
    pub fn beside(&self) -> Result<Worker, Error> {
        let memory =
            self.memory.as_ref().map(|memory| DeviceMemory { budget: memory.budget.clone(), prepared: None });
        Ok(Worker { device: self.device.beside()?, prepared: None, memory })
    }

    /// Runs a computation on the device, or on the CPU if too little memory of the device is free at present. This function
    /// does not wait for memory.
    ///
    /// # Errors
    /// Errors of the computation.
    pub fn run_here_or_on_cpu<T: Computation + DeviceBytes>(&self, computation: T) -> Result<T::Output, T::Error> {
        match self.memory.as_ref().map(|memory| memory.budget.try_take(computation.device_bytes())) {
            Some(None) => Device::cpu().run(computation),
            _share => self.device.run(computation),
        }
    }

    /// Runs a computation on the device.
    ///
    /// # Errors
    /// Errors of the computation; a GPU with too little memory.
    pub fn run<T: Computation + DeviceBytes>(&mut self, computation: T) -> Result<T::Output, T::Error>
    where
        T::Error: From<Error>,
    {
        let _share = self.take(computation.device_bytes())?;
        self.device.run(computation)
    }

    /// Calls the function `work` with the device while `bytes` of the GPU's memory are reserved. If too little memory
    /// is free, the fixed images and masks that this worker has prepared are released first.
    ///
    /// # Errors
    /// Errors of `work`; a GPU with too little memory.
    pub fn with_device<T, E: From<Error>>(
        &mut self,
        bytes: u64,
        work: impl FnOnce(&Device) -> Result<T, E>,
    ) -> Result<T, E> {
        let _share = self.take(bytes)?;
        work(&self.device)
    }

    /// Prepares the fixed side (image, channels and masks) of `target`, if this worker has not prepared it yet, and
    /// calls the function `work` with it. Meanwhile, `bytes` of GPU memory are reserved for `work`.
    fn with_prepared<T, E: From<Error>>(
        &mut self,
        target: &Arc<Target>,
        bytes: u64,
        work: impl FnOnce(&Fixed) -> Result<T, E>,
    ) -> Result<T, E> {
        if !self.has_prepared(target) {
            // The previous fixed image with its channels and masks is released before the next one is prepared. GPU
            // memory may not suffice for both.
            self.release_prepared();
        }
        let share = self.reserve(target, bytes)?;
        let (_, fixed) = match &mut self.prepared {
            Some(prepared) => prepared,
            none => {
                let fixed = Fixed::new(&self.device, target.side.clone(), target.options.clone())?;
                none.insert((target.number(), fixed))
            }
        };
        let done = work(fixed);
        if let (Some(memory), Some(mut share)) = (&mut self.memory, share)
            && memory.prepared.is_none()
        {
            share.keep(target.prepared_device_bytes(&self.device));
            memory.prepared = Some(share);
        }
        done
    }

    fn has_prepared(&self, target: &Target) -> bool {
        self.prepared.as_ref().is_some_and(|(number, _)| *number == target.number())
    }

    /// Reserves GPU memory for a registration, and for the prepared fixed images if this worker has not prepared them
    /// yet. If too little memory is free, this worker releases its prepared fixed images, and then waits for memory.
    /// Otherwise two workers could each keep prepared fixed images and wait for each other for ever.
    fn reserve(&mut self, target: &Target, bytes: u64) -> Result<Option<MemoryShare>, Error> {
        let Some(memory) = &self.memory else { return Ok(None) };
        let prepared = target.prepared_device_bytes(&self.device);
        let more = if memory.prepared.is_some() { 0 } else { prepared };
        if let Some(share) = memory.budget.try_take(bytes + more) {
            return Ok(Some(share));
        }
        self.release_prepared();
        self.wait_for(bytes + prepared)
    }

    /// Reserves `bytes` of GPU memory; releases the prepared fixed side if necessary.
    fn take(&mut self, bytes: u64) -> Result<Option<MemoryShare>, Error> {
        let Some(memory) = &self.memory else { return Ok(None) };
        if let Some(share) = memory.budget.try_take(bytes) {
            return Ok(Some(share));
        }
        self.release_prepared();
        self.wait_for(bytes)
    }

    fn wait_for(&self, bytes: u64) -> Result<Option<MemoryShare>, Error> {
        let Some(memory) = &self.memory else { return Ok(None) };
        let share = memory.budget.take(bytes);
        let device = self.description().choice();
        let too_little = || TooLittleMemory::new(device, bytes, memory.budget.total());
        share.map(Some).ok_or_else(|| too_little().into())
    }

    /// Releases the prepared fixed side (image, channels and masks), and returns its memory to the budget.
    pub(crate) fn release_prepared(&mut self) {
        self.prepared = None;
        if let Some(memory) = &mut self.memory {
            memory.prepared = None;
        }
    }
}
