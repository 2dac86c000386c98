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

#[test]
fn outside_the_lattice_the_nearest_value_holds() {
    let lattice = Lattice::new([3, 4, 1], [1.0, 1.5, 0.0]);
    let values: Vec<[f64; 3]> = (0..lattice.len()).map(|number| [number as f64, 1.0, -2.0]).collect();
    for (at, number) in [
        ([-9.0, -9.0, -9.0], 0),
        ([9.0, -9.0, 0.0], 2),
        ([-9.0, 9.0, 0.0], 9),
        ([9.0, 9.0, 9.0], 11),
        ([1.0, 1.5, 0.0], 11),
    ] {
        assert_eq!(lattice.interpolate(&values, at), [f64::from(number), 1.0, -2.0], "{at:?}");
    }
}

#[test]
fn promising_points_are_minima_with_a_low_cost() {
    // Most costs are 10, so that the limit is a fifth of the range above the lowest cost, which is 0.
    let lattice = Lattice::new([50, 1, 1], [1.0, 0.0, 0.0]);
    let mut costs = vec![10.0; 50];
    (costs[5], costs[15], costs[25], costs[26]) = (2.0, 0.0, 2.5, 1.0);
    let parameters: Vec<Parameters> = (0..50).map(|number| [f64::from(number); 12]).collect();
    assert_eq!(lattice.promising(&parameters, &costs), [5, 15, 26].map(|number| [f64::from(number); 12]));
    let mut one_low = vec![15.0; 101];
    one_low[7] = 5.0;
    assert_eq!(promising(&one_low), 7.0);
    // Of 101 costs, the fifth counts that is reached at number 20.
    let squares: Vec<f64> = (0..=100).map(|number| f64::from(number * number)).collect();
    assert_eq!(promising(&squares), 400.0);
}
