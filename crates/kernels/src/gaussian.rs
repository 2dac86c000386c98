//! The discrete Gaussian kernel of ITK's `GaussianOperator`, with which all images and fields are smoothed.

/// Largest part of the Gaussian's mass that a kernel may cut off before normalisation: the default of ITK's operator.
/// ANTs uses a tenth of this value for fields. The smaller value does not improve registrations, and makes the kernel
/// two weights longer at variance 3.
const ERROR: f64 = 0.01;

/// Largest radius of a kernel, voxels: ITK allows kernels of up to 32 weights.
const MAX_RADIUS: usize = 15;

/// Smallest variance (voxels²) with which a kernel smooths: below it the weights of both neighbours, half the variance
/// each, are too small to change a sum in single precision.
const LEAST_VARIANCE: f64 = 1e-9;
/// Largest variance, voxels²: above it the weights of a kernel with the largest radius are equal to within 2·10⁻⁴.
const MOST_VARIANCE: f64 = 1e6;

/// Half kernel w₀, w₁ … w_r of the discrete Gaussian (Lindeberg): w_k = e^{−t}·I_k(t), with the modified Bessel
/// functions I_k and t = `variance` in voxels². It is cut off where less than a hundredth of the mass is missing, and
/// normalised so that w₀ + 2·Σ w_k = 1.
pub fn kernel(variance: f64) -> Vec<f32> {
    if variance < LEAST_VARIANCE {
        return vec![1.0];
    }
    let bessel = scaled_bessel(variance.min(MOST_VARIANCE));
    let mut mass = bessel[0];
    let mut radius = 0;
    while mass < 1.0 - ERROR && radius < MAX_RADIUS {
        radius += 1;
        mass += 2.0 * bessel[radius];
    }
    bessel[..=radius].iter().map(|weight| (weight / mass) as f32).collect()
}

/// The numbers e^{−t}·I_k(t) for k = 0 … MAX_RADIUS, with the modified Bessel functions I_k, by Miller's downward
/// recurrence, normalised by I₀ + 2·Σ I_k = e^t.
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

    /// The number e^{−t}·I_k(t) by the power series of the modified Bessel function I_k.
    fn by_series(t: f64, k: usize) -> f64 {
        let mut term = (1..=k).fold((-t).exp(), |term, n| term * t / 2.0 / n as f64);
        let mut sum = term;
        // The terms fall from m = t/2 on.
        for m in 1..200 + t as usize {
            term *= t * t / 4.0 / (m * (m + k)) as f64;
            sum += term;
        }
        sum
    }

    #[test]
    fn bessel_functions_are_those_of_their_series() {
        // From about t = 250 on, numbers of the recurrence exceed 1e200 and are rescaled: at 250 in the last steps
        // only, at 700 twice. For larger t, e^-t would soon be below the range of double precision.
        let variances = [0.01, 1.0, 7.0, 30.0, 100.0, 400.0, 700.0].into_iter();
        for t in variances.chain((480..520).map(|half| f64::from(half) / 2.0)) {
            let found = scaled_bessel(t);
            assert_eq!(found.len(), MAX_RADIUS + 1);
            for (k, found) in found.into_iter().enumerate() {
                let expected = by_series(t, k);
                // The tolerance allows for the rounding errors of some hundred products and of e^-t.
                assert!((found / expected - 1.0).abs() < 1e-12, "t {t}, k {k}: {found}, expected {expected}");
            }
        }
    }

    #[test]
    fn a_kernel_has_at_most_16_weights() {
        for variance in [100.0, 400.0] {
            let weights = kernel(variance);
            assert_eq!(weights.len(), MAX_RADIUS + 1);
            let sum = weights[0] + 2.0 * weights[1..].iter().sum::<f32>();
            // The tolerance is the rounding error of 31 numbers in single precision.
            assert!((sum - 1.0).abs() < 1e-6, "{sum}");
        }
    }

    #[test]
    fn is_the_discrete_gaussian_cut_where_a_hundredth_is_missing() {
        for variance in [0.3, 1.0, 2.5, 3.0, 6.0, 9.0] {
            let weights = kernel(variance);
            let mass =
                |taps: usize| by_series(variance, 0) + 2.0 * (1..taps).map(|k| by_series(variance, k)).sum::<f64>();
            assert!(mass(weights.len()) >= 0.99 && mass(weights.len() - 1) < 0.99, "{} taps", weights.len());
            for (k, weight) in weights.iter().enumerate() {
                let expected = by_series(variance, k) / mass(weights.len());
                assert!(
                    (f64::from(*weight) - expected).abs() < 1e-7,
                    "variance {variance}, tap {k}: {weight}, {expected}"
                );
            }
        }
    }

    #[test]
    fn extreme_variances_leave_the_image_or_its_mean() {
        assert_eq!(kernel(1e-300), vec![1.0]);
        for variance in [1e7, 1e99, f64::INFINITY] {
            let weights = kernel(variance);
            assert_eq!(weights.len(), MAX_RADIUS + 1);
            // Gaussian kernels with larger variances are replaced by the kernel of variance 10⁶. At this variance the
            // outermost weight of a kernel is smaller than the middle weight w₀ by w₀·15²/(2·10⁶).
            assert!(weights.iter().all(|weight| (weight * 31.0 - 1.0).abs() < 2e-4), "{weights:?}");
        }
    }

    #[test]
    fn no_variance_is_no_smoothing() {
        assert_eq!(kernel(0.0), vec![1.0]);
    }
}
