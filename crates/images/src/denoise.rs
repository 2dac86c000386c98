//! Adaptive non-local means (Manjón, Coupé et al. 2010), as in ITK's `AdaptiveNonLocalMeansDenoisingImageFilter` with
//! ANTs' parameters.
//!
//! The estimate of a patch is the mean of the patches near it, weighted by e^(−d/h): d is the mean squared difference of
//! two patches after their local means are subtracted, h the least mean square of such differences around. Patches are
//! compared only if their local means and variances are similar. A voxel gets the mean of the estimates of all patches
//! that hold it.

use antsreg_core::Volume;
use rayon::prelude::*;

use crate::{dimensions, filters};

/// Local means and variances below this are left out.
const LEAST: f64 = 1e-5;
/// Least ratio of two local means, and of two local variances, of patches that are compared.
const RATIOS: [f64; 2] = [0.95, 0.5];
/// Variance of the Gaussian that smooths the estimated noise, mm².
const NOISE_SMOOTHING: f64 = 2.0;

/// Options of denoising.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Whether noise is Rician, as in magnitude images; else it is Gaussian.
    pub rician: bool,
    /// Radius of the patches along each axis, voxels.
    pub patch_radius: [usize; 3],
    /// Radius of the search along each axis, voxels.
    pub search_radius: [usize; 3],
}

/// The estimate of a patch.
struct Estimate {
    /// The estimated intensities of the voxels of the patch; squares for Rician noise.
    values: Vec<f32>,
    /// Estimated variance of the noise; `None` if the patch was not compared.
    noise: Option<f32>,
}

/// Removes noise from an image. Voxels where the mask is false are estimated by themselves alone.
pub fn denoise(image: &Volume, mask: Option<&[bool]>, options: &Options) -> Volume {
    let field = Field::of(image, mask, options);
    let voxels = image.voxels.len();
    let [nx, ny, nz] = image.grid.shape;
    let (mut sums, mut counts, mut noise) = (vec![0.0f32; voxels], vec![0.0f32; voxels], vec![0.0f32; voxels]);
    // Estimates are made slab by slab, so that they need not all fit into memory, and added in the order of the voxels.
    for z in 0..nz {
        let slab: Vec<Estimate> = (z * nx * ny..(z + 1) * nx * ny)
            .into_par_iter()
            .map_init(Vec::new, |near, voxel| field.estimate(near, voxel))
            .collect();
        for (n, estimate) in slab.into_iter().enumerate() {
            let centre = z * nx * ny + n;
            for (offset, value) in field.patch.iter().zip(estimate.values) {
                if let Some(voxel) = field.at(centre, offset) {
                    sums[voxel] += value;
                    counts[voxel] += 1.0;
                    if let Some(variance) = estimate.noise {
                        noise[voxel] = variance;
                    }
                }
            }
        }
    }
    sums.iter_mut().zip(counts).filter(|(_, count)| *count > 0.0).for_each(|(sum, count)| *sum /= count);
    if options.rician {
        let variances = Volume { grid: image.grid.clone(), voxels: noise };
        let smoothed = filters::discrete_gaussian(&variances, [NOISE_SMOOTHING.sqrt(); 3]);
        for (voxel, value) in sums.iter_mut().enumerate() {
            let variance = f64::from(smoothed.voxels[voxel]);
            let corrected = variance > 0.0 && mask.is_none_or(|mask| mask[voxel]);
            let bias = if corrected {
                let bias = 2.0 * variance / correction(f64::from(field.means[voxel]) / variance.sqrt());
                if bias.is_finite() { bias } else { 0.0 }
            } else {
                f64::from(variances.voxels[voxel])
            };
            *value = (f64::from(*value) - bias).max(0.0).sqrt() as f32;
        }
    }
    Volume { grid: image.grid.clone(), voxels: sums }
}

/// The image with its local means and variances.
struct Field<'a> {
    image: &'a Volume,
    mask: Option<&'a [bool]>,
    rician: bool,
    /// Offsets of the voxels of a patch.
    patch: Vec<[isize; 3]>,
    /// Offsets of the patches that are compared with a patch.
    search: Vec<[isize; 3]>,
    means: Vec<f32>,
    variances: Vec<f32>,
    most: f64,
}

fn offsets(radius: [usize; 3], axes: usize) -> Vec<[isize; 3]> {
    let reach = |axis: usize| if axis < axes { radius[axis] as isize } else { 0 };
    let (x, y, z) = (reach(0), reach(1), reach(2));
    (-z..=z).flat_map(|c| (-y..=y).flat_map(move |b| (-x..=x).map(move |a| [a, b, c]))).collect()
}

impl<'a> Field<'a> {
    fn of(image: &'a Volume, mask: Option<&'a [bool]>, options: &Options) -> Field<'a> {
        let axes = dimensions(&image.grid);
        let most = image.voxels.iter().copied().fold(f32::NEG_INFINITY, f32::max).into();
        let mut field = Field {
            image,
            mask,
            rician: options.rician,
            patch: offsets(options.patch_radius, axes),
            search: offsets(options.search_radius, axes),
            means: Vec::new(),
            variances: Vec::new(),
            most,
        };
        let around = offsets([1; 3], axes);
        let [nx, ny, nz] = image.grid.shape;
        let moments = |voxel: usize| {
            let place = [voxel % nx, voxel / nx % ny, voxel / (nx * ny)];
            let (mut sum, mut squares) = (0.0, 0.0);
            for offset in &around {
                // Beyond its border the image continues with the border value.
                let [x, y, z]: [usize; 3] = std::array::from_fn(|axis| {
                    place[axis].saturating_add_signed(offset[axis]).min([nx, ny, nz][axis] - 1)
                });
                let value = f64::from(image.voxels[(z * ny + y) * nx + x]);
                sum += value;
                squares += value * value;
            }
            let count = around.len() as f64;
            ((sum / count) as f32, ((squares - sum * sum / count) / (count - 1.0)) as f32)
        };
        (field.means, field.variances) = (0..image.voxels.len()).into_par_iter().map(moments).unzip();
        field
    }

    /// The voxel at an offset; `None` beyond the image.
    fn at(&self, voxel: usize, offset: &[isize; 3]) -> Option<usize> {
        let [nx, ny, nz] = self.image.grid.shape;
        let x = (voxel % nx).checked_add_signed(offset[0]).filter(|x| *x < nx)?;
        let y = (voxel / nx % ny).checked_add_signed(offset[1]).filter(|y| *y < ny)?;
        let z = (voxel / (nx * ny)).checked_add_signed(offset[2]).filter(|z| *z < nz)?;
        Some((z * ny + y) * nx + x)
    }

    /// Whether a voxel has a positive intensity, and enough mean and variance around.
    fn counts(&self, voxel: usize) -> bool {
        self.image.voxels[voxel] > 0.0
            && f64::from(self.means[voxel]) > LEAST
            && f64::from(self.variances[voxel]) > LEAST
    }

    /// Whether two voxels have similar means and variances around.
    fn are_similar(&self, voxel: usize, other: usize) -> bool {
        let between = |ratio: f64, least: f64| ratio > least && ratio < 1.0 / least;
        let [mean, near] = [voxel, other].map(|voxel| f64::from(self.means[voxel]));
        let [variance, near_variance] = [voxel, other].map(|voxel| f64::from(self.variances[voxel]));
        (between(mean / near, RATIOS[0]) || between((self.most - mean) / (self.most - near), RATIOS[0]))
            && between(variance / near_variance, RATIOS[1])
    }

    /// The difference of a voxel from the mean around.
    fn detail(&self, voxel: usize) -> f64 {
        f64::from(self.image.voxels[voxel]) - f64::from(self.means[voxel])
    }

    fn intensity(&self, voxel: usize) -> f64 {
        let value = f64::from(self.image.voxels[voxel]);
        if self.rician { value * value } else { value }
    }

    /// The estimate of the patch around a voxel. `near` is work space for the voxels it is compared with.
    fn estimate(&self, near: &mut Vec<usize>, centre: usize) -> Estimate {
        let own: Vec<Option<usize>> = self.patch.iter().map(|offset| self.at(centre, offset)).collect();
        let mut values = vec![0.0; self.patch.len()];
        let (mut weights, mut largest, mut noise) = (0.0, 0.0f64, None);
        if self.counts(centre) && self.mask.is_none_or(|mask| mask[centre]) {
            near.clear();
            let others = self.search.iter().filter(|offset| **offset != [0; 3]);
            near.extend(
                others
                    .filter_map(|offset| self.at(centre, offset))
                    .filter(|other| self.counts(*other) && self.are_similar(centre, *other)),
            );
            let mut least = f64::INFINITY;
            for other in near.iter() {
                let squares = self
                    .patch
                    .iter()
                    .filter_map(|offset| self.at(*other, offset))
                    .map(|voxel| self.detail(voxel).powi(2));
                let (sum, count) = squares.fold((0.0, 0.0), |(sum, count), square| (sum + square, count + 1.0));
                least = least.min(sum / count);
            }
            noise = Some(if least.is_finite() { if least == 0.0 { 1.0 } else { least as f32 } } else { 0.0 });
            let scale = if least == 0.0 { 1.0 } else { least };
            for other in near.iter() {
                let pairs =
                    self.patch.iter().zip(&own).filter_map(|(offset, own)| Some((self.at(*other, offset)?, (*own)?)));
                let (sum, count) = pairs.fold((0.0, 0.0), |(sum, count), (other, own)| {
                    (sum + (self.detail(other) - self.detail(own)).powi(2), count + 1.0)
                });
                let distance = sum / count;
                if distance > 3.0 * scale {
                    continue;
                }
                let weight = (-distance / scale).exp();
                largest = largest.max(weight);
                weights += weight;
                for (value, offset) in values.iter_mut().zip(&self.patch) {
                    if let Some(voxel) = self.at(*other, offset) {
                        *value += weight * self.intensity(voxel);
                    }
                }
            }
        }
        // The patch itself counts as much as the most similar one.
        let own_weight = if largest == 0.0 { 1.0 } else { largest };
        for (value, voxel) in values.iter_mut().zip(&own) {
            *value += voxel.map_or(0.0, |voxel| own_weight * self.intensity(voxel));
        }
        weights += own_weight;
        Estimate { values: values.into_iter().map(|value| (value / weights) as f32).collect(), noise }
    }
}

/// Correction of the variance of Rician noise for the ratio of signal to noise (Koay and Basser 2006).
fn correction(ratio: f64) -> f64 {
    let square = ratio * ratio;
    let [zero, one] = scaled_bessel(0.25 * square);
    // The factor e^(−x/2) is spread over both factors of the square, as e^(−x/4).
    let inner = (2.0 + square) * zero + square * one;
    let value = 2.0 + square - 0.125 * std::f64::consts::PI * inner * inner;
    if (0.001..=10.0).contains(&value) { value } else { 1.0 }
}

/// e^(−x)·I₀(x) and e^(−x)·I₁(x) with the modified Bessel functions I, by the polynomials of Abramowitz and Stegun (9.8.1
/// to 9.8.4).
fn scaled_bessel(x: f64) -> [f64; 2] {
    let polynomial = |t: f64, terms: &[f64]| terms.iter().rev().fold(0.0, |sum, term| sum * t + term);
    if x < 3.75 {
        let t = (x / 3.75).powi(2);
        let zero = polynomial(t, &[1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813]);
        let one = x * polynomial(t, &[0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411]);
        return [zero * (-x).exp(), one * (-x).exp()];
    }
    let t = 3.75 / x;
    let zero = [
        0.39894228,
        0.01328592,
        0.00225319,
        -0.00157565,
        0.00916281,
        -0.02057706,
        0.02635537,
        -0.01647633,
        0.00392377,
    ];
    let one = [
        0.39894228,
        -0.03988024,
        -0.00362018,
        0.00163801,
        -0.01031555,
        0.02282967,
        -0.02895312,
        0.01787654,
        -0.00420059,
    ];
    [polynomial(t, &zero) / x.sqrt(), polynomial(t, &one) / x.sqrt()]
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    #[test]
    fn values_are_those_of_ants() {
        // The expected values are those of DenoiseImage (antspyx 0.6.3) with -s 1 -p 1 -r 2 for Gaussian noise.
        let grid = Grid::axis_aligned([10, 9, 8], [1.0; 3]);
        let place = |voxel: usize| [voxel % 10, voxel / 10 % 9, voxel / 90];
        let made = |[x, y, z]: [usize; 3]| (50 + (x * 7 + y * 13 + z * 29 + x * y * 3) % 17 * 6) as f32;
        let image = Volume { voxels: (0..grid.len()).map(|voxel| made(place(voxel))).collect(), grid };
        let options = Options { rician: false, patch_radius: [1; 3], search_radius: [2; 3] };
        let denoised = denoise(&image, None, &options);
        for (at, expected) in [
            ([0, 0, 0], 60.844_337),
            ([4, 4, 4], 95.117_04),
            ([9, 8, 7], 63.592_636),
            ([2, 6, 1], 83.202_08),
            ([7, 3, 5], 96.729_38),
        ] {
            let found = denoised.voxels[(at[2] * 9 + at[1]) * 10 + at[0]];
            assert!((found - expected).abs() < 1e-3, "{at:?}: {found}, expected {expected}");
        }
        let nowhere = denoise(&image, Some(&vec![false; image.voxels.len()]), &options);
        assert_eq!(nowhere.voxels, image.voxels);
    }

    #[test]
    fn bessel_functions_are_those_of_tables() {
        for (x, expected) in [(1.0, [0.4657596, 0.2079104]), (10.0, [0.1278333, 0.1212627])] {
            for (found, expected) in scaled_bessel(x).into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "{found} {expected}");
            }
        }
    }
}
