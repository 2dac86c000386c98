//! Tests of Newton steps in narrow valleys, where line searches along single parameters are slow.

use super::*;
use crate::Dof;
use crate::parameters::{IDENTITY, directions};

/// A test cost with a narrow valley, oblique to all axes. Its minimum is away from the start. Coordinates are in units
/// of the parameters' tolerances.
fn cost(parameters: &Parameters, bend: f64) -> f64 {
    let scale = [0.005, 0.2, 0.002, 0.001];
    let x: Vec<f64> = (0..12).map(|i| (parameters[i] - IDENTITY[i]) / scale[i / 3] - 2.0 + 0.3 * i as f64).collect();
    let narrow: f64 = (0..12).map(|i| (x[i] - x[(i + 1) % 12] + 0.4 * x[(i + 5) % 12]).powi(2)).sum();
    let wide: f64 = x.iter().map(|v| 0.05 * v * v).sum();
    0.1 + 1e-4 * (narrow + wide + bend * x.iter().map(|v| v.powi(4)).sum::<f64>() / 100.0)
}

fn run(bend: f64, iterations: usize, known: Option<&Curvature>) -> (Candidate, Curvature, usize) {
    let mut evaluations = 0;
    let evaluate = |batch: &[Parameters]| {
        evaluations += batch.len();
        Ok(batch.iter().map(|parameters| cost(parameters, bend)).collect())
    };
    let polished = polish(&[IDENTITY], &directions(Dof::Affine12, 1.0), iterations, known, Rejected::Ends, evaluate)
        .expect("costs");
    let (found, curvature) = polished[0].clone();
    (found, curvature.expect("a curvature"), evaluations)
}

#[test]
fn finds_the_bottom_of_an_oblique_valley() {
    for bend in [0.0, 1.0] {
        let (found, _, _) = run(bend, 10, None);
        assert!(found.cost - 0.1 < 1e-7, "{} with bend {bend}", found.cost - 0.1);
        assert_eq!(found.cost, cost(&found.parameters, bend));
    }
}

#[test]
fn curvature_of_another_level_saves_evaluations() {
    let (_, curvature, first) = run(0.5, 10, None);
    let (found, _, second) = run(0.6, 10, Some(&curvature));
    assert!(found.cost - 0.1 < 1e-7, "{}", found.cost - 0.1);
    assert!(2 * second < 2 * first - 100, "{second} evaluations after {first}");
}

#[test]
fn a_curvature_that_no_minimum_has_is_measured_anew() {
    let (expected, Curvature(known), evaluations) = run(0.5, 10, None);
    let mut wrong = known.clone();
    wrong[(4, 4)] *= -1.0;
    let (found, _, again) = run(0.5, 10, Some(&Curvature(wrong)));
    assert_eq!((found, again), (expected, evaluations));
}

#[test]
fn measures_the_curvature() {
    let (_, Curvature(hessian), _) = run(0.0, 1, None);
    // The first coordinate x₀ occurs in three squares of the test cost, with the factors 1, −1 and 0.4, and in the term
    // 0.05·x₀². All these terms have the factor 1e-4. So the expected second derivative by x₀ is 2·(1 + 1 + 0.16 +
    // 0.05)·1e-4.
    assert!((hessian[(0, 0)] - 4.42e-4).abs() < 1e-9, "{}", hessian[(0, 0)]);
    // The only term of the test cost with both of the first two coordinates is −2e-4·x₀·x₁. So the expected second
    // derivative by x₀ and x₁ is −2e-4.
    assert!((hessian[(0, 1)] + 2e-4).abs() < 1e-9, "{}", hessian[(0, 1)]);
    assert!((hessian.clone() - hessian.transpose()).amax() < 1e-15);
}

/// A test cost that is a funnel with a rounded tip, as costs from joint histograms are around their minimum. The minimum
/// is away from the start.
fn funnel(parameters: &Parameters) -> f64 {
    let (scale, minimum) = ([0.005, 0.2, 0.002, 0.001], [0.4, 0.5, 0.3, 0.5, 0.4, 4.0]);
    let squares: f64 = (0..6).map(|i| ((parameters[i] - IDENTITY[i]) / scale[i / 3] - minimum[i]).powi(2)).sum();
    0.9 - 0.5 * (-(squares + 0.02).sqrt() / 3.0).exp()
}

#[test]
fn the_tip_of_a_funnel_is_found_although_newton_steps_are_rejected() {
    let directions = directions(Dof::Rigid6, 1.0);
    let above_the_tip = |rejected| {
        let evaluate = |batch: &[Parameters]| Ok(batch.iter().map(funnel).collect());
        let polished = polish(&[IDENTITY], &directions, 16, None, rejected, evaluate).expect("costs");
        assert_eq!(polished[0].0.cost, funnel(&polished[0].0.parameters));
        polished[0].0.cost - 0.9 + 0.5 * (-0.02_f64.sqrt() / 3.0).exp()
    };
    // One parameter tolerance away from the minimum, this test cost is about 0.12 higher.
    let (ends, continues) = (above_the_tip(Rejected::Ends), above_the_tip(Rejected::Continues));
    assert!(ends > 0.01, "{ends}");
    assert!(continues < 0.001, "{continues}");
}

#[test]
fn damped_steps_have_their_length_and_lower_the_model() {
    let hessian = DMatrix::from_row_slice(3, 3, &[2.0, 1.9, 0.0, 1.9, 2.0, 0.3, 0.0, 0.3, -0.5]);
    let gradient = DVector::from_row_slice(&[1.0, -2.0, 0.5]);
    for length in [0.1, 1.0, 3.0] {
        let step = damped_step(&hessian, &gradient, length);
        assert!((step.amax() - length).abs() < 1e-9, "{step}");
        assert!(gradient.dot(&step) < 0.0);
    }
    // With a large length limit, the damped step must be the Newton step.
    assert_eq!(damped_step(&hessian, &gradient, 100.0), newton_step(&hessian, &gradient));
    // Very short damped steps point against the gradient, as in steepest descent.
    let short = damped_step(&hessian, &gradient, 1e-6) * (2.0 / 1e-6);
    assert!((short + &gradient).amax() < 1e-5);
}

#[test]
fn nothing_to_gain_leaves_the_start() {
    let flat = |batch: &[Parameters]| Ok(vec![1.0; batch.len()]);
    let polished =
        polish(&[IDENTITY], &directions(Dof::Rigid6, 1.0), 5, None, Rejected::Continues, flat).expect("costs");
    assert_eq!(polished[0].0, Candidate { parameters: IDENTITY, cost: 1.0 });
}

#[test]
fn starts_do_not_see_each_other() {
    let mut other = IDENTITY;
    other[4] = 3.0;
    let directions = directions(Dof::Similarity7, 1.0);
    let run = |starts: &[Parameters]| {
        let evaluate = |batch: &[Parameters]| Ok(batch.iter().map(|parameters| cost(parameters, 0.5)).collect());
        polish(starts, &directions, 8, None, Rejected::Continues, evaluate).expect("costs")
    };
    let (alone, together) = (run(&[IDENTITY]), run(&[other, IDENTITY]));
    assert!(together.contains(&alone[0]));
    assert!(together[0].0.cost <= together[1].0.cost);
}

#[test]
fn slopes_of_a_quadratic_are_exact_at_any_step() {
    let matrix = DMatrix::from_row_slice(3, 3, &[2.0, -0.5, 0.25, -0.5, 1.0, 0.75, 0.25, 0.75, -3.0]);
    let linear = DVector::from_row_slice(&[0.5, -1.0, 2.0]);
    let quadratic = |x: &DVector<f64>| 7.0 + linear.dot(x) + 0.5 * x.dot(&(&matrix * x));
    for reach in [0.25, 0.5, 1.0, 3.0] {
        let costs: Vec<f64> = stencil(3, reach, true).iter().map(quadratic).collect();
        let Slopes { cost, gradient, hessian } = slopes(3, reach, None, &costs);
        assert_eq!(cost, 7.0);
        assert!((gradient - &linear).amax() < 1e-12 && (hessian - &matrix).amax() < 1e-12, "reach {reach}");
        // Without the pairs, the known matrix gives the correlations. Here it is the right one, in other units.
        let (units, costs) = (DMatrix::from_diagonal(&DVector::from_row_slice(&[2.0, 0.5, 3.0])), &costs[..7]);
        let known = Curvature(&units * &matrix * &units);
        let Slopes { gradient, hessian, .. } = slopes(3, reach, Some(&known), costs);
        assert!((gradient - &linear).amax() < 1e-12 && (hessian - &matrix).amax() < 1e-12, "reach {reach}");
    }
}

#[test]
fn differences_need_two_points_for_each_direction_and_each_pair_of_directions() {
    assert_eq!([false, true].map(|pairs| stencil(4, 0.5, pairs).len()), [1 + 2 * 4, 1 + 2 * 4 + 2 * 6]);
}

#[test]
fn curvatures_that_have_no_ratio_are_not_rescaled() {
    // Only the second direction has a positive and finite ratio of the curvatures; it is 4.
    let known = |first: f64| DMatrix::from_row_slice(2, 2, &[first, 1.0, 1.0, 1.0]);
    for (first, measured) in [(4.0, -1.0), (4.0, 0.0), (0.0, 1.0), (0.0, 0.0)] {
        let found = rescaled(&known(first), &DVector::from_row_slice(&[measured, 4.0]));
        assert_eq!(found, DMatrix::from_row_slice(2, 2, &[first, 2.0, 2.0, 4.0]), "{first} {measured}");
    }
}

#[test]
fn a_learned_curvature_explains_the_change_of_the_gradient() {
    let before = DMatrix::from_row_slice(2, 2, &[2.0, 0.5, 0.5, 1.0]);
    let (step, change) = (DVector::from_row_slice(&[1.0, -2.0]), DVector::from_row_slice(&[0.5, -3.0]));
    let mut hessian = before.clone();
    learn(&mut hessian, &step, &change);
    assert!((&hessian * &step - &change).amax() < 1e-12, "{hessian}");
    // BFGS multiplies the determinant by the ratio of the measured to the expected curvature along the step.
    let ratio = step.dot(&change) / step.dot(&(&before * &step));
    assert!((hessian.determinant() - ratio * before.determinant()).abs() < 1e-12, "{hessian}");
}

#[test]
fn nothing_is_learned_from_a_change_much_smaller_than_expected() {
    let step = DVector::from_row_slice(&[1.0, 0.0]);
    let learned = |own: f64, change: f64| {
        let before = DMatrix::from_diagonal(&DVector::from_row_slice(&[own, 1.0]));
        let mut hessian = before.clone();
        learn(&mut hessian, &step, &DVector::from_row_slice(&[change, 0.0]));
        hessian != before
    };
    assert!(learned(10.0, 1.5) && learned(10.0, 12.0));
    assert!(!learned(10.0, 1.0) && !learned(10.0, 0.5) && !learned(10.0, -5.0));
    assert!(!learned(0.0, 1.0) && !learned(-10.0, 1.0));
}

#[test]
fn newton_steps_go_downhill_whatever_the_curvatures_are() {
    let step = |curvatures: [f64; 2], gradient: [f64; 2]| {
        let hessian = DMatrix::from_diagonal(&DVector::from_row_slice(&curvatures));
        newton_step(&hessian, &DVector::from_row_slice(&gradient))
    };
    let expected = |step: [f64; 2]| DVector::from_row_slice(&step);
    assert!((step([2.0, 4.0], [4.0, -4.0]) - expected([-2.0, 1.0])).amax() < 1e-12);
    assert!((step([-2.0, 4.0], [4.0, -4.0]) - expected([-2.0, 1.0])).amax() < 1e-12, "negative curvatures");
    assert!((step([1e-9, -4.0], [4e-4, 4.0]) - expected([-1.0, -1.0])).amax() < 1e-12, "raised curvatures");
    assert!((step([1.0, 1.0], [60.0, -20.0]) - expected([-15.0, 5.0])).amax() < 1e-12, "shortened steps");
    assert_eq!(step([0.0, 0.0], [1.0, 1.0]), expected([0.0, 0.0]));
}

/// The positions that a search from 0 along one parameter evaluates, batch by batch, and its result.
fn batches(steps: usize, rejected: Rejected, cost: impl Fn(f64) -> f64) -> (Vec<Vec<f64>>, [f64; 2]) {
    let mut direction = [0.0; 12];
    direction[3] = 1.0;
    let mut batches = Vec::new();
    let found = polish(&[IDENTITY], &[direction], steps, None, rejected, |batch| {
        batches.push(batch.iter().map(|parameters| parameters[3]).collect::<Vec<f64>>());
        assert!(batches.len() < 100, "the search does not end");
        Ok(batch.iter().map(|parameters| cost(parameters[3])).collect())
    });
    let found = found.expect("costs")[0].0;
    (batches, [found.parameters[3], found.cost])
}

#[track_caller]
fn assert_batches(found: &[Vec<f64>], expected: &[&[f64]]) {
    let near = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
    let all_near = found.iter().zip(expected).all(|(a, b)| near(a, b));
    assert!(found.len() == expected.len() && all_near, "{found:?} for {expected:?}");
}

const STENCIL: [f64; 3] = [0.0, 1.0, -1.0];

#[test]
fn a_step_goes_to_the_bottom_of_a_parabola_and_a_second_gradient_confirms_it() {
    let along = [1.2, 2.8, 4.0, 5.6];
    let parabola = |x: f64| 1.0 + (x - 4.0).powi(2);
    let (found, result) = batches(5, Rejected::Ends, parabola);
    assert_batches(&found, &[&STENCIL, &along, &[4.0, 5.0, 3.0]]);
    assert_eq!(result, [4.0, 1.0]);
    let (found, result) = batches(1, Rejected::Ends, parabola);
    assert_batches(&found, &[&STENCIL, &along]);
    assert_eq!(result, [4.0, 1.0]);
    let (found, result) = batches(0, Rejected::Ends, parabola);
    assert_eq!((found.len(), result), (0, [0.0, 1.0]));
    // After a step below a tenth of a tolerance, the search ends.
    let (found, _) = batches(5, Rejected::Ends, |x| 1.0 + (x - 0.05).powi(2));
    assert_batches(&found, &[&STENCIL, &[0.015, 0.035, 0.05, 0.07]]);
}

#[test]
fn no_step_is_made_for_a_gain_below_two_millionths_of_the_cost() {
    // The gain that the parabola predicts is 16.
    for (cost, expected) in [(7.9e6, 3), (8.1e6, 1)] {
        let (found, _) = batches(5, Rejected::Ends, |x| cost - 16.0 + (x - 4.0).powi(2));
        assert_eq!(found.len(), expected, "{cost}");
    }
}

#[test]
fn a_rejected_step_ends_the_search_or_is_shortened_before_smaller_differences_follow() {
    // The gradient is 0.5, the curvature 3, and the cost along the step of −1/6 is higher.
    let cost = |x: f64| match x {
        0.0 => 10.0,
        1.0 => 12.0,
        -1.0 => 11.0,
        _ => 20.0,
    };
    let along = [0.3, 0.7, 1.0, 1.4].map(|length| -length / 6.0);
    let (found, result) = batches(9, Rejected::Ends, cost);
    assert_batches(&found, &[&STENCIL, &along]);
    assert_eq!(result, [0.0, 10.0]);
    // A cost that is not higher along the step is not lower, either.
    let (found, result) = batches(9, Rejected::Ends, |x| cost(x).min(if x.abs() < 1.0 { 10.0 } else { 20.0 }));
    assert_batches(&found, &[&STENCIL, &along]);
    assert_eq!(result, [0.0, 10.0]);
    // All damped steps would be longer than the Newton step. The smaller differences have no slope.
    let (damped, closer) = ([-1.0 / 6.0; 4], [0.0, 0.5, -0.5]);
    let (found, result) = batches(9, Rejected::Continues, cost);
    assert_batches(&found, &[&STENCIL, &along, &damped, &closer]);
    assert_eq!(result, [0.0, 10.0]);
    let (found, _) = batches(1, Rejected::Continues, cost);
    assert_batches(&found, &[&STENCIL, &along, &damped]);
    // A rejected step that is too short to matter ends the search in any case.
    let (found, _) = batches(9, Rejected::Continues, |x| if x == -1.0 { 11.9 } else { cost(x) });
    assert_eq!(found.len(), 2);
}

#[test]
fn a_short_step_at_whose_far_end_the_cost_is_lowest_is_not_the_last() {
    // The gradient is −0.05 and the curvature 3.9, but the cost falls all along the step.
    let cost = |x: f64| match x {
        1.0 => 11.9,
        -1.0 => 12.0,
        _ => 10.0 - x,
    };
    let along = [0.3, 0.7, 1.0, 1.4].map(|length| length * 0.05 / 3.9);
    let (found, _) = batches(9, Rejected::Ends, cost);
    assert_batches(&found, &[&STENCIL, &along]);
    let (found, _) = batches(9, Rejected::Continues, cost);
    assert_batches(&found[..3], &[&STENCIL, &along, &STENCIL.map(|x| x + along[3])]);
}

#[test]
fn differences_are_halved_down_to_a_quarter_and_then_the_search_ends() {
    // At each size of the differences, the cost rises on both sides, hardly on the lower one. Elsewhere it is high.
    let cost = |x: f64| match x {
        0.0 => 10.0,
        0.25 | 0.5 | 1.0 => 12.0,
        -0.25 | -0.5 | -1.0 => 10.01,
        _ => 20.0,
    };
    let (found, result) = batches(9, Rejected::Continues, cost);
    let reaches: Vec<f64> = found.iter().filter(|batch| batch[0] == 0.0).map(|batch| batch[1]).collect();
    assert_eq!((reaches, result), (vec![1.0, 0.5, 0.25], [0.0, 10.0]));
    assert_eq!(found.len(), 9, "each followed by a Newton step and damped steps");
}

#[test]
fn a_lower_cost_beside_the_point_is_taken_if_no_step_is_better() {
    let closer = [1.0, 1.5, 0.5];
    // The gradient is −1.5 and the curvature is 1.
    let cost = |lowest_along: f64| {
        move |x: f64| match x {
            0.0 => 10.0,
            1.0 => 9.0,
            -1.0 => 12.0,
            _ if (x - 0.45).abs() < 1e-9 => lowest_along,
            _ => 20.0,
        }
    };
    let along = [0.45, 1.05, 1.5, 2.1];
    let (found, result) = batches(9, Rejected::Ends, cost(20.0));
    assert_batches(&found, &[&STENCIL, &along]);
    assert_eq!(result, [0.0, 10.0]);
    let (found, _) = batches(9, Rejected::Continues, cost(20.0));
    assert_batches(&found[..4], &[&STENCIL, &along, &[0.25, 0.5, 1.0, 1.5], &closer]);
    let (found, _) = batches(9, Rejected::Continues, cost(9.5));
    assert_batches(&found[..3], &[&STENCIL, &along, &closer]);
    for lowest in [9.0, 8.0] {
        let (found, _) = batches(9, Rejected::Continues, cost(lowest));
        assert_batches(&found[..3], &[&STENCIL, &along, &[0.45, 1.45, -0.55]]);
    }
    // Without any curvature there is no Newton step.
    let slope = |x: f64| if x.abs() <= 1.0 { 10.0 - x } else { 20.0 };
    let (found, _) = batches(9, Rejected::Continues, slope);
    assert_batches(&found[..2], &[&STENCIL, &closer]);
    let (found, result) = batches(1, Rejected::Continues, slope);
    assert_batches(&found, &[&STENCIL]);
    assert_eq!(result, [1.0, 9.0]);
}
