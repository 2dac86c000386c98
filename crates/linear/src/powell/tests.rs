//! Tests of Powell's method on known functions, and of the points that must not be evaluated again.

use super::*;
use crate::Dof;
use crate::parameters::{IDENTITY, directions};

/// The expected resolution of each kind of parameter: 0.05° in radians, 0.02 mm, 0.0005 of scale and of skew.
const RESOLUTION: [f64; 4] = [8.726_646_259_971_648e-4, 0.02, 0.0005, 0.0005];

const TARGET: Parameters = [0.1, -0.2, 0.05, 12.0, -7.0, 3.0, 1.1, 0.9, 1.05, 0.02, -0.01, 0.03];

/// A test cost with a valley oblique to the parameter axes. Its minimum is at [`TARGET`].
fn valley(parameters: &Parameters) -> f64 {
    let scale = [0.005, 0.2, 0.002, 0.001];
    let away: [f64; 12] = std::array::from_fn(|i| (parameters[i] - TARGET[i]) / scale[i / 3]);
    let narrow: f64 = (0..12).map(|i| (away[i] - 0.9 * away[(i + 4) % 12]).powi(2)).sum();
    0.1 + 1e-5 * (narrow + 0.05 * away.iter().map(|part| part * part).sum::<f64>())
}

/// The distance between two sets of transform parameters: the largest difference of any parameter, in units of this
/// parameter's resolution.
fn distance(a: &Parameters, b: &Parameters, mm: f64) -> f64 {
    (0..12).map(|i| (a[i] - b[i]).abs() / (RESOLUTION[i / 3] * mm)).fold(0.0, f64::max)
}

/// Runs a Powell search from one start. Returns its result and all evaluated points.
fn run(start: Parameters, dof: Dof, mm: f64, cost: impl Fn(&Parameters) -> f64) -> (Candidate, Vec<Parameters>) {
    let mut evaluated = Vec::new();
    let found = minimise(&[start], &directions(dof, mm), mm, |batch| {
        evaluated.extend_from_slice(batch);
        Ok(batch.iter().map(&cost).collect())
    });
    (found.expect("costs")[0], evaluated)
}

#[test]
fn no_two_evaluated_points_are_closer_than_the_resolution() {
    // A test function with many small minima. A search that does not store the evaluated points would evaluate some
    // points of this function again.
    let rough = |parameters: &Parameters| valley(parameters) + 1e-5 * (300.0 * parameters[3]).sin();
    for (dof, mm) in [(Dof::Rigid6, 1.0), (Dof::Affine12, 1.0), (Dof::Affine12, 4.0)] {
        let (found, evaluated) = run(IDENTITY, dof, mm, rough);
        assert!(evaluated.len() > 50, "{} evaluations", evaluated.len());
        for (number, point) in evaluated.iter().enumerate() {
            for other in &evaluated[..number] {
                let distance = distance(point, other, mm);
                assert!(distance >= 1.0, "{distance} resolutions between {point:?} and {other:?}");
            }
        }
        // Powell's method gives a point the cost of an evaluated point that is closer than the resolution. The result
        // must be a point that was itself evaluated.
        assert!(evaluated.contains(&found.parameters));
        assert_eq!(found.cost, rough(&found.parameters));
    }
}

#[test]
fn follows_an_oblique_valley_to_its_bottom() {
    let (found, evaluated) = run(IDENTITY, Dof::Affine12, 1.0, valley);
    // The allowed error is two parameter tolerances along the flat valley of the test cost, where one tolerance changes
    // the cost by 5e-7.
    assert!(found.cost - 0.1 < 5e-5, "{} after {} evaluations", found.cost - 0.1, evaluated.len());
    let (swept, by_coordinates) = {
        let mut evaluations = 0;
        let found = crate::coordinate_search::descend(&[IDENTITY], &directions(Dof::Affine12, 1.0), 30, |batch| {
            evaluations += batch.len();
            Ok(batch.iter().map(valley).collect())
        });
        (found.expect("costs")[0], evaluations)
    };
    assert!(
        found.cost < swept.cost,
        "{} after {} evaluations, by coordinates {} after {by_coordinates}",
        found.cost,
        evaluated.len(),
        swept.cost
    );
}

#[test]
fn starts_do_not_see_each_other() {
    let mut other = IDENTITY;
    other[3] = 8.0;
    let directions = directions(Dof::Rigid6, 2.0);
    let evaluate = |batch: &[Parameters]| Ok(batch.iter().map(valley).collect());
    let alone = minimise(&[IDENTITY], &directions, 2.0, evaluate).expect("costs");
    let together = minimise(&[other, IDENTITY], &directions, 2.0, evaluate).expect("costs");
    assert_eq!(alone[0], together[1]);
    assert_ne!(together[0], together[1]);
}

#[test]
fn a_plain_is_left_after_one_sweep() {
    let (found, evaluated) = run(IDENTITY, Dof::Rigid6, 1.0, |_| 0.7);
    assert_eq!(found.cost, 0.7);
    assert_eq!(evaluated.len(), 1 + 2 * 6);
    assert!(minimise(&[IDENTITY], &[], 1.0, |batch| Ok(vec![0.5; batch.len()])).expect("costs")[0].cost == 1.0);
}
