//! What the stages found.

use antsreg_core::{AffineTransform, DisplacementField};
use antsreg_kernels::Backend;
use antsreg_linear as linear;
use antsreg_syn as syn;

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
    /// Memory of the GPU, if it was one.
    pub device_memory: Option<DeviceMemory>,
    /// Times of its kernels, if they were asked for.
    pub profile: Option<Profile>,
}

/// What the diffeomorphic stage found, as far as it was asked for; RAS mm on the fixed grid.
#[derive(Debug)]
pub struct Diffeomorphism {
    /// Displacement before the affine.
    pub warp: DisplacementField,
    /// Its inverse, if it was asked for.
    pub inverse_warp: Option<DisplacementField>,
    /// How they were found, and how good they are.
    pub course: syn::Course,
}

impl Diffeomorphism {
    /// Fetches the warp from the device, and its inverse if that is wanted.
    pub fn fetch<B: Backend>(
        backend: &B,
        warps: &syn::Warps<B>,
        course: syn::Course,
        inverse_warp: bool,
    ) -> Result<Diffeomorphism, CliError> {
        Ok(Diffeomorphism {
            warp: warps.download_warp(backend)?,
            inverse_warp: inverse_warp.then(|| warps.download_inverse_warp(backend)).transpose()?,
            course,
        })
    }
}
