//! Whole-volume operations: one trait, one implementation for each device.
//!
//! [`Backend`] states each operation once: formula, units, boundary rule and source. [`Cpu`] runs them on threads, `Cuda` on
//! an NVIDIA GPU. `Cuda` exists with the feature `cuda`, which is on by default.

pub mod apply;
mod backend;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod error;
pub mod gaussian;
mod mattes;
mod operands;
mod relax;
mod scores;
mod slices;
mod spline;

pub use backend::Backend;
pub use cpu::Cpu;
#[cfg(feature = "cuda")]
pub use cuda::Cuda;
pub use error::Error;
pub use operands::{
    CcDerivative, CcParameters, Entropies, InverseConsistency, InversionLimits, JointParameters, JointSampling,
    MiParameters, Moments, RelaxLimits, RelaxRound, Sampling,
};
