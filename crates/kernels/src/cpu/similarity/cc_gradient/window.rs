//! The terms of windowed cross-correlation for one window, and their sums over all windows.

use wide::f32x8;

/// Largest ratio of Σ(I − mean)² to ΣI² at which a window counts as constant, because so small a sum is rounding error:
/// sums of up to 11³ squares in single precision have a relative error of about 1e-6.
const ROUNDING: f32 = 4e-6;

/// Terms of the cross-correlation in eight windows: the window means of the images I and J, and numbers computed from A
/// = Σ(I − mean)², B = Σ(J − mean)² and C = Σ(I − mean)(J − mean).
pub(in crate::cpu) struct Terms {
    pub(in crate::cpu) fixed_mean: f32x8,
    pub(in crate::cpu) moving_mean: f32x8,
    /// The factor 2C/((A+n)(B+n)) of the derivatives; 0 if either image, I or J, is constant in the window. A = Σ(I −
    /// mean)², B = Σ(J − mean)², C = Σ(I − mean)(J − mean); n is the part of A and B that is expected from noise.
    pub(in crate::cpu) slope: f32x8,
    /// The ratios C/(A+n) and C/(B+n) of the window. A = Σ(I − mean)², B = Σ(J − mean)², C = Σ(I − mean)(J − mean); n
    /// is the part of A and B that is expected from noise.
    pub(in crate::cpu) on_fixed: f32x8,
    pub(in crate::cpu) on_moving: f32x8,
    pub(in crate::cpu) value: f32x8,
    /// The weight AB/((A+n)(B+n)) of the window: the share of its variance that is not noise. A = Σ(I − mean)² and
    /// B = Σ(J − mean)²; n is the part of A and B that is expected from noise.
    pub(in crate::cpu) weight: f32x8,
}

impl Terms {
    /// Computes the terms of eight windows from the sums of I, J, I², J² and IJ over the `count` voxels of each window,
    /// where I and J are the values of the fixed and of the moving image. The terms of a window are zero where `inside`
    /// has no bit set.
    #[inline(always)]
    pub(in crate::cpu) fn of(
        [i, j, ii, jj, ij]: [f32x8; 5],
        count: f32x8,
        noise_variance: f32,
        inside: f32x8,
    ) -> Terms {
        let (fixed_mean, moving_mean) = (i / count, j / count);
        let a = ii - i * fixed_mean;
        let b = jj - j * moving_mean;
        let c = ij - i * moving_mean;
        let counts = a.simd_gt(ii * ROUNDING) & b.simd_gt(jj * ROUNDING) & inside;
        let noise = count * noise_variance;
        let (per_a, per_b) = (counts & (1.0 / (a + noise)), counts & (1.0 / (b + noise)));
        let (on_fixed, on_moving) = (inside & (c * per_a), inside & (c * per_b));
        Terms {
            fixed_mean: inside & fixed_mean,
            moving_mean: inside & moving_mean,
            slope: 2.0 * on_fixed * per_b,
            on_fixed,
            on_moving,
            value: on_fixed * on_moving,
            weight: inside & (a * per_a * (b * per_b)),
        }
    }

    /// The exact derivative of the cross-correlation sums five terms over the windows that contain a voxel. Computes
    /// these terms for one window: the factor P (`slope`), P·C/A and P·C/B (by the ratios `on_fixed` and
    /// `on_moving`), and for each image the term that is not multiplied by a voxel value.
    #[inline(always)]
    pub(in crate::cpu) fn exact(&self) -> [f32x8; 5] {
        let (p_a, p_b) = (self.slope * self.on_fixed, self.slope * self.on_moving);
        [
            self.slope,
            p_a,
            p_b,
            p_a * self.fixed_mean - self.slope * self.moving_mean,
            p_b * self.moving_mean - self.slope * self.fixed_mean,
        ]
    }
}

/// Sums over the windows of all voxels inside the masks, from which the scores of the cross-correlation are computed:
/// local correlations, number of windows, and weights of windows.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::cpu) struct Sums {
    pub(in crate::cpu) value: f64,
    pub(in crate::cpu) count: f64,
    pub(in crate::cpu) weight: f64,
}

impl std::ops::AddAssign for Sums {
    fn add_assign(&mut self, other: Sums) {
        self.value += other.value;
        self.count += other.count;
        self.weight += other.weight;
    }
}

impl std::iter::Sum for Sums {
    fn sum<I: Iterator<Item = Sums>>(all: I) -> Sums {
        all.fold(Sums::default(), |mut sum, next| {
            sum += next;
            sum
        })
    }
}
