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

/// Search directions of 1 mm along the first `count` translations.
fn translations(count: usize) -> Vec<Direction> {
    let direction = |axis: usize| std::array::from_fn(|i| f64::from(u8::from(i == 3 + axis)));
    (0..count).map(direction).collect()
}

/// The positions that a search from 0 along one parameter evaluates, batch by batch.
fn evaluated(cost: impl Fn(f64) -> f64) -> Vec<Vec<f64>> {
    let mut batches = Vec::new();
    minimise(&[IDENTITY], &translations(1), |batch| {
        batches.push(batch.iter().map(|parameters| parameters[3]).collect::<Vec<f64>>());
        Ok(batch.iter().map(|parameters| cost(parameters[3])).collect())
    })
    .expect("costs");
    batches
}

#[test]
fn steps_and_gains_as_large_as_the_limits_do_not_end_the_search() {
    // The gain of the only step, 1, is a millionth of the cost. Afterwards, another gradient is measured.
    let batches = evaluated(|x| 1e6 + (x - 1.0).powi(2));
    assert_eq!(batches, [vec![0.0, 1.0, -1.0], vec![-10.0, 10.0], vec![1.0], vec![2.0, 0.0]]);
    // The first parabola has its vertex at 0.1, which is the limit. The other positions on the line are worse.
    let batches = evaluated(|x| match x {
        -10.0 => 151.0,
        -1.0 => 100.5,
        0.0 => 100.0,
        0.1 => 99.0,
        1.0 => 99.5,
        10.0 => 149.0,
        _ => 200.0,
    });
    assert_eq!(batches[2], [0.1]);
    assert_eq!(batches.last().expect("batches")[..], [1.1, -0.9]);
}

#[test]
fn lines_open_at_twice_the_last_step_and_the_search_ends_after_a_short_step_or_a_small_gain() {
    for (lowest, short) in [(0.0, true), (1e5, false)] {
        let cost = |x: f64, y: f64| lowest + (x - 4.0).powi(2) + (y + 3.0).powi(2) + 1.8 * (x - 4.0) * (y + 3.0);
        let (mut centres, mut openings): (Vec<[f64; 2]>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut gradient = false;
        let found = minimise(&[IDENTITY], &translations(2), |batch| {
            let at = |n: usize| [batch[n][3], batch[n][4]];
            let apart = |n: usize, other: usize| f64::hypot(at(n)[0] - at(other)[0], at(n)[1] - at(other)[1]);
            if batch.len() >= 4 {
                let first = batch.len() - 4;
                centres.push([0, 1].map(|i| 0.5 * (at(first)[i] + at(first + 1)[i])));
            } else if gradient {
                openings.push(0.5 * apart(0, 1));
            }
            gradient = batch.len() >= 4;
            Ok(batch.iter().map(|parameters| cost(parameters[3], parameters[4])).collect())
        });
        let end = found.expect("costs")[0];
        centres.push([end.parameters[3], end.parameters[4]]);
        let steps: Vec<f64> =
            centres.windows(2).map(|pair| f64::hypot(pair[1][0] - pair[0][0], pair[1][1] - pair[0][1])).collect();
        let gains: Vec<f64> =
            centres.windows(2).map(|pair| cost(pair[0][0], pair[0][1]) - cost(pair[1][0], pair[1][1])).collect();
        let expected = [10.0].into_iter().chain(steps.iter().map(|step| (2.0 * step).clamp(0.4, 10.0)));
        for (n, (opening, expected)) in openings.iter().zip(expected).enumerate() {
            assert!((opening - expected).abs() < 1e-9, "line {n}: {opening} for {expected}");
        }
        let (last, before) = (steps.len() - 1, steps.len() - 2);
        assert!(before > 2 && openings.len() == steps.len(), "{steps:?}");
        assert!(steps[..last].iter().all(|step| *step >= 0.1), "{steps:?}");
        assert!(gains[..last].iter().all(|gain| *gain >= 1e-6 * end.cost), "{gains:?}");
        assert_eq!((steps[last] < 0.1, gains[last] < 1e-6 * end.cost), (short, !short), "{steps:?} {gains:?}");
    }
}

#[test]
fn at_most_sixty_gradients_are_measured() {
    // Every evaluation has a lower cost than all before, so the search never settles.
    let (mut evaluations, mut gradients) = (0.0, 0);
    let falling = |batch: &[Parameters]| {
        gradients += usize::from(batch.len() >= 6);
        assert!(gradients <= 60, "the search does not end");
        Ok(batch
            .iter()
            .map(|_| {
                evaluations += 1.0;
                1e6 - evaluations
            })
            .collect())
    };
    minimise(&[IDENTITY], &translations(3), falling).expect("costs");
    assert_eq!(gradients, 60);
}
