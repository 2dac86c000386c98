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

/// A search along the first `count` translations, whose directions have a length of 1 mm. The resolution is 0.02 mm.
fn along_translations(count: usize) -> Powell {
    let direction = |axis: usize| std::array::from_fn(|i| f64::from(u8::from(i == 3 + axis)));
    Powell::new(IDENTITY, &(0..count).map(direction).collect::<Vec<_>>(), 1.0)
}

/// Tells the search costs until it is in the given state or ends.
fn told(mut search: Powell, cost: impl Fn(&Parameters) -> f64, until: impl Fn(&Powell) -> bool) -> Powell {
    for _ in 0..2000 {
        if until(&search) || matches!(search.phase, Phase::Done) {
            return search;
        }
        let costs: Vec<f64> = search.ask().iter().map(&cost).collect();
        search.tell(&costs);
    }
    panic!("the search does not end");
}

#[test]
fn points_as_far_apart_as_the_resolution_are_different_points() {
    // On the 50 mm level, the resolution of translations is 1 mm.
    let at = |mm: f64| {
        let mut parameters = IDENTITY;
        parameters[3] = mm;
        parameters
    };
    let mut memory = Memory::new(50.0);
    assert!(memory.are_near(&at(0.0), &at(0.99)) && !memory.are_near(&at(0.0), &at(1.0)));
    memory.learn([(at(0.0), 0.5), (at(1.5), 0.25)].into_iter());
    assert_eq!(
        [-1.0, -0.9, 0.7, 0.8, 2.5].map(|mm| memory.cost_near(&at(mm))),
        [None, Some(0.5), Some(0.5), Some(0.25), None]
    );
    assert_eq!(memory.unknown([0.5, 4.0, 4.5, 5.0, 2.4].map(at).to_vec()), [4.0, 5.0].map(at));
    assert_eq!(memory.best(), Some(Candidate { parameters: at(1.5), cost: 0.25 }));
}

#[test]
fn the_steepest_direction_of_a_sweep_is_the_one_with_the_largest_gain() {
    for (weights, expected) in [([1.0, 5.0, 2.0], 1), ([5.0, 1.0, 5.0], 0)] {
        // Each line search lowers the cost by sixteen times its weight.
        let cost = |parameters: &Parameters| {
            (0..3).map(|axis| weights[axis] * (parameters[3 + axis] - 4.0).powi(2)).sum::<f64>() + 1.0
        };
        let search = told(along_translations(3), cost, |search| matches!(search.phase, Phase::Beyond));
        assert!(matches!(search.phase, Phase::Beyond));
        assert_eq!(search.steepest.0, expected);
        assert!((search.steepest.1 - 80.0).abs() < 1e-6, "{:?}", search.steepest);
        // The point beyond is as far from the end as the end from the start.
        let points = search.needed_points();
        assert!((0..3).all(|axis| (points[0][3 + axis] - 8.0).abs() < 1e-6), "{points:?}");
    }
}

#[test]
fn the_displacement_of_a_sweep_replaces_its_steepest_direction_as_in_numerical_recipes() {
    // With a cost of 10 at the start, of 4 at the end and a largest gain of 3, the criterion is 2·(10 − 2·4 + c)·(10 − 4
    // − 3)² < 3·(10 − c)² for the cost c beyond, if c is below 10. Both sides are 108 for c = 4.
    for (beyond, replaced) in [
        (0.0, true),
        (2.0, true),
        (3.9, true),
        (4.0, false),
        (5.0, false),
        (9.9, false),
        (10.0, false),
        (100.0, false),
    ] {
        let mut search = along_translations(3);
        (search.point[3], search.point[5], search.cost) = (0.3, -0.4, 4.0);
        (search.sweep_start, search.steepest) = ((IDENTITY, 10.0), (1, 3.0));
        let before = search.directions.clone();
        let Phase::Line(line) = search.judged(beyond) else { panic!("a line search follows") };
        assert_eq!(line.number, if replaced { None } else { Some(0) }, "{beyond}");
        if !replaced {
            assert_eq!((search.directions, search.sweep_start.1), (before, 4.0));
            continue;
        }
        assert_eq!(search.directions[..2], [before[0], before[2]]);
        // The displacement is 0.4 mm along its longest component. Six resolutions are 0.12 mm.
        let whole = search.directions[2];
        assert!((whole[3] - 0.09).abs() < 1e-9 && (whole[5] + 0.12).abs() < 1e-9, "{whole:?}");
    }
}

#[test]
fn a_search_ends_after_thirty_sweeps_or_a_small_gain() {
    let falling = std::cell::Cell::new(1e6);
    let search = told(
        along_translations(2),
        |_| {
            falling.set(falling.get() - 10.0);
            falling.get()
        },
        |_| false,
    );
    assert_eq!(search.sweeps_left, 0);
    // The first sweep moves by 4 mm and lowers the cost by 16, which is less than a millionth of it.
    let search = told(along_translations(1), |parameters| 1e9 + (parameters[3] - 4.0).powi(2), |_| false);
    assert_eq!(search.sweeps_left, SWEEPS - 1);
    assert!((search.point[3] - 4.0).abs() < 0.02, "{:?}", search.point);
    // A gain of 1600 is more than a millionth, so that a second sweep follows.
    let search = told(along_translations(1), |parameters| 1e9 + 100.0 * (parameters[3] - 4.0).powi(2), |_| false);
    assert_eq!(search.sweeps_left, SWEEPS - 2);
}
