//! What the stages found.

use antsreg_core::{AffineTransform, DisplacementField};
use antsreg_kernels::Backend;
use antsreg_linear as linear;
use antsreg_syn as syn;

use super::args::Args;
use super::images::{Images, WantedImages};
use super::memory::DeviceMemory;
use super::profile::Profile;
use crate::error::CliError;

/// What both stages found.
pub struct Found {
    /// Fixed → moving, RAS mm.
    pub affine: AffineTransform,
    /// Outcome of the affine stage.
    pub linear: Option<linear::Outcome>,
    /// What the diffeomorphic stage found.
    pub syn: Option<Diffeomorphism>,
    /// What the device made of the images, if it did.
    pub images: Option<Images>,
    /// Memory of the GPU, if it was one.
    pub device_memory: Option<DeviceMemory>,
    /// Times of its kernels, if they were asked for.
    pub profile: Option<Profile>,
}

/// What is wanted of a registration.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The inverse warp as well.
    pub inverse_warp: bool,
    /// What the two are like.
    pub scores: bool,
    /// Images, if they are to be made on the device.
    pub images: Option<WantedImages>,
}

impl Wanted {
    /// The warp alone.
    pub const WARP: Wanted = Wanted { inverse_warp: false, scores: false, images: None };

    /// What the options ask for.
    pub fn new(args: &Args) -> Wanted {
        Wanted { inverse_warp: !args.no_inverse, scores: true, images: Some(WantedImages::new(args)) }
    }

    /// The same without images: the processor makes them more exactly.
    pub fn without_images(self) -> Wanted {
        Wanted { images: None, ..self }
    }
}

/// What the diffeomorphic stage found, as far as it was asked for; RAS mm on the fixed grid.
#[derive(Debug)]
pub struct Diffeomorphism {
    /// Displacement before the affine.
    pub warp: DisplacementField,
    /// Its inverse, if it was asked for.
    pub inverse_warp: Option<DisplacementField>,
    /// How they were found.
    pub course: syn::Course,
    /// What they are like, if that was asked for.
    pub scores: Option<syn::Scores>,
}

impl Diffeomorphism {
    /// Fetches the warps to `fixed` from the device, as far as they are wanted.
    pub fn fetch<B: Backend>(
        backend: &B,
        fixed: &syn::Fixed<B>,
        warps: &syn::Warps<B>,
        course: syn::Course,
        wanted: Wanted,
    ) -> Result<Diffeomorphism, CliError> {
        Ok(Diffeomorphism {
            warp: warps.download_warp(backend)?,
            inverse_warp: wanted.inverse_warp.then(|| warps.download_inverse_warp(backend)).transpose()?,
            course,
            scores: wanted.scores.then(|| fixed.scores(backend, warps)).transpose()?,
        })
    }
}
