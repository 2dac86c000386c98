//! The warped images of a registration: made on a GPU, where the warps are, or on the processor.

use antsreg_core::{AffineTransform, Transform, TransformChain, Volume};
use antsreg_kernels::{Backend, Error, apply};
use antsreg_syn as syn;

use super::args::Args;
use crate::cohort::{Kernel, Source};
use crate::interpolation::ImageInterpolation;

/// Which images are wanted.
#[derive(Debug, Clone, Copy)]
pub struct WantedImages {
    /// How they are read between voxels.
    pub how: ImageInterpolation,
    /// Whether the fixed image on the moving grid is one of them.
    pub inverse_warped: bool,
}

impl WantedImages {
    /// What the options ask for.
    pub fn new(args: &Args) -> WantedImages {
        WantedImages { how: args.interpolation, inverse_warped: !args.no_warped && !args.no_inverse }
    }
}

/// What a registration makes of the images.
#[derive(Debug)]
pub struct Images {
    /// The moving image on the fixed grid, by the start alone.
    pub at_start: Volume,
    /// The same by the result.
    pub warped: Volume,
    /// The fixed image on the moving grid, if it was asked for.
    pub inverse_warped: Option<Volume>,
}

/// Two images and the affines between them, fixed → moving, RAS mm.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// The image that stays.
    pub fixed: &'a Volume,
    /// The image that is brought to it.
    pub moving: &'a Volume,
    /// Where the registration started.
    pub initial: AffineTransform,
    /// What it found.
    pub affine: AffineTransform,
}

impl Images {
    /// Made by a backend, where that has kernels for the way of reading.
    pub fn by<B: Backend>(
        backend: &B,
        pair: &Pair,
        warps: Option<&syn::Warps<B>>,
        wanted: WantedImages,
    ) -> Result<Option<Images>, Error> {
        let Pair { fixed, moving, initial, affine } = pair;
        let (Some(kernel), Some(back)) = (Kernel::of(wanted.how), affine.inverse()) else { return Ok(None) };
        // Moving voxels → fixed ones.
        let map = fixed.grid.world_to_voxel().after(&back).after(&moving.grid.voxel_to_world());
        let Some(to_moving_voxels) = map.matrix.try_inverse() else { return Ok(None) };
        let source = Source::new(backend, moving, kernel)?;
        let mut out = backend.image(fixed.grid.shape)?;
        let at_start = source.onto(backend, &fixed.grid, None, initial, &mut out)?;
        let warped = source.onto(backend, &fixed.grid, warps.map(|warps| &warps.warp), affine, &mut out)?;
        drop((source, out));
        let inverse_warped = || {
            let field = |warps: &syn::Warps<B>| {
                let mut field = backend.field(moving.grid.shape)?;
                backend.resize_field(&warps.inverse_warp, &map, &to_moving_voxels, &mut field)?;
                Ok(field)
            };
            let field = warps.map(field).transpose()?;
            let mut out = backend.image(moving.grid.shape)?;
            Source::new(backend, fixed, kernel)?.onto(backend, &moving.grid, field.as_ref(), &back, &mut out)
        };
        let inverse_warped = wanted.inverse_warped.then(inverse_warped).transpose()?;
        Ok(Some(Images { at_start, warped, inverse_warped }))
    }

    /// Made by the processor, through the chains of the result there and back.
    pub fn here(pair: &Pair, [forward, backward]: [&TransformChain; 2], wanted: WantedImages) -> Images {
        let Pair { fixed, moving, initial, .. } = pair;
        let read = |image: &Volume, onto, chain: &_| apply::resample(image, onto, chain, wanted.how.into(), 0.0);
        let start = TransformChain::from(vec![Transform::Affine(*initial)]);
        Images {
            at_start: read(moving, &fixed.grid, &start),
            warped: read(moving, &fixed.grid, forward),
            inverse_warped: wanted.inverse_warped.then(|| read(fixed, &moving.grid, backward)),
        }
    }
}

#[cfg(test)]
mod tests {
    use antsreg_core::{DisplacementField, Grid};
    use antsreg_kernels::Cpu;
    use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

    use super::*;

    fn image(shape: [usize; 3], spacing: [f64; 3], turn: f64) -> Volume {
        let direction = Rotation3::from_euler_angles(turn, -0.2, 0.1).into_inner();
        let mut grid = Grid { shape, spacing: spacing.into(), origin: Point3::origin(), direction };
        grid.origin = Point3::origin() - (grid.centre() - Point3::origin());
        let voxels = (0..grid.len()).map(|n| 100.0 + 50.0 * (0.37 * (n * n) as f32).sin()).collect();
        Volume { grid, voxels }
    }

    /// Waves in voxels, zero on the border.
    fn waves(grid: &Grid, phase: f32) -> Vec<[f32; 3]> {
        let [nx, ny, nz] = grid.shape;
        let inner = |at: usize, n: usize| n == 1 || (at > 0 && at + 1 < n);
        let vector = |n: usize| {
            let (i, j, k) = (n % nx, n / nx % ny, n / (nx * ny));
            let inside = inner(i, nx) && inner(j, ny) && inner(k, nz);
            [0.4, 0.3, 0.5].map(|step| if inside { 1.5 * (step * (i + 2 * j + k) as f32 + phase).sin() } else { 0.0 })
        };
        (0..grid.len()).map(vector).collect()
    }

    #[test]
    fn a_backend_makes_the_processors_images() {
        let (fixed, moving) = (image([14, 10, 9], [1.0, 1.4, 1.2], -0.1), image([12, 9, 8], [1.5, 2.0, 1.0], 0.3));
        let affine = AffineTransform {
            matrix: Matrix3::new(1.05, 0.1, -0.03, -0.08, 0.95, 0.04, 0.02, -0.05, 1.1),
            translation: Vector3::new(0.7, -1.9, 1.3),
        };
        let initial = AffineTransform { matrix: Matrix3::identity(), translation: Vector3::new(0.3, 0.2, -0.4) };
        let pair = Pair { fixed: &fixed, moving: &moving, initial, affine };
        let vectors = [0.0, 1.0].map(|phase| waves(&fixed.grid, phase));
        let [warp, inverse_warp] =
            vectors.each_ref().map(|vectors| Cpu.upload_field(fixed.grid.shape, vectors).expect("a whole field"));
        let warps = syn::Warps { grid: fixed.grid.clone(), warp, inverse_warp };
        let displacement = |field: DisplacementField| Transform::Displacement(field);
        let forth = displacement(warps.download_warp(&Cpu).expect("it is there"));
        let back = displacement(warps.download_inverse_warp(&Cpu).expect("it is there"));
        let affines = [affine, affine.inverse().expect("it has an inverse")].map(Transform::Affine);
        for (warps, [forward, backward]) in [
            (None, affines.clone().map(|affine| vec![affine])),
            (Some(&warps), [vec![forth, affines[0].clone()], vec![affines[1].clone(), back]]),
        ] {
            let chains = [forward, backward].map(TransformChain::from);
            for how in [ImageInterpolation::Linear, ImageInterpolation::Bspline] {
                let wanted = WantedImages { how, inverse_warped: true };
                let expected = Images::here(&pair, chains.each_ref(), wanted);
                let found = Images::by(&Cpu, &pair, warps, wanted).expect("shapes fit").expect("a backend knows it");
                let volumes = |images: Images| {
                    [Some(images.at_start), Some(images.warped), images.inverse_warped]
                        .map(|image| image.expect("made"))
                };
                for (found, expected) in volumes(found).iter().zip(&volumes(expected)) {
                    assert_eq!(found.grid, expected.grid);
                    assert!(expected.voxels.iter().filter(|value| **value != 0.0).count() > 100);
                    // Coordinates in single precision, neighbours that differ by up to 100.
                    let worst = found.voxels.iter().zip(&expected.voxels).map(|(a, b)| (a - b).abs());
                    let worst = worst.fold(0.0, f32::max);
                    assert!(worst < 2e-3, "{worst} by {how:?}");
                }
            }
            let nearest = WantedImages { how: ImageInterpolation::Nearest, inverse_warped: false };
            assert!(Images::by(&Cpu, &pair, warps, nearest).expect("nothing is tried").is_none());
        }
    }
}
