//! Work for an engine, whatever its device.

use antsreg_core::AffineTransform;
use antsreg_kernels::Backend;
use antsreg_linear as linear;
use antsreg_syn as syn;

use crate::error::CliError;

/// A piece of work on a device.
pub trait Task {
    /// What comes of it.
    type Output;

    /// Memory of a GPU that it takes.
    fn bytes(&self) -> u64;

    /// Does it.
    fn run<B: Backend>(self, backend: &B) -> Result<Self::Output, CliError>;
}

/// What is made of a registration where its warps are.
pub trait Sequel {
    /// What comes of it.
    type Output;

    /// Memory of a GPU that it takes beside both warps.
    fn bytes(&self) -> u64;

    /// Does it.
    fn run<B: Backend>(self, backend: &B, found: OnDevice<B>) -> Result<Self::Output, CliError>;
}

/// What a registration found, the warps still on the device.
pub struct OnDevice<B: Backend> {
    /// Fixed → moving, RAS mm.
    pub affine: AffineTransform,
    /// Outcome of the affine stage.
    pub linear: Option<linear::Outcome>,
    /// Of the diffeomorphic stage.
    pub syn: Option<(syn::Warps<B>, syn::Course)>,
}
