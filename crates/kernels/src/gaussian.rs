//! The discrete Gaussian of ITK's `GaussianOperator`, the one kernel of all smoothing here.

/// Widest half kernel: ITK's limit of 32 taps in all.
const MAX_RADIUS: usize = 15;

/// Below this the neighbours' weights, half of it each, do not show beside 1 in single precision.
const LEAST_VARIANCE: f64 = 1e-9;
/// Beyond this the weights of so narrow a kernel are alike to within 2·10⁻⁴.
const MOST_VARIANCE: f64 = 1e6;

/// Half kernel w₀, w₁ … w_r of the discrete Gaussian (Lindeberg): w_k = e^{−t}·I_k(t) with t = `variance` in voxels²,
/// cut where the missing mass is below `max_error` and normalised so that w₀ + 2·Σ w_k = 1.
pub fn kernel(variance: f64, max_error: f64) -> Vec<f32> {
    if variance < LEAST_VARIANCE {
        return vec![1.0];
    }
    let bessel = scaled_bessel(variance.min(MOST_VARIANCE));
    let mut mass = bessel[0];
    let mut radius = 0;
    while mass < 1.0 - max_error && radius < MAX_RADIUS {
        radius += 1;
        mass += 2.0 * bessel[radius];
    }
    bessel[..=radius].iter().map(|weight| (weight / mass) as f32).collect()
}

/// e^{−t}·I_k(t) for k = 0 … MAX_RADIUS by Miller's downward recurrence, normalised by I₀ + 2·Σ I_k = e^t.
fn scaled_bessel(t: f64) -> Vec<f64> {
    let start = MAX_RADIUS + 20 + (2.0 * t) as usize;
    let mut values = vec![0.0; start + 2];
    values[start] = 1.0;
    for k in (1..=start).rev() {
        values[k - 1] = values[k + 1] + 2.0 * k as f64 / t * values[k];
        if values[k - 1] > 1e200 {
            values[k - 1..].iter_mut().for_each(|value| *value *= 1e-200);
        }
    }
    let total = values[0] + 2.0 * values[1..].iter().sum::<f64>();
    values[..=MAX_RADIUS].iter().map(|value| value / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_variance_it_is_asked_for() {
        for variance in [0.3, 1.0, 3.0, 6.0] {
            let weights = kernel(variance, 1e-9);
            let mass: f64 =
                weights.iter().enumerate().map(|(k, w)| if k == 0 { 1.0 } else { 2.0 } * f64::from(*w)).sum();
            let second: f64 = weights.iter().enumerate().map(|(k, w)| 2.0 * (k * k) as f64 * f64::from(*w)).sum();
            assert!((mass - 1.0).abs() < 1e-6, "mass {mass}");
            assert!((second - variance).abs() < 1e-3 * variance, "variance {second}, asked for {variance}");
        }
    }

    #[test]
    fn extreme_variances_leave_the_image_or_its_mean() {
        assert_eq!(kernel(1e-300, 0.01), vec![1.0]);
        for variance in [1e7, 1e99, f64::INFINITY] {
            let weights = kernel(variance, 0.01);
            assert_eq!(weights.len(), MAX_RADIUS + 1);
            // 225/(2·10⁶) of it: how much the outermost tap differs from the middle one.
            assert!(weights.iter().all(|weight| (weight * 31.0 - 1.0).abs() < 2e-4), "{weights:?}");
        }
    }

    #[test]
    fn is_no_wider_than_the_error_allows() {
        assert_eq!(kernel(0.0, 0.01), vec![1.0]);
        assert!(kernel(3.0, 0.01).len() < kernel(3.0, 0.0001).len());
    }
}
