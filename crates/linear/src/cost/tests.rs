//! Tests of the costs on entropies and on intensity pairs of known similarity.

use super::*;

fn moments(pairs: &[[f64; 2]]) -> Moments {
    let sum = |term: fn([f64; 2]) -> f64| pairs.iter().map(|pair| term(*pair)).sum::<f64>();
    Moments {
        weight: pairs.len() as f64,
        fixed: sum(|[x, _]| x),
        moving: sum(|[_, y]| y),
        fixed_fixed: sum(|[x, _]| x * x),
        moving_moving: sum(|[_, y]| y * y),
        fixed_moving: sum(|[x, y]| x * y),
    }
}

fn costs(pairs: &[[f64; 2]]) -> [f64; 2] {
    [Cost::NormalisedCorrelation, Cost::LeastSquares].map(|cost| cost.of_moments(&moments(pairs)))
}

#[test]
fn correlation_knows_any_line_and_least_squares_one() {
    let values = [0.1, 0.7, 0.4, 0.9];
    let [correlation, squares] = costs(&values.map(|x| [x, x]));
    assert!(correlation.abs() < 1e-12 && squares.abs() < 1e-12);
    let [correlation, squares] = costs(&values.map(|x| [x, 0.8 - 0.5 * x]));
    assert!(correlation.abs() < 1e-12 && squares > 0.99);
    // Pairs of a fixed intensity x and a moving intensity y, where y differs from x by ±0.1. The variance term of
    // the least-squares cost, 0.5, was computed by hand: the sum of the squared deviations of y from its mean.
    let [_, squares] = costs(&[[0.1, 0.0], [0.4, 0.5], [0.4, 0.5], [1.1, 1.0]]);
    assert!((squares - 0.04 / 0.5).abs() < 1e-12, "{squares}");
}

#[test]
fn clouds_without_spread_cost_one() {
    for pairs in [vec![[0.3, 0.3]; 50], vec![[0.0, 0.0]; 50], Vec::new(), vec![[0.0, 0.0], [1.0, 1.0]]] {
        assert_eq!(costs(&pairs), [1.0, 1.0], "{pairs:?}");
    }
    assert_eq!(costs(&[[0.2, 0.5], [0.4, 0.5], [0.9, 0.5]]), [1.0, 1.0]);
}

#[test]
fn a_spread_that_may_be_rounding_costs_one() {
    // The variance is a share of 1e-8 or 1e-4 of the mean square; the limit is 1e-6.
    for (spread, constant) in [(0.1, true), (10.0, false)] {
        let values = [1000.0 - spread, 1000.0 + spread, 1000.0 - spread, 1000.0 + spread];
        for pairs in [[0, 1, 2, 3].map(|n| [values[n], n as f64]), [0, 1, 2, 3].map(|n| [n as f64, values[n]])] {
            // Deviations of ±1 and the numbers 0 to 3 have a sum of products of 2, and sums of squares of 4 and 5.
            let expected = if constant { 1.0 } else { 1.0 - 2.0 * 2.0 / (4.0 * 5.0) };
            let [correlation, _] = costs(&pairs);
            assert!((correlation - expected).abs() < 1e-6, "{correlation} for {pairs:?}");
        }
    }
    assert_eq!(costs(&[[0.2, 0.0], [0.4, 0.0], [0.9, 0.0]]), [1.0, 1.0]);
}

#[test]
fn information_is_scaled_to_costs() {
    let ln = |n: f64| n.ln();
    let entropies = |weight, fixed, moving, joint| Entropies { weight, fixed, moving, joint };
    let (mutual, normalised) = (Cost::MutualInformation, Cost::NormalisedMutualInformation);
    let same = entropies(1e4, ln(16.0), ln(16.0), ln(16.0));
    assert!(mutual.of_entropies(&same, 16).abs() < 1e-12 && normalised.of_entropies(&same, 16).abs() < 1e-12);
    let independent = entropies(1e4, ln(8.0), ln(4.0), ln(32.0));
    assert!((mutual.of_entropies(&independent, 16) - 1.0).abs() < 1e-12);
    assert!((normalised.of_entropies(&independent, 16) - 1.0).abs() < 1e-12);
    let between = entropies(1e4, ln(8.0), ln(8.0), ln(16.0));
    assert!((mutual.of_entropies(&between, 16) - 0.5).abs() < 1e-12);
    assert!((normalised.of_entropies(&between, 16) - 0.5).abs() < 1e-12);
    let unequal = entropies(1e4, ln(4.0), ln(4.0), ln(8.0));
    assert!((mutual.of_entropies(&unequal, 16) - 0.75).abs() < 1e-12);
    assert!((normalised.of_entropies(&unequal, 16) - 2.0 / 3.0).abs() < 1e-12);
    // Here the overlap has 255 voxels, but the joint histogram has 256 cells. The cost is 1 if there is less than one
    // voxel per cell, whatever the entropies are.
    assert_eq!(mutual.of_entropies(&entropies(255.0, ln(8.0), ln(8.0), ln(16.0)), 16), 1.0);
    assert!((mutual.of_entropies(&entropies(256.0, ln(8.0), ln(8.0), ln(16.0)), 16) - 0.5).abs() < 1e-12);
    assert_eq!(normalised.of_entropies(&entropies(0.0, 0.0, 0.0, 0.0), 16), 1.0);
}

#[test]
fn coarse_levels_have_fewer_bins() {
    assert_eq!([8.0, 4.0, 2.0, 1.0].map(|mm| Cost::CorrelationRatio.bins_at(256, mm, false)), [32, 64, 128, 256]);
    assert_eq!([8.0, 4.0, 2.0, 1.0].map(|mm| Cost::MutualInformation.bins_at(64, mm, false)), [23, 32, 45, 64]);
    assert_eq!([8.0, 4.0, 2.0, 1.0].map(|mm| Cost::MutualInformation.bins_at(64, mm, true)), [8, 16, 32, 64]);
    assert_eq!(Cost::CorrelationRatio.bins_at(2, 8.0, false), 2);
}

#[test]
fn costs_have_names_and_three_of_them_sort_intensities_into_bins() {
    let words = [
        "correlation ratio",
        "mutual information",
        "normalised mutual information",
        "normalised correlation",
        "least squares",
    ];
    assert_eq!(Cost::ALL.map(Cost::words), words);
    assert_eq!(Cost::ALL.map(Cost::has_bins), [true, true, true, false, false]);
}
