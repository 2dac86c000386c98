//! A bias field: the exponential of a B-spline over an image, evaluated at the image's voxels.

use antsreg_core::{Grid, Volume};
use antsreg_kernels::bias::{BiasBackend, MeshAxis};
use antsreg_register::{Computation, Device};
use serde::Serialize;

use super::Error;
use super::axis::Axis;
use super::lattice::Lattice;

/// Number of iterations and convergence of the estimation of a bias field, on one resolution level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LevelOutcome {
    /// Number of iterations that N4 made on this level.
    pub iterations: usize,
    /// Change of the bias field in the last iteration: coefficient of variation of the ratio of the field's factors
    /// before and after the iteration.
    pub change: f64,
}

/// Bias field of an image: the factor by which the intensity of each voxel is shaded. It is the exponential of a
/// B-spline.
#[derive(Debug, Clone, PartialEq)]
pub struct BiasField {
    pub(super) axes: [Axis; 3],
    pub(super) lattice: Lattice,
    pub(super) levels: Vec<LevelOutcome>,
}

impl BiasField {
    /// Iterations and convergence of each resolution level, coarsest level first.
    pub fn levels(&self) -> &[LevelOutcome] {
        &self.levels
    }

    /// Computes the factor of the bias field at each voxel of `grid`, the grid of the image for which the bias field
    /// was found.
    ///
    /// # Errors
    /// A device that fails.
    pub fn on(&self, grid: &Grid, device: &Device) -> Result<Volume, Error> {
        let axes = self.mesh_axes(grid.shape)?;
        let voxels = device.run(Factors { axes, field: &self.lattice.values, divided: None })?;
        Ok(Volume { grid: grid.clone(), voxels })
    }

    /// Returns the image divided by the factor of the bias field at each voxel. The bias field must have been found for
    /// the same image.
    ///
    /// # Errors
    /// A device that fails.
    pub fn divided(&self, image: &Volume, device: &Device) -> Result<Volume, Error> {
        let axes = self.mesh_axes(image.grid.shape)?;
        let voxels = device.run(Factors { axes, field: &self.lattice.values, divided: Some(&image.voxels) })?;
        Ok(Volume { grid: image.grid.clone(), voxels })
    }

    /// Returns, for each axis of the image, which control points of the B-spline influence each voxel along this axis.
    fn mesh_axes(&self, shape: [usize; 3]) -> Result<[MeshAxis; 3], Error> {
        let [x, y, z] = [0, 1, 2].map(|n| {
            let reaches = (0..shape[n]).map(|voxel| self.axes[n].reach(voxel, self.lattice.elements[n]));
            MeshAxis::new(reaches.collect(), self.lattice.points()[n])
        });
        Ok([x?, y?, z?])
    }
}

/// A task for a device: computes the factors of a bias field, or divides an image by these factors.
struct Factors<'a> {
    axes: [MeshAxis; 3],
    field: &'a [f64],
    /// Intensities of the image that is divided by the bias field; `None` if only the factors of the field are
    /// computed.
    divided: Option<&'a [f32]>,
}

impl Computation for Factors<'_> {
    type Output = Vec<f32>;
    type Error = Error;

    fn run<B: BiasBackend>(self, backend: &B) -> Result<Vec<f32>, Error> {
        let Factors { axes, field, divided } = self;
        let shape = axes.each_ref().map(|axis| axis.reaches().len());
        let image = match divided {
            Some(voxels) => {
                let mut image = backend.upload(shape, voxels)?;
                backend.bias_divide(&axes, field, &mut image)?;
                image
            }
            None => {
                let mut image = backend.image(shape)?;
                backend.bias_factors(&axes, field, &mut image)?;
                image
            }
        };
        Ok(backend.download(&image)?)
    }
}
