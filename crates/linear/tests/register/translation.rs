//! Tests of registration with a translation as the model.

use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::{Cpu, JointSampling};
use antsreg_linear::{Cost, Dof, Error, Options, Outcome, Search, Start, register};
use nalgebra::{Matrix3, Point3, Vector3};

use crate::object::{self, affine, error_mm, sampled};
use crate::slices;
use crate::weights::{mask, with_bar};

/// Tolerance of the tests, mm: 1/40 of a voxel. The largest measured error of any cost was 0.01 mm.
const TOLERANCE_MM: f64 = 0.05;

/// A fixed grid with voxels of 2 mm, so that the finest level of the search is 2 mm.
fn fixed_grid() -> Grid {
    let mut grid = Grid::axis_aligned([74, 90, 68], [2.0; 3]);
    grid.origin = Point3::new(-71.0, -87.0, -65.0);
    grid
}

/// A moving grid with another spacing, oblique axes, and a centre that is not the object's.
fn moving_grid(truth: &AffineTransform) -> Grid {
    let mut grid = Grid::axis_aligned([80, 84, 79], [1.9, 2.2, 1.8]);
    grid.direction = affine([5.0, -3.0, 8.0], [1.0; 3], [0.0; 3]).matrix;
    let centre = truth.apply(&Point3::new(3.0, 1.0, 2.0)).map(f64::round);
    grid.origin += centre - grid.centre();
    grid
}

fn shift(mm: [f64; 3]) -> AffineTransform {
    affine([0.0; 3], [1.0; 3], mm)
}

fn fixed() -> Volume {
    sampled(fixed_grid(), &AffineTransform::identity())
}

fn translating(cost: Cost) -> Options {
    Options { dof: Dof::Translation3, ..Options::of(cost) }
}

fn align(fixed: &Volume, moving: &Volume, options: &Options, start: Start) -> Outcome {
    register(&Cpu, fixed, moving, None, None, options, start, &mut ()).expect("a registration")
}

#[test]
fn every_cost_finds_a_shift() {
    let fixed = fixed();
    let shifts = [[23.4, -17.7, 31.2], [0.37, -0.81, 0.55], [-70.0, 10.0, 40.0]];
    for truth in shifts.map(shift) {
        let moving = sampled(moving_grid(&truth), &truth);
        for (cost, start) in
            Cost::ALL.into_iter().flat_map(|cost| [(cost, Start::CentreOfMass), (cost, Start::Headers)])
        {
            let found = align(&fixed, &moving, &translating(cost), start);
            assert_eq!(found.transform.matrix, Matrix3::identity(), "{cost}");
            let error = error_mm(&found.transform, &truth);
            assert!(error < TOLERANCE_MM, "{error} mm by {cost} from {start:?}, {truth:?}");
        }
        for cost in [Cost::MutualInformation, Cost::NormalisedMutualInformation] {
            let options = Options { histogram: JointSampling::PartialVolume, ..translating(cost) };
            let error = error_mm(&align(&fixed, &moving, &options, Start::CentreOfMass).transform, &truth);
            assert!(error < TOLERANCE_MM, "{error} mm by {cost} and partial volume, {truth:?}");
        }
    }
}

#[test]
fn the_linear_part_is_exactly_that_of_the_start() {
    let mut turned = affine([6.0, -9.0, 4.0], [1.1, 0.85, 1.0], [0.0; 3]);
    turned.matrix *= Matrix3::new(1.0, 0.08, -0.05, 0.0, 1.0, 0.06, 0.0, 0.0, 1.0);
    let truth = AffineTransform { translation: Vector3::new(9.3, -12.1, 7.7), ..turned };
    let moving = sampled(moving_grid(&truth), &truth);
    for search in [Options::default().search, Search::None] {
        let options = Options { search, ..translating(Cost::CorrelationRatio) };
        let found = align(&fixed(), &moving, &options, Start::Transform(turned));
        assert_eq!((found.start, found.transform.matrix), (turned, turned.matrix));
        let error = error_mm(&found.transform, &truth);
        assert!(error < TOLERANCE_MM, "{error} mm with {search:?}");
    }
}

#[test]
fn other_shifts_than_the_start_are_tried() {
    // The moving image has a bright ball outside the fixed image's field of view. The ball shifts the centre of mass,
    // and the headers are wrong as well.
    let (truth, ball) = (shift([-56.0, 42.0, -50.0]), Point3::new(145.0, 0.0, 100.0));
    let mut grid = Grid::axis_aligned([100, 80, 76], [4.0; 3]);
    let centre = truth.apply(&Point3::new(80.0, 30.0, 40.0));
    grid.origin += centre - grid.centre();
    let (mut moving, ball) = (sampled(grid, &truth), truth.apply(&ball));
    let (to_world, [nx, ny, _]) = (moving.grid.voxel_to_world(), moving.grid.shape);
    for (i, value) in moving.voxels.iter_mut().enumerate() {
        let index = Point3::new((i % nx) as f64, (i / nx % ny) as f64, (i / nx / ny) as f64);
        if (to_world.apply(&index) - ball).norm() < 60.0 {
            *value = 2500.0;
        }
    }
    let error =
        |options: &Options, start| error_mm(&align(&object::fixed(), &moving, options, start).transform, &truth);
    for start in [Start::CentreOfMass, Start::Headers] {
        let searching = translating(Cost::CorrelationRatio);
        let searched = error(&searching, start);
        // The tolerance of the error is larger in this test: the voxels have a size of 4 mm, and the blurred ball
        // extends into the fixed field of view.
        assert!(searched < 0.2, "{searched} mm from {start:?}");
        let refined = error(&Options { search: Search::None, ..searching }, start);
        assert!(refined > 50.0, "{refined} mm from {start:?} without a search, which is then not tested");
    }
}

#[test]
fn every_cost_finds_slices() {
    let identity = AffineTransform::identity();
    let fixed = slices::slice(slices::grid([0.0, 0.0], 0.0), &identity);
    for truth in [[20.3, 11.2], [-0.4, 0.7], [-48.0, 30.0]] {
        let truth = slices::in_plane(0.0, [1.0; 2], 0.0, truth);
        let mut grid = slices::grid([truth.translation.x.round(), 3.0], 9.0);
        (grid.spacing.x, grid.spacing.y) = (1.9, 2.2);
        let moving = slices::slice(grid, &truth);
        for cost in Cost::ALL {
            let found = align(&fixed, &moving, &translating(cost), Start::CentreOfMass);
            assert_eq!(found.transform.matrix, Matrix3::identity(), "{cost}");
            assert_eq!(found.transform.translation.z, found.start.translation.z, "{cost} leaves the plane");
            let error = slices::error_mm(&found.transform, &truth);
            assert!(error < TOLERANCE_MM, "{error} mm by {cost}, {truth:?}");
        }
    }
}

#[test]
fn masks_count() {
    let truth = shift([2.0, 6.0, 0.0]);
    let fixed = with_bar(fixed(), 20.0);
    let moving = with_bar(sampled(moving_grid(&truth), &truth), -30.0);
    let (fixed_mask, moving_mask) = (mask(&fixed), mask(&moving));
    let error = |weights: [Option<&Volume>; 2]| {
        let options = translating(Cost::CorrelationRatio);
        let found = register(&Cpu, &fixed, &moving, weights[0], weights[1], &options, Start::CentreOfMass, &mut ())
            .expect("a registration");
        error_mm(&found.transform, &truth)
    };
    let (pulled, masked) = (error([None; 2]), error([Some(&fixed_mask), Some(&moving_mask)]));
    assert!(pulled > 1.0, "the bars pull by {pulled} mm only");
    assert!(masked < TOLERANCE_MM, "{masked} mm");
}

#[test]
fn singular_starts_are_refused() {
    let flat = AffineTransform { matrix: Matrix3::zeros(), ..AffineTransform::identity() };
    let options = translating(Cost::CorrelationRatio);
    let refused = register(&Cpu, &fixed(), &fixed(), None, None, &options, Start::Transform(flat), &mut ());
    assert!(matches!(refused, Err(Error::SingularStart)), "{refused:?}");
}
