//! Registrations on one backend, with the fixed side that it has prepared.

use std::sync::Arc;
use std::time::Instant;

use antsreg_core::Volume;
use antsreg_core::report::Observer;
use antsreg_kernels::Backend;
use antsreg_linear::{self as linear, Start};
use antsreg_syn as syn;

use super::request::Request;
use super::task::{OnDevice, Sequel};
use crate::error::CliError;
use crate::register::{Diffeomorphism, Found, Images, Pair, Seconds};

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

    /// Registers, preparing the fixed side if need be, and fetches what is wanted; adds how long each part took.
    pub fn register(
        &mut self,
        request: &Request,
        seconds: &mut Seconds,
        observer: &mut dyn Observer,
    ) -> Result<Found, CliError> {
        let OnDevice { affine, linear, syn } = self.find(request, seconds, observer)?;
        let (backend, fixed) = (&self.backend, self.prepared.as_ref().and_then(|prepared| prepared.syn.as_ref()));
        let mut found = Found { affine, linear, syn: None, images: None, device_memory: None, profile: None };
        let mut began = Instant::now();
        let mut warps = None;
        if let (Some((on_device, course)), Some(fixed)) = (syn, fixed) {
            found.syn = Some(Diffeomorphism::fetch(backend, fixed, &on_device, course, request.wanted)?);
            seconds.syn = seconds.syn.map(|seconds| seconds + began.elapsed().as_secs_f64());
            warps = Some(on_device);
        }
        if let Some(wanted) = request.wanted.images {
            began = Instant::now();
            let Request { fixed, moving, initial, .. } = *request;
            let pair =
                Pair { fixed, mask: request.fixed_mask.map(Arc::as_ref), moving, initial, affine: found.affine };
            found.images = Images::by(backend, &pair, warps.as_ref(), wanted).map_err(CliError::Device)?;
            seconds.outputs += began.elapsed().as_secs_f64();
        }
        Ok(found)
    }

    /// Registers, and makes of it what is wanted where the warps are.
    pub fn register_and<T: Sequel>(&mut self, request: &Request, sequel: T) -> Result<T::Output, CliError> {
        let found = self.find(request, &mut Seconds::default(), &mut ())?;
        sequel.run(&self.backend, found)
    }

    fn find(
        &mut self,
        request: &Request,
        seconds: &mut Seconds,
        observer: &mut dyn Observer,
    ) -> Result<OnDevice<B>, CliError> {
        if !self.serves(request) {
            // Before the next one is made: there need not be room for two.
            self.prepared = None;
        }
        let backend = &self.backend;
        let prepared = match &mut self.prepared {
            Some(prepared) => prepared,
            none => none.insert(Prepared::new(backend, request)?),
        };
        let (mut affine, mut linear) = (request.initial, None);
        if let (Some(fixed), Some(options)) = (&prepared.linear, request.linear) {
            let began = Instant::now();
            let (moving, mask) = (request.moving, request.moving_mask);
            let outcome = fixed.register(backend, moving, mask, options.start, observer)?;
            seconds.linear = Some(began.elapsed().as_secs_f64());
            affine = outcome.transform;
            linear = Some(outcome);
        }
        let mut syn = None;
        if let Some(fixed) = &prepared.syn {
            let began = Instant::now();
            let channels = [request.moving].into_iter().chain(request.moving_channels.iter().copied()).collect();
            let moving = syn::Images { channels, mask: request.moving_mask };
            syn = Some(fixed.find(backend, moving, &affine, observer)?);
            seconds.syn = Some(began.elapsed().as_secs_f64());
        }
        Ok(OnDevice { affine, linear, syn })
    }
}
