use antsreg_core::DisplacementField;
use antsreg_kernels::Cpu;
use antsreg_kernels::ops::Memory;
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

use super::*;
use crate::Interpolation;

fn image(shape: [usize; 3], spacing: [f64; 3], turn: f64) -> Volume {
    let direction = Rotation3::from_euler_angles(turn, -0.2, 0.1).into_inner();
    let mut grid = Grid { shape, spacing: spacing.into(), origin: Point3::origin(), direction };
    grid.origin = Point3::origin() - (grid.centre() - Point3::origin());
    let voxels = (0..grid.len()).map(|n| 100.0 + 50.0 * (0.37 * (n * n) as f32).sin()).collect();
    Volume { grid, voxels }
}

/// Makes test displacements in voxels: waves that are zero at the border. On a slice, the displacements stay in its
/// plane.
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
fn a_backend_gives_the_cpus_images() {
    let (fixed, moving) = (image([14, 10, 9], [1.0, 1.4, 1.2], -0.1), image([12, 9, 8], [1.5, 2.0, 1.0], 0.3));
    let affine = AffineTransform {
        matrix: Matrix3::new(1.05, 0.1, -0.03, -0.08, 0.95, 0.04, 0.02, -0.05, 1.1),
        translation: Vector3::new(0.7, -1.9, 1.3),
    };
    check(&fixed, &moving, affine, Vector3::new(0.3, 0.2, -0.4));
}

#[test]
fn a_backend_gives_the_cpus_slices() {
    let (fixed, moving) = (image([34, 20, 1], [1.0, 1.4, 3.0], 0.2), image([28, 22, 1], [1.2, 1.3, 2.0], 0.2));
    // The affine keeps all points in the plane of the slice.
    let plane = fixed.grid.direction;
    let turn = plane * Rotation3::from_euler_angles(0.0, 0.0, 0.1).matrix() * plane.transpose();
    let affine = AffineTransform { matrix: turn, translation: plane * Vector3::new(0.7, -1.9, 0.0) };
    check(&fixed, &moving, affine, plane * Vector3::new(0.37, 0.2, 0.0));
}

/// Checks that a backend and the double-precision computation on the CPU give the same warped images and correlations.
fn check(fixed: &Volume, moving: &Volume, affine: AffineTransform, initial: Vector3<f64>) {
    let [fixed_image, moving_image] = [fixed, moving].map(|volume| Image::from(volume.clone()));
    let initial = AffineTransform { matrix: Matrix3::identity(), translation: initial };
    let mut mask = Volume::filled(fixed.grid.clone(), 1.0);
    mask.voxels.iter_mut().step_by(3).for_each(|value| *value = 0.0);
    let pair = |mask: Option<&Volume>| AlignedImages {
        fixed: &fixed_image,
        mask: mask.cloned().map(Cow::Owned),
        moving: &moving_image,
        lesion: None,
        start: initial,
        affine,
    };
    let vectors = [0.0, 1.0].map(|phase| waves(&fixed.grid, phase));
    let [warp, inverse_warp] =
        vectors.each_ref().map(|vectors| Cpu.upload_field(fixed.grid.shape, vectors).expect("a whole field"));
    let warps = syn::Warps { grid: fixed.grid.clone(), warp, inverse_warp, step_mm: None, jacobians: None };
    let displacement = |field: DisplacementField| Transform::Displacement(field);
    let forth = displacement(warps.download_warp(&Cpu).expect("it is there"));
    let back = displacement(warps.download_inverse_warp(&Cpu).expect("it is there"));
    let affines = [affine, affine.inverse().expect("it has an inverse")].map(Transform::Affine);
    for (warps, [forward, backward]) in [
        (None, affines.clone().map(|affine| vec![affine])),
        (Some(&warps), [vec![forth, affines[0].clone()], vec![affines[1].clone(), back]]),
    ] {
        let chains = [forward, backward].map(TransformChain::from);
        for how in [Interpolation::Linear, Interpolation::Bspline, Interpolation::Sinc] {
            let wanted = WarpedImages { interpolation: how, warped: true, inverse_warped: true };
            let pair = pair((how == Interpolation::Bspline).then_some(&mask));
            let expected = Images::on_cpu(&pair, chains.each_ref(), wanted).expect("they are in main memory");
            let found =
                Images::on_device(&Cpu, &pair, warps, wanted).expect("shapes fit").expect("a backend knows it");
            let found = found.download(&Cpu, [&fixed.grid, &moving.grid]).expect("they are there");
            let alike = |images: &Images| {
                let Similarity { correlation_at_start, correlation } = images.similarity;
                [correlation_at_start, correlation].map(|correlation| correlation.expect("they vary"))
            };
            let (alike, expected_alike) = (alike(&found), alike(&expected));
            assert!((0..2).all(|n| (alike[n] - expected_alike[n]).abs() < 1e-5), "{alike:?}, {expected_alike:?}");
            let volumes = |images: Images| [images.warped, images.inverse_warped].map(|image| image.expect("made"));
            for (found, expected) in volumes(found).iter().zip(&volumes(expected)) {
                assert_eq!(found.grid, expected.grid);
                assert!(expected.voxels.iter().filter(|value| **value != 0.0).count() > 100);
                // The tolerance allows for the rounding of coordinates to single precision. Neighbouring voxels differ
                // by up to 100, so a small error of a coordinate changes the interpolated value.
                let worst = found.voxels.iter().zip(&expected.voxels).map(|(a, b)| (a - b).abs());
                let worst = worst.fold(0.0, f32::max);
                assert!(worst < 2e-3, "{worst} by {how:?}");
            }
        }
        let nearest = WarpedImages { interpolation: Interpolation::Nearest, warped: true, inverse_warped: false };
        assert!(Images::on_device(&Cpu, &pair(None), warps, nearest).expect("nothing is tried").is_none());
    }
}

#[test]
fn images_are_compared_where_both_are() {
    let fixed = image([14, 10, 9], [1.0, 1.4, 1.2], 0.0);
    // The moving image is the central part of the fixed image, with 500 added to the intensities.
    let from = [3, 2, 2];
    let mut grid = Grid { shape: [7, 5, 4], ..fixed.grid.clone() };
    let corner = Point3::from(Vector3::from_fn(|axis, _| from[axis] as f64));
    grid.origin = fixed.grid.voxel_to_world().apply(&corner);
    let voxel = |n: usize| {
        let at = [n % 7 + from[0], n / 7 % 5 + from[1], n / 35 + from[2]];
        500.0 + fixed.voxels[at[0] + 14 * (at[1] + 10 * at[2])]
    };
    let moving = Volume { voxels: (0..grid.len()).map(voxel).collect(), grid };
    let identity = AffineTransform::identity();
    let away = AffineTransform { translation: Vector3::new(1e3, 0.0, 0.0), ..identity };
    let mut mask = Volume::filled(fixed.grid.clone(), 1.0);
    mask.voxels.iter_mut().step_by(3).for_each(|value| *value = 0.0);
    let grids = [fixed.grid.clone(), moving.grid.clone()];
    let [fixed, moving] = [fixed, moving].map(Image::from);
    for mask in [None, Some(&mask)] {
        let mask = mask.map(Cow::Borrowed);
        let pair =
            AlignedImages { fixed: &fixed, mask, moving: &moving, lesion: None, start: away, affine: identity };
        let chains = [identity, identity].map(|affine| TransformChain::from(vec![Transform::Affine(affine)]));
        let wanted = WarpedImages { interpolation: Interpolation::Linear, warped: true, inverse_warped: false };
        let on_device =
            Images::on_device(&Cpu, &pair, None, wanted).expect("shapes fit").expect("a backend knows it");
        let downloaded = on_device.download(&Cpu, grids.each_ref());
        for images in [downloaded, Images::on_cpu(&pair, chains.each_ref(), wanted)] {
            let images = images.expect("in main memory");
            let Similarity { correlation_at_start, correlation } = images.similarity;
            assert_eq!(correlation_at_start, None, "they do not meet");
            assert!(correlation.is_some_and(|found| (found - 1.0).abs() < 1e-6), "{correlation:?}");
            assert_eq!(images.warped.expect("made").voxels[0], 0.0, "outside");
        }
    }
}
