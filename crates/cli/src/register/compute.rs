//! The course of a registration on a device: the affine stage, the diffeomorphic one, what its warps are like, and what
//! they make of the images. `register` takes it once, `batch`, `labels` and `atlas` many times with one fixed side.

use std::time::Instant;

use antsreg_core::AffineTransform;
use antsreg_core::report::Observer;
use antsreg_kernels::Backend;
use antsreg_linear as linear;
use antsreg_syn as syn;

use super::found::{Diffeomorphism, Found};
use super::images::Images;
use super::record::Seconds;
use super::request::Request;
use crate::error::CliError;

/// Who hears how a registration gets on: of every iteration, and of each stage that has ended.
pub trait Listener: Observer {
    /// The affine stage has found this, in so many seconds.
    fn affine_found(&mut self, _: &linear::Outcome, _seconds: f64) {}

    /// The diffeomorphic stage has found its warps, in so many seconds, and they are in main memory.
    fn warps_found(&mut self, _: &syn::Course, _seconds: f64) {}
}

/// Hears nothing.
impl Listener for () {}

/// The fixed side of both stages on a device, kept for any number of registrations.
pub struct FixedSide<B: Backend> {
    linear: Option<linear::Fixed<B>>,
    syn: Option<syn::Fixed<B>>,
}

impl<B: Backend> FixedSide<B> {
    /// Of this request, and of all that share its fixed images and parameters.
    pub fn prepare(backend: &B, request: &Request) -> Result<FixedSide<B>, CliError> {
        let linear = request.linear.map(|options| linear_side(backend, request, options)).transpose()?;
        let syn = request.syn.map(|options| syn_side(backend, request, options, &mut ())).transpose()?;
        let syn = syn.map(|fixed| fixed.keep_pyramid(backend, &mut ())).transpose()?;
        Ok(FixedSide { linear, syn })
    }

    /// Whether it was made with the parameters of this request.
    pub fn has_options_of(&self, request: &Request) -> bool {
        self.linear.as_ref().map(linear::Fixed::options) == request.linear
            && self.syn.as_ref().map(syn::Fixed::options) == request.syn
    }
}

fn linear_side<B: Backend>(
    backend: &B,
    request: &Request,
    options: &linear::Options,
) -> Result<linear::Fixed<B>, linear::Error> {
    linear::Fixed::new(backend, request.fixed, request.fixed_mask.map(AsRef::as_ref), options)
}

fn syn_side<B: Backend>(
    backend: &B,
    request: &Request,
    options: &syn::Options,
    observer: &mut dyn Observer,
) -> Result<syn::Fixed<B>, syn::Error> {
    syn::Fixed::new(backend, request.fixed_images(), options, observer)
}

/// What both stages found, the warps still on the device.
pub struct OnDevice<B: Backend> {
    /// Fixed → moving, RAS mm.
    pub affine: AffineTransform,
    /// Outcome of the affine stage.
    pub linear: Option<linear::Outcome>,
    /// Of the diffeomorphic stage.
    pub syn: Option<WarpsOnDevice<B>>,
}

/// What the diffeomorphic stage found.
pub struct WarpsOnDevice<B: Backend> {
    /// There and back.
    pub warps: syn::Warps<B>,
    /// How they were found.
    pub course: syn::Course,
    /// What they are like, if that is wanted.
    pub scores: Option<syn::Scores>,
}

/// Takes both stages. A fixed side that is not kept is made for each stage and goes with it, so that never both are there.
/// Tells how long each took.
pub fn find<B: Backend>(
    backend: &B,
    request: &Request,
    kept: Option<&FixedSide<B>>,
    seconds: &mut Seconds,
    listener: &mut dyn Listener,
) -> Result<OnDevice<B>, CliError> {
    let mut found = OnDevice { affine: request.initial, linear: None, syn: None };
    if let Some(options) = request.linear {
        let began = Instant::now();
        let fixed = match kept.and_then(|kept| kept.linear.as_ref()) {
            Some(kept) => kept,
            None => &linear_side(backend, request, options)?,
        };
        let outcome = fixed.register(backend, request.moving, request.moving_mask, request.start, listener)?;
        let took = began.elapsed().as_secs_f64();
        seconds.linear = Some(took);
        listener.affine_found(&outcome, took);
        found.affine = outcome.transform;
        found.linear = Some(outcome);
    }
    if let Some(options) = request.syn {
        let began = Instant::now();
        let fixed = match kept.and_then(|kept| kept.syn.as_ref()) {
            Some(kept) => kept,
            None => &syn_side(backend, request, options, listener)?,
        };
        let (fields, levels) = fixed.find(backend, request.moving_images(), &found.affine, None, listener)?;
        let (warps, relaxed) = fixed.warps(backend, fields, listener)?;
        let course = syn::Course { levels, relaxed };
        let scores = request.wanted.scores.then(|| fixed.scores(backend, &warps)).transpose()?;
        seconds.syn = Some(began.elapsed().as_secs_f64());
        found.syn = Some(WarpsOnDevice { warps, course, scores });
    }
    Ok(found)
}

/// Takes both stages, fetches what is wanted of the result and makes the images that are. Tells how long each part took.
pub fn register<B: Backend>(
    backend: &B,
    request: &Request,
    kept: Option<&FixedSide<B>>,
    seconds: &mut Seconds,
    listener: &mut dyn Listener,
) -> Result<Found, CliError> {
    let OnDevice { affine, linear, syn } = find(backend, request, kept, seconds, listener)?;
    let mut found = Found { affine, linear, syn: None, images: None };
    let mut warps = None;
    if let Some(warped) = syn {
        let began = Instant::now();
        let (on_device, fetched) = Diffeomorphism::fetch(backend, warped, request.wanted)?;
        let took = seconds.syn.unwrap_or(0.0) + began.elapsed().as_secs_f64();
        seconds.syn = Some(took);
        listener.warps_found(&fetched.course, took);
        (warps, found.syn) = (Some(on_device), Some(fetched));
    }
    if let Some(wanted) = request.wanted.images {
        let began = Instant::now();
        found.images =
            Images::by(backend, &request.pair(affine), warps.as_ref(), wanted).map_err(CliError::Device)?;
        seconds.outputs += began.elapsed().as_secs_f64();
    }
    Ok(found)
}
