//! How volumes are read between voxels, as typed. ANTs' names are understood as well.

use antsreg_kernels::apply;
use clap::ValueEnum;
use serde::Serialize;

/// How an image is read between voxels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImageInterpolation {
    /// Trilinear
    #[default]
    #[value(alias = "Linear")]
    Linear,
    /// The nearest voxel
    #[value(aliases = ["NearestNeighbor", "nearestNeighbor", "nearest-neighbour", "nearest-neighbor"])]
    Nearest,
    /// Cubic B-spline
    #[value(aliases = ["BSpline", "bSpline"])]
    Bspline,
    /// Windowed sinc (Lanczos)
    #[value(aliases = ["LanczosWindowedSinc", "lanczosWindowedSinc"])]
    Sinc,
}

impl From<ImageInterpolation> for apply::Interpolation {
    fn from(typed: ImageInterpolation) -> apply::Interpolation {
        match typed {
            ImageInterpolation::Linear => apply::Interpolation::Linear,
            ImageInterpolation::Nearest => apply::Interpolation::Nearest,
            ImageInterpolation::Bspline => apply::Interpolation::BSpline,
            ImageInterpolation::Sinc => apply::Interpolation::WindowedSinc(apply::Window::Lanczos),
        }
    }
}

/// How a label map is read between voxels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabelInterpolation {
    /// The label with the most weight among the neighbours, as ANTs' GenericLabel
    #[default]
    #[value(aliases = ["GenericLabel", "genericLabel", "MultiLabel", "multiLabel"])]
    GenericLabel,
    /// The label of the nearest voxel
    #[value(aliases = ["NearestNeighbor", "nearestNeighbor", "nearest-neighbour", "nearest-neighbor"])]
    Nearest,
}

impl From<LabelInterpolation> for apply::LabelInterpolation {
    fn from(typed: LabelInterpolation) -> apply::LabelInterpolation {
        match typed {
            LabelInterpolation::GenericLabel => apply::LabelInterpolation::GenericLabel,
            LabelInterpolation::Nearest => apply::LabelInterpolation::Nearest,
        }
    }
}
