//! Operations of N4, the estimation of a bias field (Tustison et al. 2010, IEEE TMI 29:1310).
//!
//! The logarithm of an image is the sum of two unknowns: the logarithm without shading, and a smooth field. The field
//! is found from samples, the voxels of a coarser grid. A sample has the logarithm of its intensity and a weight, 0 if
//! the sample does not count. All results have the same bits on every device.

pub mod exponential;
pub(crate) mod histogram;
mod mesh;
pub(crate) mod sums;

pub use histogram::{Histogram, Sharpened};
pub(crate) use mesh::check as check_mesh;
pub use mesh::{MeshAxis, Reach};

use crate::{Backend, Error};

/// The samples from which N4 estimates a bias field: voxels of a coarser grid, each with a weight.
#[derive(Debug)]
pub struct Samples<'a, I> {
    /// Logarithm of the intensity of each sample.
    pub logarithms: &'a I,
    /// Weight of each sample in the fit of the bias field. Only samples with a weight above zero count.
    pub weights: &'a I,
}

impl<I> Clone for Samples<'_, I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I> Copy for Samples<'_, I> {}

/// Result of one iteration of N4: the change of the field, and the new histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Σ d and Σ d² over the samples with a weight above zero. Here d is the relative change of the bias factor, the
    /// exponential of the field, by the iteration.
    pub changes: [f64; 2],
    /// Histogram of the logarithms of the samples' intensities minus the bias field, after the iteration.
    pub histogram: Histogram,
}

/// Operations of N4 on one device, the CPU or a GPU.
pub trait BiasBackend: Backend {
    /// B-spline mesh over the samples of N4, with the control points of the present bias field.
    type Mesh;

    /// Returns the histogram of `left`: the logarithms of the samples' intensities minus the present bias field. Only
    /// samples with a weight above zero count.
    ///
    /// # Errors
    /// Volumes of different shapes; fewer than two bins; a device that fails.
    fn bias_histogram(&self, left: &Self::Image, weights: &Self::Image, bins: usize) -> Result<Histogram, Error>;

    /// Makes the B-spline mesh of N4 over samples with these weights. `control_points` are those of the present bias
    /// field, the first axis fastest.
    ///
    /// # Errors
    /// Axes or values that do not fit the weights or each other; a device that fails.
    fn bias_mesh(
        &self,
        weights: &Self::Image,
        axes: &[MeshAxis; 3],
        control_points: &[f64],
    ) -> Result<Self::Mesh, Error>;

    /// Does one iteration of N4. `left` is the logarithm of each sample's intensity minus the present bias field. The
    /// residual of a sample is left − E\[u | left\], where u is the logarithm without shading. Fits a B-spline to the
    /// residuals by Lee, Wolberg and Shin (1997, IEEE TVCG 3:228), and adds this spline to the bias field. Then sets
    /// `left` to the logarithms minus the new field, for the samples with a weight above zero.
    ///
    /// A control point of the result is Σ w·b²·(b·r/Σ b²) / Σ w·b² over the samples that it influences. Here r is the
    /// residual of a sample, w its weight, and b the product of the control point's B-spline weights along the three
    /// axes. The inner sum is over the control points that influence the sample.
    ///
    /// # Errors
    /// Volumes of different shapes; a table of fewer than two bins; a device that fails.
    fn bias_step(
        &self,
        samples: Samples<'_, Self::Image>,
        sharpened: &Sharpened,
        mesh: &mut Self::Mesh,
        left: &mut Self::Image,
    ) -> Result<Step, Error>;

    /// Returns the control points of the present bias field of a mesh, the first axis fastest.
    ///
    /// # Errors
    /// A device that fails.
    fn bias_field(&self, mesh: &Self::Mesh) -> Result<Vec<f64>, Error>;

    /// Divides each voxel of an image by the exponential of the bias field with these control points.
    ///
    /// # Errors
    /// Axes or values that do not fit the image or each other; a device that fails.
    fn bias_divide(&self, axes: &[MeshAxis; 3], control_points: &[f64], image: &mut Self::Image)
    -> Result<(), Error>;

    /// Sets each voxel of an image to the exponential of the bias field with these control points.
    ///
    /// # Errors
    /// Those of [`bias_divide`](BiasBackend::bias_divide).
    fn bias_factors(
        &self,
        axes: &[MeshAxis; 3],
        control_points: &[f64],
        image: &mut Self::Image,
    ) -> Result<(), Error>;
}
