//! The warped images of a registration: made on a GPU, where the warps are, or on the processor.

use antsreg_core::{AffineTransform, Grid, Transform, TransformChain, Volume};
use antsreg_kernels::{Backend, Error, apply};
use antsreg_syn as syn;

use super::record::Similarity;
use super::writing::WritingArgs;
use crate::compare;
use crate::error::CliError;
use crate::interpolation::ImageInterpolation;
use crate::on_device::{Kernel, Source};

/// Which images are wanted.
#[derive(Debug, Clone, Copy)]
pub struct WantedImages {
    /// How they are read between voxels.
    pub how: ImageInterpolation,
    /// Whether the moving image on the fixed grid is one of them.
    pub warped: bool,
    /// Whether the fixed image on the moving grid is one.
    pub inverse_warped: bool,
}

impl WantedImages {
    /// What the options ask for.
    pub fn new(writing: &WritingArgs) -> WantedImages {
        let warped = !writing.no_warped;
        WantedImages { how: writing.interpolation, warped, inverse_warped: warped && !writing.no_inverse }
    }
}

/// What a registration makes of the images.
#[derive(Debug)]
pub struct Images {
    /// The moving image on the fixed grid, if it was asked for.
    pub warped: Option<Volume>,
    /// The fixed image on the moving grid, likewise.
    pub inverse_warped: Option<Volume>,
    /// How alike the fixed and the moving image are.
    pub similarity: Similarity,
}

/// Two images and the affines between them, fixed → moving, RAS mm.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// The image that stays.
    pub fixed: &'a Volume,
    /// Its voxels that count.
    pub mask: Option<&'a Volume>,
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
        let Pair { fixed, mask, moving, initial, affine } = pair;
        let (Some(kernel), Some(back)) = (Kernel::of(wanted.how), affine.inverse()) else { return Ok(None) };
        let upload = |volume: &Volume| backend.upload(volume.grid.shape, &volume.voxels);
        let (fixed_voxels, mask) = (upload(fixed)?, mask.map(upload).transpose()?);
        let source = Source::new(backend, moving, kernel)?;
        let mut out = backend.image(fixed.grid.shape)?;
        let mut alike = |field, affine| {
            source.read(backend, &fixed.grid, field, affine, &mut out)?;
            let correlation = backend.correlation(&fixed_voxels, &out, mask.as_ref())?;
            Ok::<_, Error>(correlation.is_finite().then_some(correlation))
        };
        let similarity = Similarity {
            correlation_at_start: alike(None, initial)?,
            correlation: alike(warps.map(|warps| &warps.warp), affine)?,
        };
        let fetch = |out: &B::Image, grid: &Grid| {
            Ok::<_, Error>(Volume { grid: grid.clone(), voxels: backend.download(out)? })
        };
        let warped = wanted.warped.then(|| fetch(&out, &fixed.grid)).transpose()?;
        drop((source, out, mask));
        let inverse_warped = || {
            // On the moving grid, in its voxels.
            let field = |warps: &syn::Warps<B>| {
                let [from, to] = [&moving.grid, &fixed.grid];
                let map = to.world_to_voxel().after(&back).after(&from.voxel_to_world());
                let to_moving_voxels = from.world_to_voxel().after(affine).after(&to.voxel_to_world()).matrix;
                let mut field = backend.field(moving.grid.shape)?;
                backend.resize_field(&warps.inverse_warp, &map, &to_moving_voxels, &mut field)?;
                Ok(field)
            };
            let field = warps.map(field).transpose()?;
            let source = Source::of(backend, fixed_voxels, &fixed.grid, kernel)?;
            let mut out = backend.image(moving.grid.shape)?;
            source.read(backend, &moving.grid, field.as_ref(), &back, &mut out)?;
            fetch(&out, &moving.grid)
        };
        let inverse_warped = wanted.inverse_warped.then(inverse_warped).transpose()?;
        Ok(Some(Images { warped, inverse_warped, similarity }))
    }

    /// Made by the processor, through the chains of the result there and back.
    pub fn here(
        pair: &Pair,
        [forward, backward]: [&TransformChain; 2],
        wanted: WantedImages,
    ) -> Result<Images, CliError> {
        let Pair { fixed, mask, moving, initial, .. } = pair;
        let read = |image: &Volume, onto, chain: &_| apply::resample(image, onto, chain, wanted.how.into(), 0.0);
        let start = TransformChain::from(vec![Transform::Affine(*initial)]);
        let correlation_at_start = compare::correlation(fixed, &read(moving, &fixed.grid, &start), *mask)?;
        let warped = read(moving, &fixed.grid, forward);
        let correlation = compare::correlation(fixed, &warped, *mask)?;
        let inverse_warped = wanted.inverse_warped.then(|| read(fixed, &moving.grid, backward));
        let warped = wanted.warped.then_some(warped);
        Ok(Images { warped, inverse_warped, similarity: Similarity { correlation_at_start, correlation } })
    }
}

#[cfg(test)]
mod tests {
    use antsreg_core::DisplacementField;
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

    /// Waves in voxels, zero on the border, in the plane of a slice.
    fn waves(grid: &Grid, phase: f32) -> Vec<[f32; 3]> {
        let [nx, ny, nz] = grid.shape;
        let inner = |at: usize, n: usize| n == 1 || (at > 0 && at + 1 < n);
        let vector = |n: usize| {
            let (i, j, k) = (n % nx, n / nx % ny, n / (nx * ny));
            let inside = inner(i, nx) && inner(j, ny) && inner(k, nz);
            let wave = |step: f32| if inside { 1.5 * (step * (i + 2 * j + k) as f32 + phase).sin() } else { 0.0 };
            [wave(0.4), wave(0.3), if nz > 1 { wave(0.5) } else { 0.0 }]
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
        check(&fixed, &moving, affine, Vector3::new(0.3, 0.2, -0.4));
    }

    #[test]
    fn a_backend_makes_the_processors_slices() {
        let (fixed, moving) = (image([34, 20, 1], [1.0, 1.4, 3.0], 0.2), image([28, 22, 1], [1.2, 1.3, 2.0], 0.2));
        // Within their plane.
        let plane = fixed.grid.direction;
        let turn = plane * Rotation3::from_euler_angles(0.0, 0.0, 0.1).matrix() * plane.transpose();
        let affine = AffineTransform { matrix: turn, translation: plane * Vector3::new(0.7, -1.9, 0.0) };
        check(&fixed, &moving, affine, plane * Vector3::new(0.37, 0.2, 0.0));
    }

    /// What a backend makes of two images is what the processor makes.
    fn check(fixed: &Volume, moving: &Volume, affine: AffineTransform, initial: Vector3<f64>) {
        let initial = AffineTransform { matrix: Matrix3::identity(), translation: initial };
        let mut mask = Volume::filled(fixed.grid.clone(), 1.0);
        mask.voxels.iter_mut().step_by(3).for_each(|value| *value = 0.0);
        let pair = |mask| Pair { fixed, mask, moving, initial, affine };
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
            for how in [ImageInterpolation::Linear, ImageInterpolation::Bspline, ImageInterpolation::Sinc] {
                let wanted = WantedImages { how, warped: true, inverse_warped: true };
                let pair = pair((how == ImageInterpolation::Bspline).then_some(&mask));
                let expected = Images::here(&pair, chains.each_ref(), wanted).expect("one grid");
                let found = Images::by(&Cpu, &pair, warps, wanted).expect("shapes fit").expect("a backend knows it");
                let alike = |images: &Images| {
                    let Similarity { correlation_at_start, correlation } = images.similarity;
                    [correlation_at_start, correlation].map(|correlation| correlation.expect("they vary"))
                };
                let (alike, expected_alike) = (alike(&found), alike(&expected));
                assert!((0..2).all(|n| (alike[n] - expected_alike[n]).abs() < 1e-5), "{alike:?}, {expected_alike:?}");
                let volumes =
                    |images: Images| [images.warped, images.inverse_warped].map(|image| image.expect("made"));
                for (found, expected) in volumes(found).iter().zip(&volumes(expected)) {
                    assert_eq!(found.grid, expected.grid);
                    assert!(expected.voxels.iter().filter(|value| **value != 0.0).count() > 100);
                    // Coordinates in single precision, neighbours that differ by up to 100.
                    let worst = found.voxels.iter().zip(&expected.voxels).map(|(a, b)| (a - b).abs());
                    let worst = worst.fold(0.0, f32::max);
                    assert!(worst < 2e-3, "{worst} by {how:?}");
                }
            }
            let nearest = WantedImages { how: ImageInterpolation::Nearest, warped: true, inverse_warped: false };
            assert!(Images::by(&Cpu, &pair(None), warps, nearest).expect("nothing is tried").is_none());
        }
    }
}
