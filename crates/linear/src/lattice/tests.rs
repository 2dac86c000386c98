//! Tests of the points of a lattice, of interpolation between the points, and of local minima.

use super::*;

#[test]
fn interpolates_linear_functions_exactly() {
    for range in [[90.0; 3], [40.0, 0.0, 90.0]] {
        let lattice = Lattice::new([4, if range[1] > 0.0 { 4 } else { 1 }, 5], range.map(f64::to_radians));
        let linear = |a: [f64; 3]| [1.0 + 2.0 * a[0] - a[1], 3.0 * a[2], a[0] + a[1] + a[2]];
        let values: Vec<[f64; 3]> = (0..lattice.len()).map(|number| linear(lattice.point(number))).collect();
        let at = [0.31, if range[1] > 0.0 { -0.74 } else { 0.0 }, 1.1];
        let (found, expected) = (lattice.interpolate(&values, at), linear(at));
        (0..3).for_each(|i| assert!((found[i] - expected[i]).abs() < 1e-12, "{found:?} for {expected:?}"));
    }
}

#[test]
fn minima_are_below_all_their_neighbours() {
    let lattice = Lattice::new([7; 3], [1.5; 3]);
    let mut costs = vec![1.0; lattice.len()];
    (0..lattice.len()).for_each(|number| costs[number] -= 1e-6 * number as f64);
    costs[100] = 0.2;
    costs[101] = 0.3;
    costs[300] = 0.1;
    assert_eq!(lattice.minima(&costs), [100, 300, lattice.len() - 1]);
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
