//! The CUDA backend: every operation of [`Backend`](crate::Backend) as kernels on an NVIDIA GPU, one folder for each
//! family. A family's `mod.rs` implements its trait; an operation of more than a few lines has a file of its name.
//! `kernels.rs` names the kernels of each source file in `cu/`.
//!
//! Kernels take raw pointers, so this module has `unsafe`. Each launch is inside a function that takes typed operands,
//! and a comment says why the kernel accesses only memory of these operands. All work goes to one stream, in the order
//! of the calls.
#![expect(unsafe_code, reason = "kernel launches and driver calls take raw pointers")]

mod arrays;
mod bandwidth;
mod batch_buffers;
mod bias;
mod buffer;
mod code;
mod device;
mod driver;
pub mod extension;
mod field;
mod fields;
mod fusion;
mod image;
mod intensity;
mod kernels;
mod launch;
mod loading;
mod mark;
mod memory;
mod metric_output;
mod module;
mod pending;
mod planes;
mod profile;
mod quick_start;
mod relaxation;
mod session;
mod similarity;
mod spare_sums;
mod staging;
mod warping;

pub use bias::BiasMesh;
pub use code::{Code, Embedded};
pub use device::{DeviceInfo, KeptContext, Memory, has_driver};
pub use field::Field;
pub use fields::DeviceAxisMap;
pub use image::Image;
pub use kernels::{KernelGroup, Preload, all_code};
pub use profile::KernelTime;
pub use quick_start::quick_start;
pub use relaxation::RelaxWorkspace;
pub use session::Cuda;
pub use similarity::{CcPending, CcWorkspace, DirectCc, FixedBins, MiWorkspace};
