//! Rounds displacements to multiples of a power of two, which leaves zeros in their last bits.

/// Rounds the components of a vector to the nearest multiples of `step`, a power of two. A component half-way between
/// two multiples is rounded to the even multiple. Components of 2²² steps or more, NaN and infinity are not changed.
#[inline(always)]
pub(crate) fn rounded(vector: [f32; 3], step: Option<f32>) -> [f32; 3] {
    let Some(step) = step else { return vector };
    // 1.5·2²³ steps: a float of this size has no bits below the step, so that adding and subtracting it rounds
    // to a multiple of the step.
    let shift = 1.5 * (1 << 23) as f32 * step;
    vector.map(|value| if value.abs() < (1 << 22) as f32 * step { (value + shift) - shift } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: f32 = 1.0 / 1024.0;

    fn one(value: f32) -> f32 {
        rounded([value, 0.0, 0.0], Some(STEP))[0]
    }

    #[test]
    fn multiples_stay_and_others_move_by_half_a_step_at_most() {
        // The last bit of numbers from 4096 on is half a step.
        let large = [4096.0, -4096.0, 4096.0 + STEP / 2.0, -5000.0 - STEP / 2.0, f32::MAX, -1e30, f32::INFINITY];
        for value in [0.0, 3.0 * STEP, -1.5, 4095.5].into_iter().chain(large) {
            assert_eq!(one(value), value);
        }
        assert!(one(f32::NAN).is_nan());
        for n in -2000i16..2000 {
            let value = f32::from(n) * 0.000_123_4 * (1.0 + f32::from(n).abs());
            assert!((f64::from(one(value)) - f64::from(value)).abs() <= f64::from(STEP) / 2.0, "{value}");
            assert_eq!((one(value) / STEP).fract(), 0.0, "{value}");
        }
        assert!(one(-0.0001).is_sign_positive(), "no two zeros");
        assert_eq!(rounded([0.3, 0.2, 0.1], None), [0.3, 0.2, 0.1]);
    }
}
