//! The grid of angles.

use super::*;

fn grid(range_degrees: [f64; 3], step: f64) -> AngleGrid {
    AngleGrid::new(&AngleSearch { range_degrees, ..AngleSearch::default() }, step)
}

#[test]
fn covers_the_range_at_about_the_step() {
    let coarse = grid([90.0; 3], 60.0);
    assert_eq!(coarse.count, [4, 4, 4]);
    assert_eq!(grid([90.0; 3], 18.0).len(), 1331);
    let last = coarse.angles(63).map(f64::to_degrees);
    assert!(last.iter().all(|angle| (angle - 90.0).abs() < 1e-9), "{last:?}");
    assert_eq!(grid([0.0, 30.0, 0.0], 18.0).count, [1, 4, 1]);
    assert_eq!(grid([0.0; 3], 18.0).angles(0), [0.0; 3]);
}

#[test]
fn interpolates_linear_functions_exactly() {
    for range in [[90.0; 3], [40.0, 0.0, 90.0]] {
        let grid = grid(range, 60.0);
        let linear = |a: [f64; 3]| [1.0 + 2.0 * a[0] - a[1], 3.0 * a[2], a[0] + a[1] + a[2]];
        let values: Vec<[f64; 3]> = (0..grid.len()).map(|number| linear(grid.angles(number))).collect();
        let at = [0.31, if range[1] > 0.0 { -0.74 } else { 0.0 }, 1.1];
        let (found, expected) = (grid.interpolate(&values, at), linear(at));
        (0..3).for_each(|i| assert!((found[i] - expected[i]).abs() < 1e-12, "{found:?} for {expected:?}"));
    }
}

#[test]
fn minima_are_below_all_their_neighbours() {
    let grid = grid([90.0; 3], 30.0);
    let mut costs = vec![1.0; grid.len()];
    (0..grid.len()).for_each(|number| costs[number] -= 1e-6 * number as f64);
    costs[100] = 0.2;
    costs[101] = 0.3;
    costs[300] = 0.1;
    assert_eq!(grid.minima(&costs), [100, 300, grid.len() - 1]);
}

#[test]
fn promising_is_the_lower_of_both_limits() {
    let costs: Vec<f64> = (0..=100).map(f64::from).collect();
    assert_eq!(promising(&costs), 20.0);
    let mut skewed = vec![10.0; 101];
    skewed[..50].fill(1.0);
    assert_eq!(promising(&skewed), 1.0);
    skewed[0] = 0.0;
    skewed[1..].fill(10.0);
    assert_eq!(promising(&skewed), 2.0);
}
