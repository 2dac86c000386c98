//! Displacements that are known, found again from made images of both directions.

use antsreg_core::{AffineTransform, Grid, Transform, TransformChain, Volume};
use antsreg_distortion::{Encoded, Error, Field, Options, estimate};
use antsreg_kernels::apply::{self, Interpolation};
use nalgebra::{Point3, Rotation3, Vector3};

/// Largest median error of the displacement, mm: a fifteenth of a voxel. Where the image has little contrast, the displacement
/// is smoother than the true one.
const TOLERANCE_MM: f64 = 0.2;

/// A head of several smooth parts, 3 mm voxels.
fn head() -> Volume {
    let grid = Grid::axis_aligned([56, 60, 40], [3.0; 3]);
    let to_world = grid.voxel_to_world();
    let [nx, ny, _] = grid.shape;
    let parts = [
        ([84.0, 90.0, 60.0], [60.0, 70.0, 45.0], 700.0),
        ([60.0, 80.0, 60.0], [22.0, 30.0, 20.0], -250.0),
        ([105.0, 100.0, 65.0], [20.0, 34.0, 16.0], 300.0),
        ([84.0, 40.0, 50.0], [30.0, 14.0, 20.0], 200.0),
        ([84.0, 125.0, 75.0], [14.0, 20.0, 20.0], -300.0),
    ];
    let value = |n: usize| {
        let point = to_world.apply(&Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / nx / ny) as f64));
        let texture = 1.0 + 0.15 * (point.x / 5.0).sin() * (point.y / 6.0).cos() * (point.z / 7.0).sin();
        let of = |(centre, radii, height): &([f64; 3], [f64; 3], f64)| {
            let inside = Vector3::from_fn(|axis, _| (point[axis] - centre[axis]) / radii[axis]).norm();
            height / (1.0 + (12.0 * (inside - 1.0)).exp())
        };
        (parts.iter().map(of).sum::<f64>() * texture) as f32
    };
    let voxels = (0..grid.len()).map(value).collect();
    Volume { grid, voxels }
}

/// A displacement of at most 8 mm, mm.
fn displacement(grid: &Grid) -> Volume {
    let to_world = grid.voxel_to_world();
    let [nx, ny, _] = grid.shape;
    let value = |n: usize| {
        let point = to_world.apply(&Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / nx / ny) as f64));
        let bump =
            |at: [f64; 3], width: f64| (-(point - Point3::from(at)).norm_squared() / (2.0 * width * width)).exp();
        (8.0 * bump([84.0, 130.0, 40.0], 22.0) - 5.0 * bump([60.0, 60.0, 60.0], 25.0)) as f32
    };
    Volume { grid: grid.clone(), voxels: (0..grid.len()).map(value).collect() }
}

/// The image as an echo-planar image of this scale shows it: x ← x + scale·d(x), by the inverse of the warp.
fn distorted(truth: &Volume, mm: &Volume, axis: usize, scale: f64, motion: &AffineTransform) -> Volume {
    let field = Field::of_displacement(mm, axis);
    let density = field.jacobian(scale);
    let dimmed: Vec<f32> = truth.voxels.iter().zip(&density.voxels).map(|(value, factor)| value / factor).collect();
    let dimmed = Volume { grid: truth.grid.clone(), voxels: dimmed };
    let warp = apply::invert(&field.warp(scale, &AffineTransform::identity()), &truth.grid);
    let back = motion.inverse().expect("a rigid motion");
    let chain = TransformChain::from(vec![Transform::Affine(back), Transform::Displacement(warp)]);
    apply::resample(&dimmed, &truth.grid, &chain, Interpolation::BSpline, 0.0)
}

/// The median absolute difference of two images where `mask` is bright.
fn median_apart(a: &Volume, b: &Volume, mask: &Volume) -> f32 {
    let all = a.voxels.iter().zip(&b.voxels).zip(&mask.voxels);
    let mut apart: Vec<f32> = all.filter(|(_, mask)| **mask > 300.0).map(|((a, b), _)| (a - b).abs()).collect();
    apart.sort_by(f32::total_cmp);
    apart[apart.len() / 2]
}

#[test]
fn a_known_displacement_is_found_along_each_axis() {
    let truth = head();
    let mm = displacement(&truth.grid);
    let still = AffineTransform::identity();
    for axis in 0..3 {
        let [plus, minus] = [1.0, -1.0].map(|scale| distorted(&truth, &mm, axis, scale, &still));
        let images = [Encoded { volume: &plus, scale: 1.0 }, Encoded { volume: &minus, scale: -1.0 }];
        let found = estimate(&images, axis, &Options::default(), &mut |_| ()).expect("estimated");
        let error = median_apart(&found.field.displacement_mm(), &mm, &truth);
        assert!(f64::from(error) < TOLERANCE_MM, "axis {axis}: {error} mm");
    }
}

#[test]
fn motion_between_the_images_and_other_readout_times_are_found() {
    let truth = head();
    let mm = displacement(&truth.grid);
    let centre = truth.grid.centre().coords;
    let turn = Rotation3::from_euler_angles(0.02, -0.015, 0.03).into_inner();
    let shift = Vector3::new(1.5, 0.0, -1.0);
    let motion = AffineTransform { matrix: turn, translation: centre + shift - turn * centre };
    let still = AffineTransform::identity();
    let plus = distorted(&truth, &mm, 1, 1.0, &still);
    let again = distorted(&truth, &mm, 1, 1.0, &motion);
    let minus = distorted(&truth, &mm, 1, -0.5, &motion);
    let encoded = |volume, scale| Encoded { volume, scale };
    let images = [encoded(&plus, 1.0), encoded(&again, 1.0), encoded(&minus, -0.5)];
    let found =
        estimate(&images, 1, &Options { motion: true, ..Options::default() }, &mut |_| ()).expect("estimated");
    let error = median_apart(&found.field.displacement_mm(), &mm, &truth);
    assert!(f64::from(error) < TOLERANCE_MM, "{error} mm");
    for (n, found) in found.motions.iter().enumerate().skip(1) {
        for corner in [[40.0, 50.0, 30.0], [130.0, 120.0, 80.0], [84.0, 40.0, 90.0]] {
            let apart = (found.apply(&corner.into()) - motion.apply(&corner.into())).norm();
            assert!(apart < 3.0 * TOLERANCE_MM, "image {n}: {apart} mm at {corner:?}");
        }
    }
}

#[test]
fn images_of_one_direction_are_refused() {
    let truth = head();
    let same = [Encoded { volume: &truth, scale: 1.0 }; 2];
    let refused = estimate(&same, 0, &Options::default(), &mut |_| ());
    assert!(matches!(refused, Err(Error::OneDirection)), "{refused:?}");
    let times = [1.0, 0.5, -1.0].map(|scale| Encoded { volume: &truth, scale });
    let refused = estimate(&times, 0, &Options::default(), &mut |_| ());
    assert!(matches!(refused, Err(Error::ReadoutTimes)), "{refused:?}");
}
