//! Tests of the lattice of rotation angles.

use super::*;

#[test]
fn angles_cover_the_range_at_about_the_step() {
    let lattice = |range_degrees: [f64; 3], step: f64| {
        angle_lattice(&AngleSearch { range_degrees, ..AngleSearch::default() }, step)
    };
    let coarse = lattice([90.0; 3], 60.0);
    assert_eq!(coarse.len(), 4 * 4 * 4);
    assert_eq!(lattice([90.0; 3], 18.0).len(), 1331);
    let last = coarse.point(63).map(f64::to_degrees);
    assert!(last.iter().all(|angle| (angle - 90.0).abs() < 1e-9), "{last:?}");
    let about_y = lattice([0.0, 30.0, 0.0], 18.0);
    assert_eq!(about_y.len(), 4);
    assert!((about_y.point(3)[1].to_degrees() - 30.0).abs() < 1e-9);
    assert_eq!(lattice([0.0; 3], 18.0).point(0), [0.0; 3]);
}
