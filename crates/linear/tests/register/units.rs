//! Tests that no length of a human head decides: images whose headers differ by a power of two give the same result, to
//! the bit, in voxels.

use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::Cpu;
use antsreg_linear::{AngleSearch, Boundary, Cost, Dof, Fixed, Options, Outcome, Search, Start};
use nalgebra::{Rotation3, Vector3};

use crate::object::{affine, error_mm, fixed, fixed_grid, sampled};

/// The same image with all lengths of its header multiplied by a factor.
fn scaled(volume: &Volume, factor: f64) -> Volume {
    let grid = &volume.grid;
    let grid = Grid { spacing: grid.spacing * factor, origin: grid.origin * factor, ..grid.clone() };
    Volume { grid, voxels: volume.voxels.clone() }
}

fn moved(transform: &AffineTransform, factor: f64) -> AffineTransform {
    AffineTransform { translation: transform.translation * factor, ..*transform }
}

/// An oblique grid with anisotropic voxels, around the moved object.
fn oblique(truth: &AffineTransform) -> Grid {
    let mut grid = Grid::axis_aligned([62, 33, 38], [3.0, 6.3, 4.7]);
    grid.direction = Rotation3::from_euler_angles(0.3, -0.2, 0.5).into_inner();
    let middle = truth.apply(&fixed_grid().centre());
    grid.origin += middle - grid.centre();
    grid
}

fn assert_same(found: &Outcome, expected: &Outcome, factor: f64, what: &str) {
    for (found, expected) in [(&found.transform, &expected.transform), (&found.start, &expected.start)] {
        assert_eq!(*found, moved(expected, factor), "{what}");
    }
    let levels: Vec<(f64, f64)> = expected.levels.iter().map(|(mm, cost)| (mm * factor, *cost)).collect();
    assert_eq!((found.cost, &found.levels), (expected.cost, &levels), "{what}");
}

#[test]
fn headers_in_another_unit_give_the_same_voxels() {
    let truth = affine([12.0, -8.0, 20.0], [1.0; 3], [45.0, -20.0, 10.0]);
    let (fixed, moving) = (fixed(), sampled(oblique(&truth), &truth));
    let weight =
        Volume { voxels: moving.voxels.iter().map(|v| f32::from(u8::from(*v > 50.0))).collect(), ..moving.clone() };
    let angles = AngleSearch { range_degrees: [30.0; 3], coarse_step_degrees: 30.0, ..AngleSearch::default() };
    for cost in Cost::ALL {
        for (dof, start, weight) in
            [(Dof::Rigid6, Start::CentreOfMass, None), (Dof::Translation3, Start::Transform(truth), Some(&weight))]
        {
            let options = Options { dof, search: Search::Angles(angles), bins: 32, ..Options::of(cost) };
            let found = |factor: f64| {
                let (fixed, moving) = (scaled(&fixed, factor), scaled(&moving, factor));
                let weight = weight.map(|weight| scaled(weight, factor));
                let start = match start {
                    Start::Transform(start) => Start::Transform(moved(&start, factor)),
                    other => other,
                };
                let fixed = Fixed::new(&Cpu, &fixed, None, &options).expect("an image");
                fixed.register(&Cpu, &moving, weight.as_ref(), start, &mut ()).expect("a registration")
            };
            let expected = found(1.0);
            assert!(error_mm(&expected.transform, &truth) < 1.0, "{cost}: {expected:?}");
            for factor in [1.0 / 16.0, 16.0] {
                assert_same(&found(factor), &expected, factor, &format!("{cost} {dof:?} × {factor}"));
            }
        }
    }
}

#[test]
fn the_border_of_white_matter_follows_the_unit() {
    let truth = affine([1.0, -1.5, 2.0], [1.0; 3], [2.0, -1.0, 1.5]);
    let (fixed, moving) = (fixed(), sampled(oblique(&truth), &truth));
    let white =
        Volume { voxels: fixed.voxels.iter().map(|v| f32::from(u8::from(*v > 600.0))).collect(), ..fixed.clone() };
    let found = |factor: f64| {
        let boundary = Boundary { slope: 0.05, distance_mm: 3.0 * factor, from_start: true, ..Boundary::default() };
        let options = Options { dof: Dof::Rigid6, boundary: Some(boundary), ..Options::default() };
        let fixed = Fixed::new(&Cpu, &scaled(&fixed, factor), None, &options).expect("an image");
        let fixed = fixed.with_white_matter(&Cpu, &scaled(&white, factor)).expect("a border");
        fixed.register(&Cpu, &scaled(&moving, factor), None, Start::Headers, &mut ()).expect("a registration")
    };
    let expected = found(1.0);
    let of = |outcome: &Outcome| outcome.boundary.expect("boundary-based registration");
    assert!(of(&expected).taken && expected.transform.translation != Vector3::zeros());
    for factor in [1.0 / 16.0, 16.0] {
        let found = found(factor);
        assert_same(&found, &expected, factor, &format!("× {factor}"));
        assert_eq!(of(&found).moved_mm, factor * of(&expected).moved_mm);
    }
}
