//! Tests of line searches on functions with known minima.

use proptest::prelude::*;

use super::*;

/// Runs a line search on a function. Returns the best position and the number of evaluations.
fn minimise(function: impl Fn(f64) -> f64, cost: Option<f64>, opening: f64) -> (Probe, usize) {
    let mut search = LineSearch::new(cost, opening);
    let mut evaluations = 0;
    while !search.ask().is_empty() {
        let costs: Vec<f64> = search.ask().iter().map(|at| function(*at)).collect();
        evaluations += costs.len();
        assert!(evaluations < 30, "the search does not end");
        search.tell(&costs);
    }
    (search.best(), evaluations)
}

#[test]
fn a_parabola_takes_one_step() {
    let (best, evaluations) = minimise(|x| (x - 3.0).powi(2) + 7.0, None, 10.0);
    assert!((best.at - 3.0).abs() < 1e-9, "{best:?}");
    assert_eq!(evaluations, 4);
}

#[test]
fn a_minimum_beyond_the_opening_is_found() {
    for target in [-80.0, 45.0, 12.0] {
        let (best, _) = minimise(|x| (x - target).abs().powf(1.5), Some(f64::abs(target).powf(1.5)), 10.0);
        assert!((best.at - target).abs() < 1.5, "{best:?} for {target}");
    }
}

#[test]
fn a_slope_without_end_is_left_at_its_lowest() {
    let (best, _) = minimise(|x| -x, None, 2.0);
    assert!(best.at > 50.0);
    let (best, _) = minimise(|x| x, Some(0.0), 2.0);
    assert!(best.at < -50.0);
}

#[test]
fn brackets_grow_eight_times_by_their_factor() {
    // The opening of 2 is the first of nine distances, each 1.6 times as long as the one before.
    let expected = 2.0 * (1.6_f64.powi(9) - 1.0) / 0.6;
    for (sign, cost, first) in [(1.0, None, 3), (-1.0, Some(0.0), 2)] {
        let (best, evaluations) = minimise(|x| -sign * x, cost, 2.0);
        assert!((best.at - sign * expected).abs() < 1e-9 && best.cost == -sign * best.at, "{best:?} for {expected}");
        assert_eq!(evaluations, first + 8);
    }
}

#[test]
fn a_search_ends_after_its_number_of_parabolas_or_at_its_precision() {
    let evaluations = |precision, refinements| {
        let mut search = LineSearch::new(Some(81.0), 10.0).refined(precision, refinements);
        let mut evaluations = 0;
        while !search.ask().is_empty() {
            let costs: Vec<f64> = search.ask().iter().map(|x| (x - 3.0_f64).powi(4)).collect();
            evaluations += costs.len();
            search.tell(&costs);
        }
        evaluations
    };
    for refinements in 0..6 {
        assert_eq!(evaluations(1e-9, refinements), 2 + refinements);
    }
    // The vertex is at −½·(49 − 51)·10² / ((49 + 51)·10) = 0.1.
    for (precision, expected) in [(0.1, &[][..]), (0.099, &[0.1])] {
        let mut search = LineSearch::new(Some(100.0), 10.0).refined(precision, 4);
        search.tell(&[151.0, 149.0]);
        assert_eq!(search.ask(), expected, "precision {precision}");
    }
}

#[test]
fn between_two_equally_low_sides_the_upper_one_is_followed() {
    let mut search = LineSearch::new(Some(1.0), 10.0);
    search.tell(&[0.5, 0.5]);
    assert_eq!(search.ask(), [10.0 + 1.6 * 10.0]);
}

#[test]
fn the_vertex_is_that_of_the_parabola_through_three_points() {
    for (at, minimum) in [([-1.0, 0.5, 4.0], 1.2), ([-1.0, 0.5, 4.0], 0.1), ([2.0, 7.0, 8.0], 6.5)] {
        let bracket = at.map(|at: f64| Probe { at, cost: 3.0 * (at - minimum).powi(2) + 5.0 });
        assert!((vertex(bracket) - minimum).abs() < 1e-12, "{at:?} {minimum}");
    }
    let flat = [-1.0, 0.5, 4.0].map(|at| Probe { at, cost: 5.0 });
    assert_eq!(vertex(flat), 0.5);
}

#[test]
fn brackets_close_around_the_lower_position() {
    let probe = |at: f64, cost: f64| Probe { at, cost };
    let [low, middle, high] = [probe(-3.0, 2.0), probe(0.0, 1.0), probe(5.0, 4.0)];
    for (at, cost, expected) in [
        (-1.0, 0.5, [-3.0, -1.0, 0.0]),
        (-1.0, 1.0, [-1.0, 0.0, 5.0]),
        (2.0, 0.5, [0.0, 2.0, 5.0]),
        (2.0, 1.0, [-3.0, 0.0, 2.0]),
    ] {
        let found = probe(at, cost);
        assert_eq!(closed([low, middle, high], found).map(|probe| probe.at), expected, "{found:?}");
    }
}

#[test]
fn a_flat_line_stays_where_it_is() {
    let (best, evaluations) = minimise(|_| 1.0, Some(1.0), 10.0);
    assert_eq!(best, Probe { at: 0.0, cost: 1.0 });
    assert_eq!(evaluations, 2);
}

proptest! {
    #[test]
    fn never_ends_above_its_start(target in -40.0..40.0f64, opening in 1.0..15.0f64, ripple in 0.0..3.0f64) {
        let function = |x: f64| (x - target).powi(2) / 50.0 + ripple * (1.3 * x).sin();
        let (best, _) = minimise(function, Some(function(0.0)), opening);
        prop_assert!(best.cost <= function(0.0));
        prop_assert!((best.cost - function(best.at)).abs() < 1e-12, "the cost belongs to the position");
    }

    #[test]
    fn finds_smooth_minima_to_a_few_tolerances(target in -40.0..40.0f64, skew in -0.004..0.004f64) {
        let (best, _) = minimise(|x| (x - target).powi(2) * (1.0 + skew * (x - target)), None, 10.0);
        // The function of this test is not symmetric about its minimum. So the minimum of the last parabola, which is
        // fitted to a wide bracket, deviates from the minimum of the function.
        prop_assert!((best.at - target).abs() < 3.0, "{best:?} for {target}");
    }
}
