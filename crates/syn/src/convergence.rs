//! The convergence criterion of a level: ITK's `WindowConvergenceMonitoringFunction`.

use antsreg_core::schedule::Convergence;

/// Whether a level has converged: the slope of the energies over the last iterations (the window) is below the
/// threshold.
pub(crate) fn converged(energies: &[f64], convergence: &Convergence) -> bool {
    let Some(from) = energies.len().checked_sub(convergence.window) else {
        return false;
    };
    convergence.window > 1 && descent(&energies[from..]) < convergence.threshold
}

/// Fall of the energies along a fitted line over the last iterations (the window), relative to the sum of their
/// magnitudes.
///
/// ITK fits a first-order B-spline with two control points by one pass of Lee's scattered data approximation. Control
/// point c (0 or 1) is Σ w_c³·e/(w₀² + w₁²) / Σ w_c². The sums are over the energies e of the window. At time t, from 0
/// to 1 over the window, the weights are w₀ = 1 − t and w₁ = t. The result differs from the least-squares line, whose
/// slope is about 1.56 times as large.
fn descent(energies: &[f64]) -> f64 {
    let total: f64 = energies.iter().map(|energy| energy.abs()).sum();
    if total == 0.0 {
        return 0.0;
    }
    let last = (energies.len() - 1) as f64;
    let control = |weights: fn(f64) -> (f64, f64)| {
        let (mut numerator, mut denominator) = (0.0, 0.0);
        for (index, energy) in energies.iter().enumerate() {
            let (own, other) = weights(index as f64 / last);
            numerator += own.powi(3) * energy / total / (own * own + other * other);
            denominator += own * own;
        }
        numerator / denominator
    };
    control(|t| (1.0 - t, t)) - control(|t| (t, 1.0 - t))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_falling_energy_has_not_converged_and_a_flat_or_rising_one_has() {
        let convergence = Convergence { window: 10, threshold: 1e-6 };
        let energies = |slope: f64| -> Vec<f64> { (0..12).map(|i| -0.5 - slope * f64::from(i)).collect() };
        assert!(!converged(&energies(1e-3), &convergence));
        assert!(converged(&energies(0.0), &convergence));
        assert!(converged(&energies(-1e-3), &convergence));
        assert!(!converged(&energies(0.0)[..9], &convergence), "the window is not full");
    }

    #[test]
    fn a_slope_at_the_threshold_and_a_single_energy_have_not_converged() {
        // Energies of 0 have a slope of exactly 0.
        let converged_with = |window, threshold| converged(&[0.0; 10], &Convergence { window, threshold });
        assert!(converged_with(10, f64::MIN_POSITIVE) && !converged_with(10, 0.0));
        assert!(converged_with(2, 1e-6) && !converged_with(1, 1e-6));
    }

    #[test]
    fn the_slope_is_gentler_than_least_squares_by_the_factor_of_itk() {
        let energies: Vec<f64> = (0..10).map(|i| -1.0 - 1e-4 * f64::from(i)).collect();
        let total: f64 = energies.iter().map(|e| e.abs()).sum();
        // For energies on a straight line, the least-squares slope is the slope of the line.
        let least_squares = 9e-4 / total;
        let ratio = least_squares / descent(&energies);
        assert!((ratio - 1.56).abs() < 0.02, "ratio {ratio}");
    }
}
