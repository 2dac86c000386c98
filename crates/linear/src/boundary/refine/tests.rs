//! Tests of the search for the lowest boundary cost, in scenes whose result is known.

use std::collections::BTreeSet;

use antsreg_core::{Grid, Unit, Volume};
use antsreg_kernels::{Cpu, Input};
use nalgebra::{Matrix3, Vector3};

use super::*;
use crate::Side;
use crate::boundary::surface::SurfacePoint;

fn frame(slices: bool) -> Frame {
    Frame::new(&AffineTransform::identity(), Matrix3::identity(), Point3::origin(), slices).expect("a frame")
}

/// A moving image around the origin, from −31 to 31 mm along each axis, with a robust range from 100 to 200. `value` is
/// the intensity at a position, RAS mm.
fn moving(value: impl Fn(&Point3<f64>) -> f64) -> Source<Cpu> {
    let mut grid = Grid::axis_aligned([32; 3], [2.0; 3]);
    grid.origin = Point3::new(-31.0, -31.0, -31.0);
    let to_world = grid.voxel_to_world();
    let at = |n: usize| to_world.apply(&Point3::from([n % 32, n / 32 % 32, n / 1024].map(|index| index as f64)));
    let mut voxels: Vec<f32> = (0..grid.len()).map(|n| value(&at(n)) as f32).collect();
    // Two corners of the image have the lowest and the highest intensity.
    (voxels[0], voxels[32 * 32 * 32 - 1]) = (100.0, 200.0);
    let options = Options { robust_shares: [0.0, 1.0], ..Options::default() };
    Source::new(&Cpu, Side::Moving, &Input::from(&Volume { grid, voxels }), None, &options).expect("an image")
}

/// Points of a border, with sampling positions 2 mm from it.
fn samples(points: &[SurfacePoint]) -> Samples<Cpu> {
    Samples::new(&Cpu, points, 2.0).expect("points")
}

/// A point whose normal is the y axis.
fn point(place: [f64; 3], area: f64) -> SurfacePoint {
    SurfacePoint { place: Point3::from(place), normal: Vector3::y(), area }
}

/// The result with the translation model, from the identity. The first level uses `few`, the others use `all`.
fn refined(
    [few, all]: [&[SurfacePoint]; 2],
    moving: &Source<Cpu>,
    slope: f64,
) -> Result<(AffineTransform, BoundaryOutcome), Error> {
    let options = Options { dof: Dof::Translation3, ..Options::default() };
    let boundary = Boundary { slope, from_start: true, ..Boundary::default() };
    let start = AffineTransform::identity();
    let before = Outcome { transform: start, start, cost: 1.0, levels: Vec::new(), exchanged: false, boundary: None };
    let surface = Surface { unit: Unit::MILLIMETRE, all: samples(all), few: samples(few) };
    let frame = frame(false).of(Dof::Translation3);
    let mut observer = ();
    let mut progress = Progress::new(&mut observer, Unit::MILLIMETRE);
    let found = refine(&Cpu, &surface, moving, &frame, before, (&options, &boundary), &mut progress)?;
    let outcome = found.boundary.expect("an outcome");
    assert_eq!(found.cost, outcome.costs[usize::from(outcome.taken)]);
    Ok((found.transform, outcome))
}

#[test]
fn costs_follow_from_the_mean_of_the_contrasts() {
    let moving = moving(|_| 150.0);
    let rule = ContrastRule { slope: -0.05, offset: 0.0, least: 0.0 };
    let cost = |kind, signed, unsigned| {
        let costs =
            Costs { backend: &Cpu, moving: &moving, world_to_moving: AffineTransform::identity(), rule, kind };
        costs.cost(&Contrast { weight: 70.0, signed, unsigned }, 80.0)
    };
    for (kind, signed, unsigned, expected) in [
        (BoundaryKind::Signed, -40.0, 60.0, 0.25),
        (BoundaryKind::Signed, 40.0, 60.0, 0.75),
        (BoundaryKind::Unsigned, 40.0, 60.0, 0.125),
        (BoundaryKind::Unsigned, 40.0, -60.0, 0.125),
        (BoundaryKind::Absolute, 40.0, 60.0, 0.25),
        (BoundaryKind::Absolute, -40.0, 60.0, 0.25),
    ] {
        assert_eq!(cost(kind, signed, unsigned), expected, "{kind} {signed} {unsigned}");
    }
}

#[test]
fn points_with_less_signal_than_a_share_of_the_range_do_not_count() {
    // A share of 15 % of the range from 100 to 200 is 115.
    let moving = moving(|at| if at.x < 0.0 { 112.0 } else { 118.0 });
    let points = [point([-12.0, 0.0, 0.0], 3.0), point([12.0, 0.0, 0.0], 2.0)];
    let (_, outcome) = refined([&points; 2], &moving, -0.05).expect("a result");
    assert!((outcome.counted[0] - 0.4).abs() < 1e-6, "{outcome:?}");
}

#[test]
fn a_cost_that_is_not_lower_leaves_the_start() {
    let moving = moving(|_| 150.0);
    let points = [point([-12.0, 0.0, 0.0], 3.0), point([12.0, 0.0, 0.0], 2.0)];
    let (transform, outcome) = refined([&points; 2], &moving, -0.05).expect("a result");
    assert!(outcome.costs == [0.5; 2] && !outcome.taken, "{outcome:?}");
    assert_eq!(transform, AffineTransform::identity());
}

#[test]
fn a_border_outside_the_image_is_refused_unless_the_result_brings_it_inside() {
    // The intensity rises along the y axis, across the border. The image ends at x = 31 mm.
    let moving = moving(|at| 150.0 + 30.0 * (at.y / 3.0).tanh());
    let points = |x: f64| [-10.0, -5.0, 0.0, 5.0, 10.0].map(|z| point([x, 0.0, z], 2.0));
    let far = points(100.0);
    assert!(matches!(refined([&far; 2], &moving, -0.05), Err(Error::NoOverlap)));
    let near = points(32.0);
    let (transform, outcome) = refined([&near; 2], &moving, -0.05).expect("a result");
    assert!(outcome.taken && outcome.counted[0] == 0.0 && outcome.counted[1] > 0.9, "{outcome:?}");
    assert!(outcome.costs[0] == 0.5 && outcome.costs[1] < 0.4, "{outcome:?}");
    assert!(transform.translation.x < -1.5, "{transform:?}");
}

#[test]
fn the_result_is_best_for_all_points_not_only_for_the_few_of_the_first_level() {
    // The moving image shows a bright ball around the origin.
    let moving = moving(|at| 110.0 + 80.0 / (1.0 + ((at.coords.norm() - 12.0) / 1.5).exp()));
    let sphere = |centre: Vector3<f64>| -> Vec<SurfacePoint> {
        let directions =
            (0..125).map(|n| Vector3::from([n % 5, n / 5 % 5, n / 25].map(|index| f64::from(index) - 2.0)));
        let normals = directions.filter_map(|direction| direction.try_normalize(0.0));
        normals
            .map(|normal| SurfacePoint { place: Point3::from(centre + 12.0 * normal), normal, area: 1.0 })
            .collect()
    };
    let centre = Vector3::new(1.5, -2.0, 0.5);
    let (few, all) = (sphere(centre + Vector3::new(1.0, 0.0, 0.0)), sphere(centre));
    let (transform, outcome) = refined([&few, &all], &moving, 0.05).expect("a result");
    assert!(outcome.taken, "{outcome:?}");
    assert!((transform.translation + centre).norm() < 0.2, "{transform:?}");
    assert!((outcome.moved_mm - transform.translation.norm()).abs() < 1e-9, "{outcome:?}");
}

#[test]
fn copies_of_the_start_are_shifted_and_turned_in_all_combinations() {
    for (slices, dof, turned) in
        [(false, Dof::Rigid6, 0..3), (true, Dof::Rigid6, 2..3), (false, Dof::Translation3, 0..0)]
    {
        let found = around(&frame(slices), dof);
        let mut combinations = BTreeSet::new();
        for copy in &found {
            let steps: [f64; 6] =
                std::array::from_fn(|i| if i < 3 { copy[i].to_degrees() / 3.0 } else { copy[i] / 3.0 });
            let nearest = steps.map(|step| step.round() as i32);
            (0..6).for_each(|i| assert!((steps[i] - f64::from(nearest[i])).abs() < 1e-9, "{copy:?}"));
            assert!((0..3).all(|axis| turned.contains(&axis) || nearest[axis] == 0), "{copy:?}");
            assert!(nearest.iter().all(|step| step.abs() <= 1) && copy[6..] == IDENTITY[6..], "{copy:?}");
            combinations.insert(nearest);
        }
        assert_eq!(found[0][TRANSLATION..TRANSLATION + 3], [-3.0; 3], "in ascending order");
        let expected = 3usize.pow(3 + turned.len() as u32);
        assert_eq!((found.len(), combinations.len()), (expected, expected), "{slices} {dof:?}");
    }
}

#[test]
fn the_start_and_the_best_candidates_apart_from_each_other_are_kept() {
    // With voxels of 5 mm, the tolerance of a translation is 1 mm.
    let at = |mm: f64, cost: f64| {
        let mut parameters = IDENTITY;
        parameters[TRANSLATION] = mm;
        Candidate { parameters, cost }
    };
    let rated = [
        (0.0, 0.9),
        (7.0, 0.05),
        (8.0, 0.8),
        (16.0, 0.7),
        (24.0, 0.6),
        (32.0, 0.5),
        (40.0, 0.4),
        (48.0, 0.3),
        (52.0, 0.2),
        (56.0, 0.1),
    ];
    let kept = distinct(rated.map(|(mm, cost)| at(mm, cost)).to_vec(), 5.0);
    let places: Vec<f64> = kept.iter().map(|candidate| candidate.parameters[TRANSLATION]).collect();
    assert_eq!(places, [0.0, 56.0, 48.0, 40.0, 32.0, 24.0]);
}
