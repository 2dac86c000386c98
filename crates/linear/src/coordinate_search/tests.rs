//! Tests of coordinate searches that run in lockstep on a known function.

use super::*;
use crate::Dof;
use crate::parameters::{IDENTITY, directions};

const TARGET: Parameters = [0.1, -0.2, 0.05, 12.0, -7.0, 3.0, 1.1, 0.9, 1.05, 0.02, -0.01, 0.03];

/// A test cost with a valley, whose minimum is at [`TARGET`]. It is quadratic in the distance from there, in units of
/// the parameters' tolerances.
fn cost(parameters: &Parameters) -> f64 {
    let scale = [0.005, 0.2, 0.002, 0.001];
    let away: Vec<f64> = (0..12).map(|i| (parameters[i] - TARGET[i]) / scale[i / 3]).collect();
    let coupled: f64 = (0..11).map(|i| 0.3 * away[i] * away[i + 1]).sum();
    (away.iter().map(|d| d * d).sum::<f64>() + coupled) / 1e4
}

fn evaluate(batch: &[Parameters]) -> Result<Vec<f64>, Error> {
    Ok(batch.iter().map(cost).collect())
}

#[test]
fn every_start_reaches_the_bottom_in_shared_rounds() {
    let mut near = IDENTITY;
    near[3] = 11.0;
    let starts = [IDENTITY, near, TARGET];
    let (mut rounds, mut evaluations) = (0, 0);
    let found = descend(&starts, &directions(Dof::Affine12, 1.0), 12, |batch| {
        rounds += 1;
        evaluations += batch.len();
        evaluate(batch)
    })
    .expect("costs");
    assert_eq!(found.len(), 3);
    for candidate in &found {
        assert!(candidate.cost < 1e-3, "{candidate:?}");
        assert_eq!(candidate.cost, cost(&candidate.parameters));
    }
    assert!(evaluations > 2 * rounds, "{evaluations} evaluations in {rounds} rounds");
}

#[test]
fn a_start_does_not_see_its_neighbours() {
    let mut other = IDENTITY;
    other[5] = -30.0;
    let directions = directions(Dof::Similarity7, 2.0);
    let alone = descend(&[IDENTITY], &directions, 3, evaluate).expect("costs");
    let together = descend(&[other, IDENTITY], &directions, 3, evaluate).expect("costs");
    assert_eq!(alone[0], together[1]);
}

#[test]
fn only_the_given_directions_are_moved_along() {
    let found = descend(&[IDENTITY], &directions(Dof::Rigid6, 1.0), 4, evaluate).expect("costs");
    assert_eq!(found[0].parameters[6..], IDENTITY[6..]);
    assert_ne!(found[0].parameters[..6], IDENTITY[..6]);
    assert!(descend(&[], &directions(Dof::Rigid6, 1.0), 4, evaluate).expect("costs").is_empty());
}

/// Runs a search from 0 along one parameter, in at most `sweeps` sweeps. Returns the positions that it evaluated.
fn evaluated(sweeps: usize, cost: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut direction = [0.0; 12];
    direction[3] = 1.0;
    let mut positions = Vec::new();
    descend(&[IDENTITY], &[direction], sweeps, |batch| {
        positions.extend(batch.iter().map(|parameters| parameters[3]));
        assert!(positions.len() < 100, "the search does not end");
        Ok(batch.iter().map(|parameters| cost(parameters[3])).collect())
    })
    .expect("costs");
    positions
}

#[test]
fn a_line_opens_at_twice_the_last_move_and_the_search_ends_when_no_move_is_long() {
    // The vertex of the first parabola is the minimum. The second sweep only looks on both sides of it.
    assert_eq!(evaluated(9, |x| (x - 4.0).powi(2)), [-10.0, 10.0, 0.0, 4.0, -4.0, 12.0]);
    assert_eq!(evaluated(9, |x| (x - 1.0).powi(2)), [-10.0, 10.0, 0.0, 1.0, -1.0, 3.0]);
    assert_eq!(evaluated(9, |x| x * x), [-10.0, 10.0, 0.0]);
}

#[test]
fn a_search_makes_no_more_sweeps_than_allowed() {
    // On a slope without end, each line search looks on both sides and then grows eight times. The first one also
    // evaluates its start.
    for sweeps in 1..=4 {
        assert_eq!(evaluated(sweeps, |x| -x).len(), 1 + 10 * sweeps);
    }
}
