//! Kinds of interpolation of images.

use antsreg_kernels::apply;
use serde::{Deserialize, Serialize};

/// Interpolation of an image between voxels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// Trilinear
    #[default]
    #[cfg_attr(feature = "clap", value(alias = "Linear"))]
    Linear,
    /// The value of the nearest voxel
    #[cfg_attr(
        feature = "clap",
        value(aliases = ["NearestNeighbor", "nearestNeighbor", "nearest-neighbour", "nearest-neighbor"])
    )]
    Nearest,
    /// Cubic B-spline
    #[cfg_attr(feature = "clap", value(aliases = ["BSpline", "bSpline"]))]
    Bspline,
    /// Windowed sinc (Lanczos)
    #[cfg_attr(feature = "clap", value(aliases = ["LanczosWindowedSinc", "lanczosWindowedSinc"]))]
    Sinc,
}

impl From<Interpolation> for apply::Interpolation {
    fn from(interpolation: Interpolation) -> apply::Interpolation {
        match interpolation {
            Interpolation::Linear => apply::Interpolation::Linear,
            Interpolation::Nearest => apply::Interpolation::Nearest,
            Interpolation::Bspline => apply::Interpolation::BSpline,
            Interpolation::Sinc => apply::Interpolation::WindowedSinc(apply::Window::Lanczos),
        }
    }
}
