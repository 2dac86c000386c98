//! Whole-volume operations: one trait, one implementation for each device.
//!
//! [`Backend`] states each operation once: formula, units, boundary rule and source. [`Cpu`] runs them on threads, `Cuda` on
//! an NVIDIA GPU. [`bias::BiasBackend`] adds the operations of N4, and [`fusion::FusionBackend`] that of joint
//! label fusion.
//!
//! # Features
//! `cuda`, on by default: the backend `Cuda`. Without `cuda` the crate builds with Rust alone. With `cuda`, building
//! needs neither toolkit nor driver, because the driver is opened at run time. But the dependency `cust` looks for a
//! toolkit, unless `find_cuda_helper` is replaced. A crate outside this workspace names the replacement in its own
//! `Cargo.toml`:
//!
//! ```toml
//! [dependencies]
//! antsreg-kernels = { git = "https://github.com/antsreg-gpu/antsreg-gpu", features = ["cuda"] }
//!
//! [patch.crates-io]
//! find_cuda_helper = { git = "https://github.com/antsreg-gpu/antsreg-gpu" }
//! ```

pub mod apply;
mod axis_map;
pub mod bias;
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod distance;
mod error;
mod fit;
pub mod fusion;
pub mod gaussian;
mod huge_pages;
mod input;
mod lent;
mod mattes;
mod metric_output;
mod operands;
pub mod ops;
mod profile;
mod relax;
mod rounding;
mod scores;
mod slices;
mod spline;
mod term_slabs;

pub use axis_map::AxisMap;
pub use cpu::Cpu;
#[cfg(feature = "cuda")]
pub use cuda::Cuda;
pub use distance::DistanceLimits;
pub use error::Error;
pub use fit::{FitRule, FitSums};
pub use input::{Input, Voxels};
pub use lent::{Lent, Place};
pub use metric_output::MetricOutput;
pub use operands::{
    CcDerivative, CcKernels, CcParameters, CcScores, Contrast, ContrastRule, Entropies, InverseConsistency,
    InversionLimits, JointParameters, JointSampling, MiParameters, Moments, RelaxLimits, RelaxRound, Sampling,
};
pub use ops::Backend;
pub use profile::{PROFILE_BINS, ProfileBin};
