//! Tests that known transforms are recovered.

use crate::object::{affine, error_mm, fixed, fixed_grid, sampled};
use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::Cpu;
use antsreg_linear::{AngleSearch, Dof, Fixed, Optimiser, Options, Outcome, Search, Start, register};
use nalgebra::{Matrix3, Point3, Vector3};

/// Tolerance of the tests, mm: a tenth of a voxel. Trilinear interpolation of 4 mm voxels moves the optimum by about
/// this distance.
const TOLERANCE_MM: f64 = 0.4;

fn align(fixed: &Volume, moving: &Volume, options: &Options) -> Outcome {
    from(Start::CentreOfMass, fixed, moving, options)
}

fn from(start: Start, fixed: &Volume, moving: &Volume, options: &Options) -> Outcome {
    register(&Cpu, fixed, moving, None, None, options, start, &mut ()).expect("a registration")
}

fn rigid() -> Options {
    Options { dof: Dof::Rigid6, ..Options::default() }
}

/// The 24 proper rotations that map the coordinate axes to each other.
fn axis_rotations() -> Vec<Matrix3<f64>> {
    let mut rotations = Vec::new();
    for permutation in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        for signs in 0..8 {
            let matrix = Matrix3::from_fn(|row, column| {
                let sign = if signs >> row & 1 == 1 { -1.0 } else { 1.0 };
                if permutation[row] == column { sign } else { 0.0 }
            });
            if matrix.determinant() > 0.0 {
                rotations.push(matrix);
            }
        }
    }
    rotations
}

/// A grid that contains the object after `rotation` and `shift`.
fn grid_around(rotation: &Matrix3<f64>, shift: &Vector3<f64>) -> Grid {
    let extent = rotation * Vector3::new(37.0, 45.0, 34.0);
    let shape = std::array::from_fn(|axis| extent[axis].abs().round() as usize);
    let mut grid = Grid::axis_aligned(shape, [4.0; 3]);
    let half = Vector3::from_fn(|axis, _| 2.0 * (shape[axis] as f64 - 1.0));
    grid.origin = Point3::from(shift - half);
    grid
}

#[test]
fn finds_every_orientation_that_the_header_does_not_tell() {
    let fixed = fixed();
    let rotations = axis_rotations();
    assert_eq!(rotations.len(), 24);
    for rotation in rotations {
        let tilt = affine([7.0, -5.0, 9.0], [1.0; 3], [31.0, -42.0, 17.0]);
        let truth = tilt.after(&AffineTransform { matrix: rotation, translation: Vector3::zeros() });
        let moving = sampled(grid_around(&rotation, &tilt.translation), &truth);
        let found = align(&fixed, &moving, &Options { finest_mm: 8.0, ..rigid() });
        let error = error_mm(&found.transform, &truth);
        assert!(error < TOLERANCE_MM, "{error} mm for {rotation}");
    }
}

#[test]
fn follows_the_header_through_flips_and_oblique_axes() {
    let fixed = fixed();
    let truth = affine([10.0, -8.0, 15.0], [1.0; 3], [12.0, 5.0, -20.0]);
    let centre = Point3::from(truth.translation);
    let oblique = affine([20.0, 35.0, -25.0], [1.0; 3], [0.0; 3]).matrix;
    for direction in [Matrix3::from_diagonal(&Vector3::new(-1.0, 1.0, 1.0)), -Matrix3::identity(), oblique] {
        let mut grid = Grid::axis_aligned([46, 48, 30], [4.0, 3.5, 5.0]);
        grid.direction = direction;
        let middle = grid.centre();
        grid.origin += centre - middle;
        let found = align(&fixed, &sampled(grid, &truth), &rigid());
        let error = error_mm(&found.transform, &truth);
        assert!(error < TOLERANCE_MM, "{error} mm for axes {direction}");
    }
}

#[test]
fn frees_as_much_as_the_degrees_of_freedom_say() {
    let fixed = fixed();
    let mut sheared = affine([6.0, -9.0, 4.0], [1.1, 0.85, 1.0], [5.0, -7.0, 3.0]);
    sheared.matrix *= Matrix3::new(1.0, 0.08, -0.05, 0.0, 1.0, 0.06, 0.0, 0.0, 1.0);
    // The scales of the model act along the axes of the moving grid, which are the world axes in this test. So the
    // scales are applied after the rotation.
    let mut scaled = affine([6.0, -9.0, 4.0], [1.0; 3], [5.0, -7.0, 3.0]);
    scaled.matrix = Matrix3::from_diagonal(&Vector3::new(1.15, 0.9, 1.0)) * scaled.matrix;
    let uniform = affine([6.0, -9.0, 4.0], [1.12; 3], [5.0, -7.0, 3.0]);
    let turned = affine([6.0, -9.0, 4.0], [1.0; 3], [5.0, -7.0, 3.0]);
    let truths =
        [(Dof::Rigid6, turned), (Dof::Similarity7, uniform), (Dof::Scales9, scaled), (Dof::Affine12, sheared)];
    for (number, (_, truth)) in truths.iter().enumerate() {
        let moving = sampled(fixed_grid(), truth);
        for (other, (dof, _)) in truths.iter().enumerate() {
            let found = align(&fixed, &moving, &Options { dof: *dof, finest_mm: 8.0, ..Options::default() });
            let error = error_mm(&found.transform, truth);
            if other >= number {
                assert!(error < TOLERANCE_MM, "{error} mm with {dof:?} for {truth:?}");
            } else {
                assert!(error > 2.0, "{dof:?} cannot reach {truth:?}, but was off by {error} mm only");
            }
        }
    }
}

#[test]
fn finds_a_stretch_beyond_what_a_common_scale_explains() {
    let truth = affine([5.0, 3.0, -4.0], [1.3, 1.0, 0.8], [8.0, 0.0, -6.0]);
    let mut grid = Grid::axis_aligned([48, 48, 40], [4.0; 3]);
    grid.origin = Point3::new(-86.0, -94.0, -84.0);
    let found = align(&fixed(), &sampled(grid, &truth), &Options::default());
    let error = error_mm(&found.transform, &truth);
    assert!(error < TOLERANCE_MM, "{error} mm");
}

#[test]
fn begins_at_the_start() {
    let (fixed, truth) = (fixed(), affine([0.0, 0.0, 150.0], [1.0; 3], [70.0, 20.0, -30.0]));
    let mut grid = fixed_grid();
    grid.shape = [48, 48, 36];
    grid.origin += truth.translation - Vector3::new(20.0, 8.0, 4.0);
    let moving = sampled(grid, &truth);
    let near = affine([6.0, -4.0, 144.0], [1.0; 3], [66.0, 25.0, -24.0]);
    let only = Options { search: Search::None, ..rigid() };
    let side = Fixed::new(&Cpu, &fixed, None, &only).expect("a fixed side");
    let refined = |start| {
        let found = from(start, &fixed, &moving, &only);
        assert_eq!(found.start, side.start(&Cpu, &moving, None, start).expect("a start"));
        (found.start, error_mm(&found.transform, &truth))
    };
    let (start, error) = refined(Start::Transform(near));
    assert!(start == near && error < TOLERANCE_MM, "{error} mm from {start:?}");
    let (start, error) = refined(Start::Headers);
    assert!(
        start == AffineTransform::identity() && error > 20.0,
        "{error} mm from {start:?}: too far off to be refined"
    );
    let (start, error) = refined(Start::CentreOfMass);
    assert!(start.matrix == Matrix3::identity() && error > 20.0, "{error} mm: only a search can find the rotation");
    // Both grids contain the whole object. So its centre of mass moves with the object, within half a voxel.
    let centre = fixed.centre_of_mass().expect("a centre");
    let miss = (start.apply(&centre) - truth.apply(&centre)).norm();
    assert!(miss < 4.0, "{miss} mm from {start:?}");
    // The searches of this test allow only rotations about z and do not use principal axes. The two compared searches
    // differ only in the range of angles.
    let about_z = |range| {
        let angles =
            AngleSearch { range_degrees: [0.0, 0.0, range], principal_axes: false, ..AngleSearch::default() };
        Options { search: Search::Angles(angles), ..rigid() }
    };
    let error = |options: &Options| error_mm(&align(&fixed, &moving, options).transform, &truth);
    assert!(error(&about_z(180.0)) < TOLERANCE_MM);
    assert!(error(&about_z(0.0)) > 20.0);
}

#[test]
fn a_header_away_by_decimetres_does_not_change_the_result() {
    let (fixed, truth) = (fixed(), affine([6.0, -9.0, 4.0], [1.1, 0.9, 1.0], [5.0, -7.0, 3.0]));
    let moving = sampled(fixed_grid(), &truth);
    let reference = align(&fixed, &moving, &Options::default()).transform;
    let header = affine([-40.0, 55.0, 30.0], [1.0; 3], [300.0, -200.0, 500.0]);
    let mut renamed = moving.clone();
    renamed.grid.direction = header.matrix * moving.grid.direction;
    renamed.grid.origin = header.apply(&moving.grid.origin);
    let found = align(&fixed, &renamed, &Options::default()).transform;
    let difference = error_mm(&found, &header.after(&reference));
    // The registrations with both headers must find the same position of the object, except for the tolerance of the
    // Newton steps.
    assert!(difference < 0.1, "{difference} mm");
}

#[test]
fn does_not_depend_on_the_number_of_threads() {
    let moving = sampled(fixed_grid(), &affine([12.0, 5.0, -8.0], [1.1, 1.0, 0.9], [5.0, 9.0, 2.0]));
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| align(&fixed(), &moving, &Options::default()))
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn every_optimiser_gets_there() {
    let fixed = fixed();
    let turned = affine([26.0, -14.0, 9.0], [1.0; 3], [25.0, -17.0, 13.0]);
    let mut sheared = affine([6.0, -9.0, 4.0], [1.1, 0.9, 1.0], [5.0, -7.0, 3.0]);
    sheared.matrix *= Matrix3::new(1.0, 0.06, -0.04, 0.0, 1.0, 0.05, 0.0, 0.0, 1.0);
    let mut grid = Grid::axis_aligned([48, 52, 44], [4.0; 3]);
    grid.origin = Point3::new(-84.0, -116.0, -74.0);
    for (optimiser, dof, truth, tolerance) in [
        (Optimiser::Flirt, Dof::Rigid6, turned, TOLERANCE_MM),
        (Optimiser::Powell, Dof::Rigid6, turned, TOLERANCE_MM),
        (Optimiser::Descent, Dof::Rigid6, turned, TOLERANCE_MM),
        (Optimiser::Powell, Dof::Affine12, sheared, TOLERANCE_MM),
        // With twelve parameters, steepest descent ends before it reaches the minimum.
        (Optimiser::Descent, Dof::Affine12, sheared, 1.0),
    ] {
        let moving = sampled(grid.clone(), &truth);
        // This test only refines the start, because a search over all orientations would take a minute. Another test
        // covers that search.
        let options = Options { dof, optimiser, search: Search::None, ..Options::default() };
        let error = error_mm(&align(&fixed, &moving, &options).transform, &truth);
        assert!(error < tolerance, "{error} mm by {optimiser:?} with {dof:?}");
    }
}
