//! Measurements of the methods of antsreg-gpu on this machine. The product does not use this crate.
//!
//! - [`schemes`]: the histogram schemes of Li, Shams, Brosch and Sun as CUDA kernels, all with the same interface.
//! - [`histograms`]: the tables and figures of those papers, measured with the schemes (`antsreg-lab histograms`).
//! - [`cost_curves`]: the costs of the linear stage along each parameter of a rigid transform (`antsreg-lab
//!   cost-curves`).
//! - [`papers`]: every table and figure of five papers beside what this machine measures (`antsreg-lab papers`).

pub mod cost_curves;
mod device;
mod error;
pub mod histograms;
mod output;
pub mod papers;
pub mod schemes;
mod transform;
mod values;

pub use error::Error;
