//! The discrete Gaussian of ITK's `GaussianOperator`, the one kernel of all smoothing here.

/// Widest half kernel: ITK's limit of 32 taps in all.
const MAX_RADIUS: usize = 15;

/// Half kernel w₀, w₁ … w_r of the discrete Gaussian (Lindeberg): w_k = e^{−t}·I_k(t) with t = `variance` in voxels²,
/// cut where the missing mass is below `max_error` and normalised so that w₀ + 2·Σ w_k = 1.
pub fn kernel(variance: f64, max_error: f64) -> Vec<f32> {
    if variance <= 0.0 {
        return vec![1.0];
    }
    let bessel = scaled_bessel(variance);
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
    fn is_no_wider_than_the_error_allows() {
        assert_eq!(kernel(0.0, 0.01), vec![1.0]);
        assert!(kernel(3.0, 0.01).len() < kernel(3.0, 0.0001).len());
    }
}
