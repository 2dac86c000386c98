//! Registrations on one backend, with the fixed side that it has prepared.

use std::sync::Arc;

use antsreg_core::Volume;
use antsreg_kernels::Backend;

use super::task::Sequel;
use crate::error::CliError;
use crate::register::compute::{self, FixedSide, Listener};
use crate::register::{Found, Request, Seconds};

/// A backend, and the fixed side it has prepared last.
pub struct Registrar<B: Backend> {
    backend: B,
    prepared: Option<Prepared<B>>,
}

/// A fixed image on a device, ready for any number of registrations.
struct Prepared<B: Backend> {
    fixed: Arc<Volume>,
    channels: Vec<Arc<Volume>>,
    mask: Option<Arc<Volume>>,
    side: FixedSide<B>,
}

impl<B: Backend> Prepared<B> {
    fn new(backend: &B, request: &Request) -> Result<Prepared<B>, CliError> {
        Ok(Prepared {
            fixed: request.fixed.clone(),
            channels: request.fixed_channels.to_vec(),
            mask: request.fixed_mask.cloned(),
            side: FixedSide::prepare(backend, request)?,
        })
    }

    fn serves(&self, request: &Request) -> bool {
        let same_mask = match (&self.mask, request.fixed_mask) {
            (Some(mask), Some(other)) => Arc::ptr_eq(mask, other),
            (mask, other) => mask.is_none() && other.is_none(),
        };
        let same_channels = self.channels.len() == request.fixed_channels.len()
            && self.channels.iter().zip(request.fixed_channels).all(|(own, other)| Arc::ptr_eq(own, other));
        Arc::ptr_eq(&self.fixed, request.fixed) && same_channels && same_mask && self.side.has_options_of(request)
    }
}

impl<B: Backend> Registrar<B> {
    /// With nothing prepared.
    pub fn new(backend: B) -> Registrar<B> {
        Registrar { backend, prepared: None }
    }

    /// What it computes on.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// Whether it holds a prepared fixed side.
    pub fn has_prepared(&self) -> bool {
        self.prepared.is_some()
    }

    /// Lets go of what is prepared.
    pub fn forget(&mut self) {
        self.prepared = None;
    }

    /// Whether what is prepared is the fixed side of this request.
    pub fn serves(&self, request: &Request) -> bool {
        self.prepared.as_ref().is_some_and(|prepared| prepared.serves(request))
    }

    /// Registers, and fetches what is wanted; tells how long each part took.
    pub fn register(
        &mut self,
        request: &Request,
        seconds: &mut Seconds,
        listener: &mut dyn Listener,
    ) -> Result<Found, CliError> {
        let (backend, side) = self.prepare(request)?;
        compute::register(backend, request, Some(side), seconds, listener)
    }

    /// Registers, and makes of it what is wanted where the warps are.
    pub fn register_and<T: Sequel>(&mut self, request: &Request, sequel: T) -> Result<T::Output, CliError> {
        let (backend, side) = self.prepare(request)?;
        sequel.run(backend, compute::find(backend, request, Some(side), &mut Seconds::default(), &mut ())?)
    }

    /// The fixed side of this request, prepared if need be.
    fn prepare(&mut self, request: &Request) -> Result<(&B, &FixedSide<B>), CliError> {
        if !self.serves(request) {
            // Before the next one is made: there need not be room for two.
            self.prepared = None;
        }
        let prepared = match &mut self.prepared {
            Some(prepared) => prepared,
            none => none.insert(Prepared::new(&self.backend, request)?),
        };
        Ok((&self.backend, &prepared.side))
    }
}
