//! Measures of a made object: at its place, moved, mirrored, and beside noise.

use antsreg_core::jacobian::JacobianSummary;
use antsreg_core::{AffineTransform, Grid};
use antsreg_verdict::{Affine, Measures, Pair, Seen, coarse_grid};
use nalgebra::{Point3, Rotation3, Vector3};

/// A head-like object, brighter inside, with parts that differ on the left and the right. `at` is in world mm.
fn object(at: &Point3<f64>) -> f32 {
    let part = |centre: [f64; 3], radii: [f64; 3], value: f64| {
        let r: f64 = (0..3).map(|axis| ((at[axis] - centre[axis]) / radii[axis]).powi(2)).sum();
        value / (1.0 + (8.0 * (r - 1.0)).exp())
    };
    let wave = 12.0 * ((0.11 * at.x).sin() * (0.13 * at.y).cos() + (0.09 * at.z + 0.05 * at.x).sin());
    let head = part([0.0; 3], [65.0, 85.0, 60.0], 1.0);
    (head * (60.0 + wave)) as f32
        + (part([25.0, 20.0, 10.0], [18.0, 25.0, 15.0], 60.0) - part([-30.0, -30.0, 0.0], [12.0, 20.0, 20.0], 40.0)
            + part([-20.0, 40.0, 20.0], [15.0, 10.0, 12.0], 50.0)) as f32
}

fn grid() -> Grid {
    let mut grid = coarse_grid(&Grid::axis_aligned([180, 220, 180], [1.0; 3]));
    grid.origin -= Vector3::new(90.0, 110.0, 90.0);
    grid
}

fn image(grid: &Grid, map: &AffineTransform) -> Vec<f32> {
    let [nx, ny, _] = grid.shape;
    let at = |n: usize| Point3::from([n % nx, n / nx % ny, n / nx / ny].map(|index| index as f64));
    (0..grid.len()).map(|n| object(&map.apply(&grid.voxel_to_world().apply(&at(n))))).collect()
}

fn measures_of(values: Vec<f32>) -> Measures {
    let grid = grid();
    let seen = Seen { inside: vec![1.0; grid.len()], values };
    let fixed = image(&grid, &AffineTransform::identity());
    let pair = Pair { grid, fixed, affine: seen, warped: None };
    let identity = AffineTransform::identity();
    let affine = Affine { start: &identity, found: &identity, jacobian: None::<&JacobianSummary> };
    Measures::of(&pair, affine).expect("images with contrast")
}

/// A turn by `degrees` about an oblique axis, then a shift, mm.
fn turned(degrees: f64, shift: f64) -> AffineTransform {
    let axis = Vector3::new(1.0, 2.0, 3.0).normalize();
    let matrix = Rotation3::new(axis * degrees.to_radians()).into_inner();
    AffineTransform { matrix, translation: Vector3::new(shift, 0.0, -shift) }
}

#[test]
fn a_right_result_has_no_better_place() {
    let found = measures_of(image(&grid(), &AffineTransform::identity()));
    assert!(found.gain < 1e-9 && found.moved < 1e-9 && found.settled < 1e-9, "{found:?}");
    assert!(
        found.information > 0.7
            && found.explained > 0.99
            && found.local > 0.99
            && found.overlap > 0.99
            && found.covered == 1.0,
        "{found:?}"
    );
    assert!(found.mirror < -0.1, "{}", found.mirror);
}

#[test]
fn a_small_move_is_measured() {
    // The object's radius is about 55 mm and its extent 180 mm: 8° and 6 mm along two axes move its points by 10 mm.
    let found = measures_of(image(&grid(), &turned(8.0, 6.0)));
    assert!((0.035..0.075).contains(&found.settled), "{}", found.settled);
    assert!(found.gain > 0.3 && found.apart < 0.015, "{found:?}");
}

#[test]
fn a_large_move_is_found_from_far_starts() {
    let found = measures_of(image(&grid(), &turned(65.0, 10.0)));
    assert!(found.moved > 0.2 && found.gain > 0.5, "{found:?}");
}

#[test]
fn a_mirror_image_matches_better_when_mirrored() {
    let flip = AffineTransform {
        matrix: nalgebra::Matrix3::from_diagonal(&Vector3::new(-1.0, 1.0, 1.0)),
        translation: Vector3::zeros(),
    };
    let found = measures_of(image(&grid(), &flip));
    assert!(found.mirror > 0.05, "{}", found.mirror);
}

#[test]
fn noise_has_neither_structure_nor_information() {
    let mut random = 7u32;
    let noise = (0..grid().len()).map(|_| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) as f32
    });
    let found = measures_of(noise.collect());
    assert!(found.structure < 0.05 && found.information < 0.05, "{found:?}");
}

#[test]
fn an_image_without_contrast_has_no_measures() {
    let grid = grid();
    let fixed = image(&grid, &AffineTransform::identity());
    let seen = Seen { values: vec![3.0; grid.len()], inside: vec![1.0; grid.len()] };
    let identity = AffineTransform::identity();
    let pair = Pair { grid, fixed, affine: seen, warped: None };
    assert!(Measures::of(&pair, Affine { start: &identity, found: &identity, jacobian: None }).is_none());
}
