//! Images and displacement fields on a device: upload, resampling, download.

use antsreg_core::{AffineTransform, DisplacementField, Grid, Volume};
use antsreg_kernels::{Backend, Error, Sampling};

use crate::Interpolation;

/// An interpolation of voxel values for which every backend (CPU and CUDA) has a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// Trilinear.
    Linear,
    /// Cubic B-spline through the voxels.
    Spline,
    /// Windowed sinc.
    Sinc,
    /// Nearest-neighbour interpolation. Half-way between two voxels, the choice of the voxel depends on the device's
    /// rounding.
    Nearest,
}

impl From<Interpolation> for Kernel {
    fn from(interpolation: Interpolation) -> Kernel {
        match interpolation {
            Interpolation::Linear => Kernel::Linear,
            Interpolation::Bspline => Kernel::Spline,
            Interpolation::Sinc => Kernel::Sinc,
            Interpolation::Nearest => Kernel::Nearest,
        }
    }
}

impl Kernel {
    /// Returns the kernel of an interpolation. `None` for nearest neighbour, because CPU and GPU may choose different
    /// voxels half-way between two voxels.
    pub fn of(interpolation: Interpolation) -> Option<Kernel> {
        Some(Kernel::from(interpolation)).filter(|kernel| *kernel != Kernel::Nearest)
    }
}

/// An image in the memory of a device, ready to be resampled on a grid.
pub struct Sampler<B: Backend> {
    /// The voxels of the image, or the coefficients of a spline through these voxels.
    values: B::Image,
    world_to_voxel: AffineTransform,
    kernel: Kernel,
}

impl<B: Backend> Sampler<B> {
    /// Uploads an image to a device and prepares it there for resampling.
    pub fn new(backend: &B, image: &Volume, kernel: Kernel) -> Result<Self, Error> {
        Sampler::of(backend, backend.upload(image.grid.shape, &image.voxels)?, &image.grid, kernel)
    }

    /// Prepares an image for resampling. The voxels of the image are on the device already.
    pub fn of(backend: &B, voxels: B::Image, grid: &Grid, kernel: Kernel) -> Result<Self, Error> {
        let values = match kernel {
            Kernel::Linear | Kernel::Sinc | Kernel::Nearest => voxels,
            Kernel::Spline => backend.spline_coefficients(&voxels)?,
        };
        Ok(Sampler { values, world_to_voxel: grid.world_to_voxel(), kernel })
    }

    /// Resamples the image on a grid. A point of the grid is mapped by `field` (voxels of that grid), if given, then by
    /// `affine` (RAS mm) to the image's world. The result is 0 outside the image. `out` must have the grid's shape.
    ///
    /// # Errors
    /// A device that fails.
    pub fn read(
        &self,
        backend: &B,
        grid: &Grid,
        field: Option<&B::Field>,
        affine: &AffineTransform,
        out: &mut B::Image,
    ) -> Result<(), Error> {
        let map = self.world_to_voxel.after(affine).after(&grid.voxel_to_world());
        let zeros;
        let field = match (self.kernel, field) {
            (Kernel::Linear, None) => return backend.resample(&self.values, &map, 0.0, out),
            (_, Some(field)) => field,
            (_, None) => {
                zeros = backend.field(grid.shape)?;
                &zeros
            }
        };
        match self.kernel {
            Kernel::Linear => backend.warp(&self.values, field, &map, Sampling::Linear, out),
            Kernel::Spline => backend.warp_spline(&self.values, field, &map, out),
            Kernel::Sinc => backend.warp_sinc(&self.values, field, &map, out),
            Kernel::Nearest => backend.warp(&self.values, field, &map, Sampling::Nearest, out),
        }
    }
}

/// Uploads a displacement field (RAS mm); on the device its vectors are in voxels of its grid.
///
/// # Errors
/// A device that fails.
pub fn upload_field<B: Backend>(backend: &B, field: &DisplacementField) -> Result<B::Field, Error> {
    let to_voxels = field.grid.world_to_voxel().matrix;
    backend.upload_field_in(field.grid.shape, &field.vectors, &to_voxels.cast())
}

/// Downloads a field in voxels of `grid` as displacements in RAS mm.
///
/// # Errors
/// A device that fails.
pub fn download_field<B: Backend>(backend: &B, grid: &Grid, field: &B::Field) -> Result<DisplacementField, Error> {
    let vectors = backend.download_field_in(field, &grid.voxel_to_world().matrix.cast(), None)?;
    Ok(DisplacementField { grid: grid.clone(), vectors })
}

#[cfg(test)]
mod tests {
    use antsreg_core::{Transform, TransformChain};
    use antsreg_kernels::ops::Memory;
    use antsreg_kernels::{Cpu, apply};
    use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

    use super::*;

    fn grid(shape: [usize; 3], spacing: [f64; 3], turn: f64) -> Grid {
        let direction = Rotation3::from_euler_angles(turn, -0.2, 0.1).into_inner();
        let mut grid = Grid { shape, spacing: spacing.into(), origin: Point3::origin(), direction };
        grid.origin = Point3::origin() - (grid.centre() - Point3::origin());
        grid
    }

    fn wave(n: usize) -> f32 {
        (0.37 * n as f32).sin()
    }

    fn images() -> Vec<Volume> {
        [([12, 9, 8], 0.3), ([7, 11, 10], 0.0)]
            .map(|(shape, turn)| {
                let grid = grid(shape, [1.5, 2.0, 1.0], turn);
                let voxels = (0..grid.len()).map(|n| 100.0 + 50.0 * wave(n * n)).collect();
                Volume { grid, voxels }
            })
            .into()
    }

    fn field(grid: &Grid) -> DisplacementField {
        let vectors = (0..grid.len()).map(|n| [2.0 * wave(n), wave(n + 7), -1.5 * wave(n + 11)]).collect();
        DisplacementField { grid: grid.clone(), vectors }
    }

    #[test]
    fn a_backend_resamples_as_apply_does() {
        let (images, onto) = (images(), grid([14, 10, 9], [1.0, 1.4, 1.2], -0.1));
        let affine = AffineTransform {
            matrix: Matrix3::new(1.05, 0.1, -0.03, -0.08, 0.95, 0.04, 0.02, -0.05, 1.1),
            translation: Vector3::new(0.7, -1.9, 1.3),
        };
        let warp = field(&onto);
        let on_device = upload_field(&Cpu, &warp).expect("it fits");
        let mut out = Cpu.image(onto.shape).expect("it fits");
        for (field, affine) in [(None, AffineTransform::identity()), (None, affine), (Some(&on_device), affine)] {
            let warp = field.map(|_| Transform::Displacement(warp.clone()));
            let chain = TransformChain::from(warp.into_iter().chain([Transform::Affine(affine)]).collect::<Vec<_>>());
            for how in [Interpolation::Linear, Interpolation::Bspline, Interpolation::Sinc] {
                for image in &images {
                    let source = Sampler::new(&Cpu, image, how.into()).expect("it fits");
                    source.read(&Cpu, &onto, field, &affine, &mut out).expect("shapes fit");
                    let found = Cpu.download(&out).expect("an image");
                    let expected = apply::resample(image, &onto, &chain, how.into(), 0.0).voxels;
                    assert!(expected.iter().filter(|value| **value != 0.0).count() > 100);
                    // The tolerance allows for the rounding of coordinates to single precision. Neighbouring voxels
                    // differ by up to 100, so a small error of a coordinate changes the interpolated value.
                    let worst = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                    assert!(worst < 2e-3, "{worst} by {how:?}");
                }
            }
        }
    }
}
