//! What is wanted of a registration, and what was found.

use antsreg_core::{AffineTransform, DisplacementField};
use antsreg_kernels::Backend;
use antsreg_linear as linear;
use antsreg_syn as syn;

use super::args::Args;
use super::compute::WarpsOnDevice;
use super::images::{Images, WantedImages};
use crate::device::Description;
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

    /// What the options ask of a device. The processor makes images outside the stages, more exactly.
    pub fn new(args: &Args, device: &Description) -> Wanted {
        let images = (*device != Description::Cpu).then(|| WantedImages::new(&args.writing));
        Wanted { inverse_warp: !args.writing.no_inverse, scores: true, images }
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
    /// Fetches the warps from the device, as far as they are wanted; gives those on the device, too.
    pub fn fetch<B: Backend>(
        backend: &B,
        found: WarpsOnDevice<B>,
        wanted: Wanted,
    ) -> Result<(syn::Warps<B>, Diffeomorphism), CliError> {
        let WarpsOnDevice { warps, course, scores } = found;
        let warp = warps.download_warp(backend)?;
        let inverse_warp = wanted.inverse_warp.then(|| warps.download_inverse_warp(backend)).transpose()?;
        Ok((warps, Diffeomorphism { warp, inverse_warp, course, scores }))
    }
}
