//! The kernels that a registration of default options needs, so that they are loaded before they are needed.

use antsreg_kernels::cuda::{KernelGroup, Preload};

/// What nearly every registration needs is loaded while the device is opened. The rest is loaded while files are read
/// and the linear stage runs, in the order of first use by the default deformable stage: edges, the smoothings of images
/// and fields on the levels, and CC with windows of radius 2.
pub const DEFAULT: Preload = Preload {
    at_once: &[
        KernelGroup::BinFixed,
        KernelGroup::Compose,
        KernelGroup::Correlation,
        KernelGroup::RatioBricks,
        KernelGroup::Intensity,
        KernelGroup::Invert,
        KernelGroup::Layout,
        KernelGroup::MaxNorm,
        KernelGroup::Mix,
        KernelGroup::Resample,
        KernelGroup::ResizeField,
        KernelGroup::Scores,
        KernelGroup::Smooth,
        KernelGroup::Relax,
        KernelGroup::Update,
        KernelGroup::Warp,
    ],
    ahead: &[
        KernelGroup::GradientMagnitude,
        KernelGroup::Smooth4,
        KernelGroup::Smooth3,
        KernelGroup::Smooth8,
        KernelGroup::CcExact { radius: 2 },
        KernelGroup::Smooth5,
    ],
};
