//! Work for an engine, whatever its device.

use antsreg_kernels::Backend;

use crate::error::CliError;
use crate::register::compute::OnDevice;

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
