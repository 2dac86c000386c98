//! Tests of boundary-based registration: known transforms are found, results far from the start and invalid input are
//! refused.

use crate::object::{affine, error_mm, fixed, object, sampled};
use crate::slices::{grid, slice};
use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::Cpu;
use antsreg_linear::{Boundary, BoundaryKind, Dof, Error, Fixed, Options, Outcome, Start};
use nalgebra::Point3;

/// Tolerance of the tests, mm: a tenth of a voxel of the moving image.
const TOLERANCE_MM: f64 = 0.3;
/// Voxels where the object's intensity exceeds this value are white matter.
const WHITE: f64 = 450.0;

/// A test image: the object, moved by `fixed_to_moving` and sampled on a grid with this spacing in mm. Each voxel is
/// the function `value` of the object's intensity.
fn made(spacing: f64, fixed_to_moving: &AffineTransform, value: impl Fn(f64) -> f64) -> Volume {
    let shape = [150.0, 190.0, 130.0].map(|width| (width / spacing) as usize);
    let mut grid = Grid::axis_aligned(shape, [spacing; 3]);
    grid.origin = Point3::new(-75.0, -90.0, -65.0);
    let back = fixed_to_moving.inverse().expect("an invertible transform");
    let to_world = grid.voxel_to_world();
    let [nx, ny, _] = shape;
    let voxels = (0..grid.len())
        .map(|n| {
            let index = Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / nx / ny) as f64);
            value(object(&back.apply(&to_world.apply(&index)))) as f32
        })
        .collect();
    Volume { grid, voxels }
}

fn white_matter() -> Volume {
    made(2.0, &AffineTransform::identity(), |value| f64::from(u8::from(value > WHITE)))
}

/// A test image in which white matter has the intensity `white` and everything else `grey`, with a smooth transition.
fn epi(truth: &AffineTransform, white: f64, grey: f64) -> Volume {
    made(3.0, truth, |value| grey + (white - grey) / (1.0 + (-(value - WHITE) / 40.0).exp()))
}

fn near(boundary: Boundary, moving: &Volume, start: AffineTransform) -> Outcome {
    let boundary = Some(Boundary { from_start: true, ..boundary });
    let options = Options { dof: Dof::Rigid6, boundary, ..Options::default() };
    let side = Fixed::new(&Cpu, &fixed(), None, &options).expect("a side");
    let side = side.with_white_matter(&Cpu, &white_matter()).expect("a border");
    side.register(&Cpu, moving, None, Start::Transform(start), &mut ()).expect("a registration")
}

fn truth() -> AffineTransform {
    affine([2.0, -3.0, 1.5], [1.0; 3], [2.5, -3.0, 2.0])
}

#[test]
fn a_known_place_is_found_from_near() {
    let found = near(Boundary::default(), &epi(&truth(), 60.0, 85.0), AffineTransform::identity());
    assert!(error_mm(&found.transform, &truth()) < TOLERANCE_MM, "{} mm", error_mm(&found.transform, &truth()));
    let outcome = found.boundary.expect("an outcome");
    assert!(outcome.taken && outcome.costs[1] < outcome.costs[0] && outcome.counted[1] > 0.9, "{outcome:?}");
    assert_eq!(found.cost, outcome.costs[1]);
    // In this part of the test, the moving image covers only half of the object along z.
    let whole = epi(&truth(), 60.0, 85.0);
    let [nx, ny, nz] = whole.grid.shape;
    let (slices, first) = (nz / 2, nz / 4);
    let mut grid = whole.grid.clone();
    grid.origin.z += 3.0 * first as f64;
    grid.shape[2] = slices;
    let voxels = whole.voxels[nx * ny * first..nx * ny * (first + slices)].to_vec();
    let found = near(Boundary::default(), &Volume { grid, voxels }, AffineTransform::identity());
    assert!(error_mm(&found.transform, &truth()) < 3.0 * TOLERANCE_MM, "{}", error_mm(&found.transform, &truth()));
}

#[test]
fn either_side_may_be_the_brighter_one() {
    let moving = epi(&truth(), 85.0, 60.0);
    let usual = Boundary::default();
    for boundary in [
        Boundary { kind: BoundaryKind::Unsigned, ..usual },
        Boundary { kind: BoundaryKind::Absolute, ..usual },
        Boundary { slope: -usual.slope, ..usual },
    ] {
        let found = near(boundary, &moving, AffineTransform::identity());
        assert!(error_mm(&found.transform, &truth()) < TOLERANCE_MM, "{boundary:?}");
    }
}

#[test]
fn results_far_from_the_start_are_refused() {
    // The search can reach the lowest cost from this start, but the result is farther from the start than allowed.
    let away = affine([7.0, -6.0, 7.0], [1.0; 3], [4.0, 3.0, -4.0]);
    let start = away.after(&truth());
    let found = near(Boundary::default(), &epi(&truth(), 60.0, 85.0), start);
    let outcome = found.boundary.expect("an outcome");
    assert!(!outcome.taken && outcome.moved_mm > Boundary::FARTHEST_MM, "{outcome:?}");
    assert_eq!((found.transform, found.cost), (start, outcome.costs[0]));
}

#[test]
fn what_cannot_be_used_is_refused() {
    let options = Options { boundary: Some(Boundary::default()), ..Options::default() };
    let side = Fixed::new(&Cpu, &fixed(), None, &options).expect("a side");
    let moving = sampled(fixed().grid, &truth());
    let without = side.register(&Cpu, &moving, None, Start::Headers, &mut ());
    assert!(matches!(without, Err(Error::NoWhiteMatter)), "{without:?}");
    let slice = slice(grid([0.0; 2], 0.0), &AffineTransform::identity());
    let side_of_slices = Fixed::new(&Cpu, &slice, None, &options).expect("a side");
    let of_slices = side_of_slices.register(&Cpu, &slice, None, Start::Headers, &mut ());
    assert!(matches!(of_slices, Err(Error::BoundaryOfSlices)), "{of_slices:?}");
    let empty = Volume::filled(fixed().grid, 0.0);
    assert!(matches!(side.with_white_matter(&Cpu, &empty), Err(Error::FewBoundaryPoints { found: 0, .. })));
    for boundary in [
        Boundary { distance_mm: 0.0, ..Boundary::default() },
        Boundary { slope: 0.0, ..Boundary::default() },
        Boundary { offset: f64::NAN, ..Boundary::default() },
    ] {
        assert!(Options { boundary: Some(boundary), ..Options::default() }.check().is_err(), "{boundary:?}");
    }
}
