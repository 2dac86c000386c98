//! Gaussian interpolation, which also smooths.

use super::sample::Sample;

/// The table of the error function covers arguments of ±RANGE; beyond, the function is ±1.
const RANGE: f64 = 6.0;
/// Number of entries of the table of the error function for each unit of its argument. Linear interpolation between
/// entries has an error of at most erf''/8·PER_UNIT⁻² ≈ 3e-7.
const PER_UNIT: f64 = 640.0;

/// Masses of a Gaussian over the voxels along each axis of an image, cut off at `alpha` standard deviations.
pub struct GaussianWeights {
    pub shape: [usize; 3],
    /// The factor 1/(√2·σ) for each axis, where σ is the standard deviation of the Gaussian in voxels.
    scale: [f64; 3],
    cutoff_voxels: [f64; 3],
    erf: Vec<f64>,
}

impl GaussianWeights {
    /// Prepares the weights for an image of this shape: tabulates the error function.
    pub fn new(shape: [usize; 3], sigma_voxels: [f64; 3], alpha: f64) -> GaussianWeights {
        let steps = (2.0 * RANGE * PER_UNIT) as usize + 1;
        GaussianWeights {
            shape,
            scale: sigma_voxels.map(|sigma| std::f64::consts::FRAC_1_SQRT_2 / sigma),
            cutoff_voxels: sigma_voxels.map(|sigma| sigma * alpha),
            erf: (0..=steps).map(|n| libm::erf(n as f64 / PER_UNIT - RANGE)).collect(),
        }
    }

    #[inline]
    fn erf(&self, t: f64) -> f64 {
        let position = (t.clamp(-RANGE, RANGE) + RANGE) * PER_UNIT;
        let step = position as usize;
        self.erf[step] + (position - step as f64) * (self.erf[step + 1] - self.erf[step])
    }

    /// The range of voxels along one axis that lie within the cutoff distance of the fractional index `index`.
    #[inline]
    fn reach(&self, axis: usize, index: f64) -> std::ops::Range<usize> {
        // In the coordinate `cell` = index + ½, voxel j extends from j to j + 1.
        let cell = index + 0.5;
        let first = (cell - self.cutoff_voxels[axis]).floor().max(0.0) as usize;
        first..((cell + self.cutoff_voxels[axis]).ceil() as usize).min(self.shape[axis])
    }

    /// Calls `visit(voxel, mass)` for each voxel along one axis within the Gaussian's cutoff distance from `index`. The
    /// mass is the integral of the Gaussian over the voxel. Returns the sum of the masses.
    #[inline]
    pub fn walk(&self, axis: usize, index: f64, mut visit: impl FnMut(usize, f64)) -> f64 {
        let at = |edge: usize| self.erf((edge as f64 - 0.5 - index) * self.scale[axis]);
        let reach = self.reach(axis, index);
        let start = at(reach.start);
        let mut before = start;
        for voxel in reach {
            let after = at(voxel + 1);
            visit(voxel, after - before);
            before = after;
        }
        before - start
    }
}

/// Interpolates an image by a Gaussian mean: each voxel has the mass of the Gaussian over it as its weight,
/// normalised over the voxels within the cutoff; ITK's `GaussianInterpolateImageFunction`.
pub struct GaussianKernel<'a> {
    pub weights: GaussianWeights,
    pub voxels: &'a [f32],
}

impl Sample for GaussianKernel<'_> {
    type Value = f32;

    fn at(&self, index: [f64; 3]) -> f32 {
        let [nx, ny, _] = self.weights.shape;
        let mut sum = 0.0;
        let mut mass_y = 0.0;
        let mut mass_x = 0.0;
        let mass_z = self.weights.walk(2, index[2], |k, wz| {
            let mut slice_sum = 0.0;
            mass_y = self.weights.walk(1, index[1], |j, wy| {
                let row = &self.voxels[(k * ny + j) * nx..][..nx];
                let mut row_sum = 0.0;
                mass_x = self.weights.walk(0, index[0], |i, wx| row_sum += wx * f64::from(row[i]));
                slice_sum += wy * row_sum;
            });
            sum += wz * slice_sum;
        });
        (sum / (mass_x * mass_y * mass_z)) as f32
    }
}

#[cfg(test)]
mod tests {
    use crate::apply::test_scenes::{chains, noise_volume, oblique_grid, slow_indices};
    use crate::apply::{Interpolation, resample};

    /// Mass of the test's Gaussian over voxel `j` of an axis, by the midpoint rule.
    fn mass(j: usize, index: f64, sigma_voxels: f64) -> f64 {
        let density = |x: f64| (-0.5 * ((x - index) / sigma_voxels).powi(2)).exp();
        (0..2000).map(|n| density(j as f64 - 0.5 + (n as f64 + 0.5) / 2000.0)).sum()
    }

    #[test]
    fn is_the_normalised_mean_within_the_cutoff() {
        let shape = [9, 7, 5];
        let moving = noise_volume(oblique_grid(shape, 1), 7);
        let onto = oblique_grid([7, 5, 9], 2);
        let chain = &chains(&onto)[1];
        let (sigma_mm, alpha) = ([1.3, 1.0, 2.5], 1.5);
        let moved = resample(&moving, &onto, chain, Interpolation::Gaussian { sigma_mm, alpha }, -5.0);
        for (index, found) in slow_indices(&onto, chain, &moving.grid).into_iter().zip(&moved.voxels) {
            let expected = index.map_or(-5.0, |index| {
                let axis = |axis: usize| -> Vec<f64> {
                    let sigma = sigma_mm[axis] / moving.grid.spacing[axis];
                    // A voxel has a weight if any part of it lies within the Gaussian's cutoff.
                    let near = |j: &usize| (*j as f64 - index[axis]).abs() < 0.5 + alpha * sigma;
                    (0..shape[axis]).map(|j| if near(&j) { mass(j, index[axis], sigma) } else { 0.0 }).collect()
                };
                let [wx, wy, wz] = [axis(0), axis(1), axis(2)];
                let weight = |n: usize| wx[n % 9] * wy[n / 9 % 7] * wz[n / 63];
                let total: f64 = (0..315).map(weight).sum();
                (0..315).map(|n| weight(n) * f64::from(moving.voxels[n])).sum::<f64>() / total
            });
            // Tolerance: the tabulated error function has an error of 3e-7, for masses of about 0.2 and values up to
            // 1000.
            assert!((expected - f64::from(*found)).abs() < 1e-2, "{found}, expected {expected}");
        }
    }
}
