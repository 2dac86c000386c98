//! Exponentials with the same bits on every device, for the factor of a bias field and for its relative change. The
//! order of operations is that of `cu/exponential.cuh`.

/// Table for powers 2^(k/32) with any integer k: entry i has the bits of 2^(i/32) in double precision, minus i · 2⁴⁷.
/// If i is k modulo 32, entry i plus k · 2⁴⁷ gives the bits of 2^(k/32).
const POWERS: [u64; 32] = [
    0x3ff0_0000_0000_0000,
    0x3fef_d9b0_d315_8574,
    0x3fef_b558_6cf9_890f,
    0x3fef_9301_d012_5b51,
    0x3fef_72b8_3c7d_517b,
    0x3fef_5487_3168_b9aa,
    0x3fef_387a_6e75_6238,
    0x3fef_1e9d_f51f_dee1,
    0x3fef_06fe_0a31_b715,
    0x3fee_f1a7_373a_a9cb,
    0x3fee_dea6_4c12_3422,
    0x3fee_ce08_6061_892d,
    0x3fee_bfda_d536_2a27,
    0x3fee_b42b_569d_4f82,
    0x3fee_ab07_dd48_5429,
    0x3fee_a47e_b03a_5585,
    0x3fee_a09e_667f_3bcd,
    0x3fee_9f75_e8ec_5f74,
    0x3fee_a114_73eb_0187,
    0x3fee_a589_994c_ce13,
    0x3fee_ace5_422a_a0db,
    0x3fee_b737_b0cd_c5e5,
    0x3fee_c491_82a3_f090,
    0x3fee_d503_b23e_255d,
    0x3fee_e89f_995a_d3ad,
    0x3fee_ff76_f2fb_5e47,
    0x3fef_199b_dd85_529c,
    0x3fef_3720_dcef_9069,
    0x3fef_5818_dcfb_a487,
    0x3fef_7c97_337b_9b5f,
    0x3fef_a4af_a2a4_90da,
    0x3fef_d076_5b6e_4540,
];
/// 2^(r/32) = 1 + LINEAR·r + SQUARE·r² + CUBE·r³ for |r| ≤ 1/2, to 34 bits.
const LINEAR: f64 = 0.693_147_180_691_620_3 / 32.0;
const SQUARE: f64 = 0.240_228_452_244_572_2 / 1024.0;
const CUBE: f64 = 0.055_503_615_593_415_35 / 32768.0;
/// The number 1.5 · 2⁵². Adding and then subtracting it rounds a number to the nearest integer; half-way between two
/// integers, to the even integer.
const SHIFT: f64 = 6_755_399_441_055_744.0;
/// Limits of the argument: beyond them, the exponential is zero or infinite in single precision.
const LOWEST: f32 = -104.0;
const HIGHEST: f32 = 88.722_83;
/// LN_2_HIGH + LN_2_LOW = ln 2. LN_2_HIGH has few bits that are not zero, so that its product with a small whole number
/// is exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Coefficients 1/n! of the power series of the exponential, from n = 14 down to 2.
const SERIES: [f64; 13] = [
    1.0 / 87_178_291_200.0,
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    1.0 / 2.0,
];
/// Largest magnitude of an argument of [`minus_one`].
const MOST: f64 = 700.0;

/// Returns the exponential of x in single precision. The error is at most 0.502 units in the last place. The method is
/// that of the GNU C library (Tang 1989, ACM TOMS 15:144), without fused operations.
pub fn exponential(x: f32) -> f32 {
    if x > HIGHEST {
        return f32::INFINITY;
    }
    if x < LOWEST {
        return 0.0;
    }
    let scaled = f64::from(x) * (32.0 * std::f64::consts::LOG2_E);
    let whole = (scaled + SHIFT) - SHIFT;
    let r = scaled - whole;
    let k = whole as i64 as u64;
    let power = f64::from_bits(POWERS[(k % 32) as usize].wrapping_add(k << 47));
    let above = CUBE * r + SQUARE;
    (((LINEAR * r + 1.0) + above * (r * r)) * power) as f32
}

/// Returns eˣ − 1 in double precision, with a relative error of about 1e-15. Arguments beyond ±700 count as ±700.
pub fn minus_one(x: f64) -> f64 {
    let x = x.clamp(-MOST, MOST);
    let whole = (x * std::f64::consts::LOG2_E + SHIFT) - SHIFT;
    let r = (x - whole * LN_2_HIGH) - whole * LN_2_LOW;
    // The series of (eʳ − 1)/r for |r| ≤ 0.35.
    let sum = SERIES.iter().fold(0.0, |sum, coefficient| sum * r + coefficient) * r + 1.0;
    let power = f64::from_bits(((1023 + whole as i64) as u64) << 52);
    power * (r * sum) + (power - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_rounded_from_the_exact_value() {
        // The error may be 0.502 units in the last place; rounding to single precision alone makes 0.5 units.
        let most = 0.502 / f64::from(1 << 23);
        for n in -86_000..88_000 {
            let x = n as f32 * 1.001e-3;
            let exact = f64::from(x).exp();
            let found = f64::from(exponential(x));
            assert!((found - exact).abs() <= most * exact, "{x}: {found} and {exact}");
        }
        assert_eq!([exponential(0.0), exponential(-200.0), exponential(90.0)], [1.0, 0.0, f32::INFINITY]);
        assert!(exponential(f32::NAN).is_nan());
    }

    #[test]
    fn exponentials_minus_one_keep_small_values() {
        for n in -30_000..30_000 {
            for scale in [1e-15, 1e-7, 1e-5, 0.01] {
                let x = f64::from(n) * scale;
                let (found, expected) = (minus_one(x), x.exp_m1());
                assert!((found - expected).abs() <= 1e-15 * expected.abs(), "{x}: {found} and {expected}");
            }
        }
        assert!(minus_one(1e9).is_finite() && minus_one(-1e9) == -1.0);
    }

    #[test]
    fn exponentials_end_where_single_precision_ends() {
        let exact = f64::from(HIGHEST).exp();
        assert!((f64::from(exponential(HIGHEST)) / exact - 1.0).abs() < 1e-7);
        for x in [HIGHEST.next_up(), 1e4, f32::MAX, f32::INFINITY] {
            assert_eq!(exponential(x), f32::INFINITY, "{x}");
        }
        for x in [-104.0, -1e4, f32::MIN, f32::NEG_INFINITY] {
            assert_eq!(exponential(x), 0.0, "{x}");
        }
    }
}
