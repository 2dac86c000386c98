//! Images onto a grid, read where an engine works: on a GPU by its kernels, where it has them for the way of reading.

use antsreg_core::{AffineTransform, DisplacementField, Grid, Transform, TransformChain, Volume};
use antsreg_kernels::{Backend, Error, Sampling, apply};

use super::engine::in_voxels;
use crate::interpolation::ImageInterpolation;

/// Grids whose voxels lie this close to each other, in voxels, are one.
const SAME_GRID_VOXELS: f64 = 1e-4;

/// Images of one space, and how they come onto a grid: zero beyond them.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// What is read.
    pub images: &'a [Volume],
    /// Where to.
    pub onto: &'a Grid,
    /// Grid → images.
    pub chain: &'a TransformChain,
    /// Between voxels.
    pub how: ImageInterpolation,
}

/// What a backend does in one step.
pub struct Step<'a> {
    reading: &'a Reading<'a>,
    /// Acts first, on the grid.
    displacement: Option<&'a DisplacementField>,
    /// Acts then.
    affine: AffineTransform,
    kernel: Kernel,
}

/// Ways of reading between voxels that backends have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// Trilinear.
    Linear,
    /// Cubic B-spline through the voxels.
    Spline,
    /// Windowed sinc.
    Sinc,
}

impl Kernel {
    /// What was typed, if it is one of them.
    pub fn of(how: ImageInterpolation) -> Option<Kernel> {
        match how {
            ImageInterpolation::Linear => Some(Kernel::Linear),
            ImageInterpolation::Bspline => Some(Kernel::Spline),
            ImageInterpolation::Sinc => Some(Kernel::Sinc),
            ImageInterpolation::Nearest => None,
        }
    }
}

/// An image on a device, ready to be read between voxels.
pub struct Source<B: Backend> {
    /// Voxels, or what the kernel makes of them.
    values: B::Image,
    world_to_voxel: AffineTransform,
    kernel: Kernel,
}

impl<B: Backend> Source<B> {
    /// Brings an image there.
    pub fn new(backend: &B, image: &Volume, kernel: Kernel) -> Result<Self, Error> {
        Source::of(backend, backend.upload(image.grid.shape, &image.voxels)?, &image.grid, kernel)
    }

    /// Of voxels that are there already.
    pub fn of(backend: &B, voxels: B::Image, grid: &Grid, kernel: Kernel) -> Result<Self, Error> {
        let values = match kernel {
            Kernel::Linear | Kernel::Sinc => voxels,
            Kernel::Spline => backend.spline_coefficients(&voxels)?,
        };
        Ok(Source { values, world_to_voxel: grid.world_to_voxel(), kernel })
    }

    /// Gives `out` the image on a grid: its points are moved by a field in voxels of that grid, if there is one, then taken
    /// to the image's world by `affine`. Zero beyond it. `out` has the grid's shape.
    pub fn read(
        &self,
        backend: &B,
        grid: &Grid,
        field: Option<&B::Field>,
        affine: &AffineTransform,
        out: &mut B::Image,
    ) -> Result<(), Error> {
        let map = self.world_to_voxel.after(affine).after(&grid.voxel_to_world());
        match (self.kernel, field) {
            (Kernel::Linear, Some(field)) => backend.warp(&self.values, field, &map, Sampling::Linear, out),
            (Kernel::Linear, None) => backend.resample(&self.values, &map, 0.0, out),
            (Kernel::Spline, Some(field)) => backend.warp_spline(&self.values, field, &map, out),
            (Kernel::Spline, None) => backend.warp_spline(&self.values, &backend.field(grid.shape)?, &map, out),
            (Kernel::Sinc, Some(field)) => backend.warp_sinc(&self.values, field, &map, out),
            (Kernel::Sinc, None) => backend.warp_sinc(&self.values, &backend.field(grid.shape)?, &map, out),
        }
    }
}

impl Reading<'_> {
    /// On the processor.
    pub fn here(&self) -> Vec<Volume> {
        let Reading { images, onto, chain, how } = self;
        images.iter().map(|image| apply::resample(image, onto, chain, (*how).into(), 0.0)).collect()
    }

    /// The same as a backend does it, where that has kernels for it.
    pub fn step(&self) -> Option<Step<'_>> {
        let kernel = Kernel::of(self.how)?;
        let mut steps = self.chain.steps.iter().map(|step| &step.transform).peekable();
        let displacement = steps.next_if(|first| matches!(first, Transform::Displacement(_)));
        let displacement = match displacement {
            Some(Transform::Displacement(field)) => Some(field),
            _ => None,
        };
        let mut affine = AffineTransform::identity();
        for transform in steps {
            let Transform::Affine(next) = transform else { return None };
            affine = next.after(&affine);
        }
        let tolerance_mm = SAME_GRID_VOXELS * self.onto.spacing.min();
        let there = displacement.is_none_or(|field| field.grid.matches(self.onto, tolerance_mm));
        there.then_some(Step { reading: self, displacement, affine, kernel })
    }
}

impl Step<'_> {
    /// Memory of a GPU that it takes.
    pub fn bytes(&self) -> u64 {
        let Reading { images, onto, .. } = self.reading;
        let spline = self.kernel == Kernel::Spline;
        // A displacement, beside it in the host's order while it is uploaded; what comes out; one image at a time, and its
        // coefficients.
        let largest = images.iter().map(|image| image.voxels.len()).max().unwrap_or(0);
        let field = if self.displacement.is_some() || self.kernel != Kernel::Linear { 3 * onto.len() } else { 0 };
        4 * (field + field.max(onto.len() + largest * (1 + usize::from(spline)))) as u64
    }

    /// Does it.
    pub fn run<B: Backend>(&self, backend: &B) -> Result<Vec<Volume>, Error> {
        let Step { reading: Reading { images, onto, .. }, displacement, affine, kernel } = self;
        let field = displacement.map(|field| in_voxels(backend, field)).transpose()?;
        let mut out = backend.image(onto.shape)?;
        let read = |image| {
            Source::new(backend, image, *kernel)?.read(backend, onto, field.as_ref(), affine, &mut out)?;
            Ok(Volume { grid: (*onto).clone(), voxels: backend.download(&out)? })
        };
        images.iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::Cpu;
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
    fn a_backend_reads_what_the_processor_reads() {
        let (images, onto) = (images(), grid([14, 10, 9], [1.0, 1.4, 1.2], -0.1));
        let affine = AffineTransform {
            matrix: Matrix3::new(1.05, 0.1, -0.03, -0.08, 0.95, 0.04, 0.02, -0.05, 1.1),
            translation: Vector3::new(0.7, -1.9, 1.3),
        };
        let affine = || Transform::Affine(affine);
        let chains = [vec![], vec![affine()], vec![Transform::Displacement(field(&onto)), affine(), affine()]];
        for chain in chains.map(TransformChain::from) {
            for how in [ImageInterpolation::Linear, ImageInterpolation::Bspline, ImageInterpolation::Sinc] {
                let reading = Reading { images: &images, onto: &onto, chain: &chain, how };
                let found = reading.step().expect("a backend knows it").run(&Cpu).expect("shapes fit");
                for (found, expected) in found.iter().zip(reading.here()) {
                    assert_eq!(found.grid, expected.grid);
                    assert!(expected.voxels.iter().filter(|value| **value != 0.0).count() > 100);
                    // Coordinates in single precision, neighbours that differ by up to 100.
                    let worst = found.voxels.iter().zip(&expected.voxels).map(|(a, b)| (a - b).abs());
                    let worst = worst.fold(0.0, f32::max);
                    assert!(worst < 2e-3, "{worst} by {how:?}");
                }
            }
        }
    }

    #[test]
    fn what_a_backend_does_not_know_is_left_to_the_processor() {
        let (images, onto) = (images(), grid([14, 10, 9], [1.0, 1.4, 1.2], -0.1));
        let elsewhere = Transform::Displacement(field(&grid([14, 10, 9], [1.0, 1.4, 1.2], 0.0)));
        let later = vec![Transform::Affine(AffineTransform::identity()), Transform::Displacement(field(&onto))];
        for chain in [vec![elsewhere], later].map(TransformChain::from) {
            let how = ImageInterpolation::Linear;
            assert!(Reading { images: &images, onto: &onto, chain: &chain, how }.step().is_none());
        }
        let chain = TransformChain::new();
        let how = ImageInterpolation::Nearest;
        assert!(Reading { images: &images, onto: &onto, chain: &chain, how }.step().is_none());
    }
}
