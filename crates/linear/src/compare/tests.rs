//! Tests of the candidates that the 4 mm level adds: neighbours, the start and the headers' alignment.

use antsreg_core::{AffineTransform, Grid, Unit, Volume};
use antsreg_kernels::{Cpu, Input};
use nalgebra::{Matrix3, Point3, Vector3};

use super::*;
use crate::Options;
use crate::fixed::Fixed;
use crate::images::{Images, Order};
use crate::parameters::{SCALE, SKEW, TRANSLATION};

fn frame(slices: bool) -> Frame {
    Frame::new(&AffineTransform::identity(), Matrix3::identity(), Point3::origin(), slices).expect("a frame")
}

#[test]
fn neighbours_are_turned_and_unless_rigid_scaled() {
    let affine = neighbours(&frame(false), &IDENTITY, Dof::Affine12);
    assert_eq!(affine.len(), 10);
    assert_eq!(affine[9][SCALE..SKEW], [1.2; 3]);
    let rigid = neighbours(&frame(false), &IDENTITY, Dof::Rigid6);
    assert_eq!(rigid.len(), 6);
    assert!(rigid.iter().all(|neighbour| neighbour[SCALE..] == IDENTITY[SCALE..]));
}

#[test]
fn neighbours_are_turned_by_nine_degrees_in_both_directions() {
    let mut from = IDENTITY;
    from[..TRANSLATION].copy_from_slice(&[0.5, -0.25, 1.0]);
    let found = neighbours(&frame(false), &from, Dof::Rigid6);
    for (n, neighbour) in found.iter().enumerate() {
        let mut expected = from;
        expected[n / 2] += if n % 2 == 0 { -1.0 } else { 1.0 } * std::f64::consts::PI / 20.0;
        (0..12).for_each(|i| assert!((neighbour[i] - expected[i]).abs() < 1e-12, "{neighbour:?} for {expected:?}"));
    }
}

#[test]
fn slices_have_neighbours_in_their_plane() {
    let affine = neighbours(&frame(true), &IDENTITY, Dof::Affine12);
    assert_eq!(affine.len(), 6);
    assert!(affine.iter().all(|neighbour| neighbour[..2] == [0.0; 2] && neighbour[8] == 1.0));
    assert_eq!(affine[5][SCALE..SKEW], [1.2, 1.2, 1.0]);
}

#[test]
fn anchors_are_the_start_and_the_headers_each_also_stretched() {
    let start = AffineTransform { translation: Vector3::new(30.0, -5.0, 0.0), ..AffineTransform::identity() };
    let centre = Point3::new(4.0, 6.0, -8.0);
    let frame = Frame::new(&start, Matrix3::identity(), centre, false).expect("a frame");
    let pose = |centre, extent: [f64; 3]| Pose { centre, axes: Matrix3::identity(), extent: extent.into() };
    let [fixed, moving] = [pose(Point3::new(1.0, 2.0, 3.0), [20.0, 30.0, 36.0]), pose(centre, [25.0, 27.0, 40.0])];
    let found = anchors(&frame, Dof::Affine12, &[fixed, moving]);
    let maps: Vec<AffineTransform> = found.iter().filter_map(|anchor| frame.transform(anchor)).collect();
    assert_eq!(maps.len(), 4);
    // The largest difference between the elements of two transforms. In double precision and with positions of some 10
    // mm, rounding errors are far below 1e-9.
    let apart = |a: &AffineTransform, b: &AffineTransform| {
        (a.matrix - b.matrix).amax().max((a.translation - b.translation).amax())
    };
    assert!(apart(&maps[0], &start) < 1e-9 && apart(&maps[1], &AffineTransform::identity()) < 1e-9, "{maps:?}");
    for stretched in &maps[2..] {
        let expected = Matrix3::from_diagonal(&moving.extent.component_div(&fixed.extent));
        assert!((stretched.matrix - expected).amax() < 1e-9, "{stretched:?}");
        assert!((stretched.apply(&fixed.centre) - moving.centre).norm() < 1e-9, "{stretched:?}");
    }
    assert_eq!(anchors(&frame, Dof::Similarity7, &[fixed, moving]).len(), 2, "nothing may be stretched");
}

#[test]
fn the_lowest_sum_of_both_costs_decides() {
    let mut grid = Grid::axis_aligned([24; 3], [8.0; 3]);
    grid.origin = Point3::new(-92.0, -92.0, -92.0);
    let to_world = grid.voxel_to_world();
    let at = |n: usize| to_world.apply(&Point3::from([n % 24, n / 24 % 24, n / 576].map(|i| i as f64))).coords;
    let value = |n: usize| if at(n).norm() < 80.0 { 100.0 + at(n).x + 0.3 * at(n).y - 0.2 * at(n).z } else { 0.0 };
    let image = Volume { voxels: (0..grid.len()).map(|n| value(n) as f32).collect(), grid };
    let options = Options::default();
    let fixed = Fixed::new(&Cpu, &image, None, &options).expect("a fixed image");
    let images = Images::new(&Cpu, &fixed, &Input::from(&image), None).expect("a moving image");
    let poses = images.poses().expect("poses");
    let roles = [Order::Given, Order::Exchanged]
        .map(|order| Roles::new(&images, order, &AffineTransform::identity(), &poses, &options).expect("roles"));
    let mut moved = IDENTITY;
    moved[TRANSLATION] = 30.0;
    // The moved candidate is better by its own cost and much worse by the other.
    let found = || [(moved, 0.0), (IDENTITY, 0.01)].map(|(parameters, cost)| (Candidate { parameters, cost }, None));
    let mut observer = ();
    let progress = &mut Progress::new(&mut observer, Unit::MILLIMETRE);
    let best = best_both_ways(&roles[0], &roles[1], 8.0, found().to_vec(), progress).expect("costs");
    assert_eq!(best.expect("a candidate").0.parameters, IDENTITY);
    let none = best_both_ways(&roles[0], &roles[1], 8.0, Vec::new(), progress).expect("costs");
    assert!(none.is_none());
}
