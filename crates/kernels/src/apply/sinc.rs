//! Windowed sinc interpolation (Meijering et al. 1999), and interpolation by any separable kernel given by its
//! weights.

use super::sample::Sample;

/// The window function by which the sinc of an interpolation is multiplied; r is its radius.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// The cosine window cos(πx/2r) at the distance x from a point, for the radius r.
    Cosine,
    /// The Hamming window 0.54 + 0.46·cos(πx/r) at the distance x from a point, for the radius r.
    Hamming,
    /// The Welch window 1 − x²/r² at the distance x from a point, for the radius r.
    Welch,
    /// The Lanczos window sinc(x/r) at the distance x from a point, for the radius r.
    Lanczos,
    /// The Blackman window 0.42 + 0.5·cos(πx/r) + 0.08·cos(2πx/r) at the distance x from a point, for the radius r.
    Blackman,
}

/// Number of voxels on each side of a point that have a weight, as in `antsApplyTransforms`.
const RADIUS: usize = 3;
const TAPS: usize = 2 * RADIUS;
/// Number of steps within a voxel for which the weights are tabulated. Linear interpolation between tabulated weights w
/// has an error of at most w''/8·STEPS⁻² ≈ 4e-7.
const STEPS: usize = 1024;

impl Window {
    fn at(self, x: f64) -> f64 {
        let share = x / RADIUS as f64;
        let turn = std::f64::consts::PI * share;
        match self {
            Window::Cosine => (turn / 2.0).cos(),
            Window::Hamming => 0.54 + 0.46 * turn.cos(),
            Window::Welch => 1.0 - share * share,
            Window::Lanczos => sinc(share),
            Window::Blackman => 0.42 + 0.5 * turn.cos() + 0.08 * (2.0 * turn).cos(),
        }
    }
}

/// The sinc function sin(πx)/(πx).
fn sinc(x: f64) -> f64 {
    let turn = std::f64::consts::PI * x;
    if turn == 0.0 { 1.0 } else { turn.sin() / turn }
}

/// Weights of the six voxels from ⌊x⌋ − 2 to ⌊x⌋ + 3, for each tabulated fraction x − ⌊x⌋.
pub(crate) fn sinc_table(window: Window) -> Vec<[f32; TAPS]> {
    let weights = |step: usize| {
        let fraction = step as f64 / STEPS as f64;
        std::array::from_fn(|tap| {
            let x = fraction + (RADIUS - 1) as f64 - tap as f64;
            // At a voxel centre the weight of that voxel is set to 1 and all other weights to 0, because the computed
            // sin(πn) is not exactly 0.
            if x.fract() == 0.0 { f32::from(x == 0.0) } else { (sinc(x) * window.at(x)) as f32 }
        })
    };
    (0..=STEPS + 1).map(weights).collect()
}

/// Windowed sinc interpolation of radius 3 with zeros beyond the image; ITK's `WindowedSincInterpolateImageFunction`
/// as `antsApplyTransforms` uses it.
///
/// As in ITK, the weights are not normalised: a constant image varies by a few per mille.
pub struct WindowedSinc<'a> {
    shape: [usize; 3],
    voxels: &'a [f32],
    table: Vec<[f32; TAPS]>,
}

impl<'a> WindowedSinc<'a> {
    /// Tabulates the weights of the windowed sinc.
    pub fn new(shape: [usize; 3], voxels: &'a [f32], window: Window) -> WindowedSinc<'a> {
        WindowedSinc { shape, voxels, table: sinc_table(window) }
    }

    /// Index of the first voxel within the window around a fractional index along one axis, and the weights of the
    /// window's voxels.
    #[inline]
    fn weights(&self, index: f64) -> (isize, [f32; TAPS]) {
        let lower = index.floor();
        let position = (index - lower) * STEPS as f64;
        let step = position as usize;
        let share = (position - step as f64) as f32;
        let (near, far) = (&self.table[step], &self.table[step + 1]);
        let weights = std::array::from_fn(|tap| near[tap] + share * (far[tap] - near[tap]));
        (lower as isize - (RADIUS as isize - 1), weights)
    }
}

impl Sample for WindowedSinc<'_> {
    type Value = f32;

    #[inline]
    fn at(&self, index: [f64; 3]) -> f32 {
        self.value(index)
    }
}

impl WindowedSinc<'_> {
    /// The interpolated value at a fractional voxel index inside the image.
    #[inline]
    pub(crate) fn value(&self, index: [f64; 3]) -> f32 {
        let [nx, ny, nz] = self.shape;
        let [(i, wi), (j, wj), (k, wk)] = index.map(|x| self.weights(x));
        let mut sum = 0.0;
        for (z, wz) in inside(k, nz).zip(&wk[skipped(k)..]) {
            let mut slice_sum = 0.0;
            for (y, wy) in inside(j, ny).zip(&wj[skipped(j)..]) {
                let row = &self.voxels[(z * ny + y) * nx..][inside(i, nx)];
                let row_sum: f32 = row.iter().zip(&wi[skipped(i)..]).map(|(voxel, weight)| voxel * weight).sum();
                slice_sum += wy * row_sum;
            }
            sum += wz * slice_sum;
        }
        sum
    }
}

/// The indices on an axis of `length` voxels that the interpolation kernel covers, if it begins at the index `first`,
/// which may be negative.
#[inline]
fn inside(first: isize, length: usize) -> std::ops::Range<usize> {
    first.max(0) as usize..((first + TAPS as isize) as usize).min(length)
}

/// Number of voxels of the interpolation kernel that lie before the start of the axis, if the kernel begins at the
/// index `first`.
#[inline]
fn skipped(first: isize) -> usize {
    (-first).max(0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::test_scenes::{chains, noise_volume, oblique_grid, slow_indices};
    use crate::apply::{Interpolation, resample};

    const ALL: [Window; 5] = [Window::Cosine, Window::Hamming, Window::Welch, Window::Lanczos, Window::Blackman];

    #[test]
    fn is_the_sum_over_all_voxels_within_the_radius() {
        for shape in [[9, 7, 5], [1, 8, 2]] {
            let moving = noise_volume(oblique_grid(shape, 1), 7);
            let onto = oblique_grid([7, 5, 9], 2);
            let chain = &chains(&onto)[1];
            for window in ALL {
                let moved = resample(&moving, &onto, chain, Interpolation::WindowedSinc(window), -5.0);
                for (index, found) in slow_indices(&onto, chain, &moving.grid).into_iter().zip(&moved.voxels) {
                    let kernel = |x: f64| if x.abs() < 3.0 { sinc(x) * window.at(x) } else { 0.0 };
                    let expected = index.map_or(-5.0, |[i, j, k]| {
                        let [nx, ny, _] = shape;
                        let weight = |n: usize| {
                            kernel(i - (n % nx) as f64)
                                * kernel(j - (n / nx % ny) as f64)
                                * kernel(k - (n / (nx * ny)) as f64)
                        };
                        moving.voxels.iter().enumerate().map(|(n, v)| weight(n) * f64::from(*v)).sum()
                    });
                    // Tolerance: each tabulated weight has an error of 4e-7, for values up to 1000.
                    assert!((expected - f64::from(*found)).abs() < 5e-3, "{window:?}: {found}, expected {expected}");
                }
            }
        }
    }

    #[test]
    fn every_window_is_one_in_the_middle_and_small_at_the_radius() {
        for window in ALL {
            assert!((window.at(0.0) - 1.0).abs() < 1e-12, "{window:?}");
            // The Hamming window, 0.54 + 0.46·cos, is 0.08 at its ends.
            assert!(window.at(RADIUS as f64).abs() < 0.081, "{window:?}");
        }
    }

    #[test]
    fn a_voxel_is_itself() {
        let moving = noise_volume(oblique_grid([5, 4, 3], 1), 7);
        let sampler = WindowedSinc::new([5, 4, 3], &moving.voxels, Window::Lanczos);
        for (n, value) in moving.voxels.iter().enumerate() {
            assert_eq!(sampler.at([(n % 5) as f64, (n / 5 % 4) as f64, (n / 20) as f64]), *value);
        }
        // A fractional index that is below a whole number by a rounding error counts as that number.
        assert!((sampler.at([-1e-17, 1.0, 1.0]) - moving.voxels[25]).abs() < 1e-3);
    }
}
