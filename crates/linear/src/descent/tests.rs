//! Tests of steepest descent on known functions.

use super::*;
use crate::Dof;
use crate::parameters::{IDENTITY, directions};

/// A quadratic test cost with its minimum a few parameter tolerances from the identity. `valley` is the additional
/// curvature along one direction.
fn cost(parameters: &Parameters, valley: f64) -> f64 {
    let scale = [0.005, 0.2, 0.002, 0.001];
    let away = |i: usize| (parameters[i] - IDENTITY[i]) / scale[i / 3] - 3.0 + i as f64;
    let sum: f64 = (0..6).map(|i| away(i) * away(i)).sum();
    0.1 + 1e-4 * (sum + valley * (away(0) + away(4)).powi(2))
}

fn run(starts: &[Parameters], valley: f64) -> (Vec<Candidate>, usize) {
    let mut rounds = 0;
    let found = minimise(starts, &directions(Dof::Rigid6, 1.0), |batch| {
        rounds += 1;
        Ok(batch.iter().map(|parameters| cost(parameters, valley)).collect())
    });
    (found.expect("costs"), rounds)
}

#[test]
fn a_round_bowl_takes_a_few_steps() {
    let (found, rounds) = run(&[IDENTITY], 0.0);
    assert!(found[0].cost - 0.1 < 1e-6, "{}", found[0].cost - 0.1);
    assert_eq!(found[0].cost, cost(&found[0].parameters, 0.0));
    assert!(rounds < 20, "{rounds} rounds");
}

#[test]
fn a_valley_is_followed_from_wall_to_wall() {
    let (found, rounds) = run(&[IDENTITY], 3.0);
    // The gains of successive steps fall geometrically. The search ends after a gain of a millionth of the cost, which
    // is 1e-7 here, so the error may be the sum of several such gains.
    assert!(found[0].cost - 0.1 < 5e-6, "{}", found[0].cost - 0.1);
    assert!(rounds > 12, "{rounds} rounds in a valley that is not round");
}

#[test]
fn starts_share_rounds_and_nothing_else() {
    let mut other = IDENTITY;
    other[4] = 2.0;
    let (alone, rounds) = run(&[IDENTITY], 1.0);
    let (both, shared) = run(&[other, IDENTITY], 1.0);
    assert_eq!(alone[0], both[1]);
    assert!(shared < 2 * rounds, "{shared} rounds for two, {rounds} for one");
}

#[test]
fn a_plain_is_left_at_once() {
    let mut evaluations = 0;
    let flat = |batch: &[Parameters]| {
        evaluations += batch.len();
        Ok(vec![0.7; batch.len()])
    };
    let found = minimise(&[IDENTITY], &directions(Dof::Rigid6, 1.0), flat).expect("costs");
    assert_eq!(found[0], Candidate { parameters: IDENTITY, cost: 0.7 });
    assert_eq!(evaluations, 13);
}
