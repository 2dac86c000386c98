//! Tests of weights on the world components of updates.

use antsreg_core::{DisplacementField, Grid, Volume};
use antsreg_syn::{Channel, Metric, Options};
use nalgebra::{Matrix3, Point3, Vector3};

use crate::scene::{self, brain, sampled};
use crate::{downloaded, levels, staged};

/// Index of the world component that the tests restrict to 0.
const HELD: usize = 1;
const WEIGHTS: [f64; 3] = [1.0, 0.0, 1.0];

/// A smooth test displacement of up to about 2 mm along the unrestricted world axes.
fn displacement(p: Vector3<f64>) -> Vector3<f64> {
    let decay = (-(p.norm() / 14.0).powi(2)).exp();
    Vector3::new((0.15 * p.y).sin(), 0.0, (0.18 * p.x - 0.5).cos()) * (2.0 * decay)
}

fn pair(grid: &Grid) -> [Volume; 2] {
    [sampled(grid, brain), sampled(grid, |p| brain(p + displacement(p)))]
}

fn options() -> Options {
    Options { restrict: WEIGHTS, levels: levels(&[(4, 2.0, 20), (2, 1.0, 20), (1, 0.0, 10)]), ..Options::default() }
}

fn run(grid: &Grid, options: &Options) -> [DisplacementField; 2] {
    let [fixed, moving] = pair(grid);
    downloaded(&staged(&fixed, &moving, std::slice::from_ref(options)).0)
}

/// The largest magnitude, mm, of the world component of a displacement field that the test restricts to 0.
fn held(field: &DisplacementField) -> f32 {
    field.vectors.iter().fold(0.0, |most, u| f32::max(most, u[HELD].abs()))
}

/// Mean distances from the known displacement of the test image, mm: first the distance of the given warp, then the
/// distance of a zero warp.
fn residuals(warp: &DisplacementField) -> [f64; 2] {
    let (map, centre) = (warp.grid.voxel_to_world(), warp.grid.centre());
    let [nx, ny, _] = warp.grid.shape;
    let (mut sums, mut count) = ([0.0; 2], 0.0);
    for (n, u) in warp.vectors.iter().enumerate() {
        let index = Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / nx / ny) as f64);
        let p = map.apply(&index) - centre;
        if p.norm() < 15.0 {
            let q = p + Vector3::from(*u).cast::<f64>();
            sums[0] += (q + displacement(q) - p).norm();
            sums[1] += displacement(p).norm();
            count += 1.0;
        }
    }
    sums.map(|sum| sum / count)
}

fn grid(direction: Matrix3<f64>) -> Grid {
    Grid { shape: [40, 44, 36], direction, ..scene::grid() }
}

#[test]
fn along_the_world_axes_a_held_component_stays_exactly_zero() {
    let turned = [
        Matrix3::identity(),
        // Test grid whose first two voxel axes are reversed.
        Matrix3::from_diagonal(&Vector3::new(-1.0, -1.0, 1.0)),
        // Test grid whose voxel axes run along world z, −x and y.
        Matrix3::new(0.0, -1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0),
    ];
    for direction in turned {
        let [warp, inverse_warp] = run(&grid(direction), &options());
        assert_eq!([held(&warp), held(&inverse_warp)], [0.0; 2]);
        let [left, still] = residuals(&warp);
        assert!(left < 0.3 * still, "{left} of {still} mm are left");
    }
    // For comparison: without restriction (all weights 1), the component that the other tests restrict to 0 does
    // change.
    let [free, _] = run(&grid(Matrix3::identity()), &Options { restrict: [1.0; 3], ..options() });
    assert!(held(&free) > 0.05, "{} mm", held(&free));
}

#[test]
fn it_stays_zero_through_all_that_a_stage_may_do() {
    // Long steps with little smoothing cause folds. With a small limit of the residual, all voxels are corrected
    // (relaxed).
    let rough = Options { gradient_step: 1.0, update_variance: 0.4, largest_residual_voxels: 0.05, ..options() };
    let options = Options {
        channels: [Metric::Cc, Metric::Mattes].map(|metric| Channel { metric, weight: 1.0 }).into(),
        edge_weight: 0.5,
        total_variance: 0.3,
        ..rough
    };
    let [fixed, moving] = pair(&grid(Matrix3::identity()));
    let side = |volume| vec![volume; 2];
    let identity = antsreg_core::AffineTransform::identity();
    let outcome =
        antsreg_syn::register(&antsreg_kernels::Cpu, side(&fixed), side(&moving), &identity, &options, &mut ())
            .expect("it registers");
    assert!(outcome.iterations.relaxed.rounds > 0, "nothing was relaxed");
    assert_eq!([held(&outcome.warp), held(&outcome.inverse_warp)], [0.0; 2]);
    assert!(outcome.warp.vectors.iter().any(|u| u[0].abs() > 0.5));
}

#[test]
fn on_an_oblique_grid_a_held_component_stays_zero_but_for_rounding() {
    let oblique = Grid { shape: [40, 44, 36], ..scene::grid() };
    let [warp, inverse_warp] = run(&oblique, &options());
    // The tolerance is the rounding error in single precision of displacements of a few voxels after about fifty
    // iterations.
    let [held_there, held_back] = [held(&warp), held(&inverse_warp)];
    assert!(held_there < 1e-4 && held_back < 1e-4, "{held_there} and {held_back} mm");
    let [left, still] = residuals(&warp);
    assert!(left < 0.3 * still, "{left} of {still} mm are left");
}
