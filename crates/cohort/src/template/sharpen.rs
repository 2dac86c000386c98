//! Sharpening of an average image, which is more blurred than the images from which it was made.

use antsreg_core::Volume;
use rayon::prelude::*;

/// The image minus its Laplacian, as in ITK's `LaplacianSharpeningImageFilter`.
///
/// The Laplacian consists of second differences per mm². It is scaled to the range of the image before the subtraction.
/// Then the mean of the image is restored, and the result is clamped to the range of the image. A constant image is
/// returned unchanged.
pub fn sharpen(image: &Volume) -> Volume {
    let laplacian = laplacian(image);
    let (Some((low, high)), Some((least, most))) = (image.range(), laplacian.range()) else { return image.clone() };
    // The Laplacian of a constant image is zero everywhere.
    if least >= most {
        return image.clone();
    }
    let factor = f64::from(high - low) / f64::from(most - least);
    let difference = |(value, curvature): (&f32, &f32)| f64::from(*value) - scaled(*curvature, [least, low], factor);
    let sharper: Vec<f64> = image.voxels.par_iter().zip(&laplacian.voxels).map(difference).collect();
    let count = image.voxels.len() as f64;
    // The intensities are added in the order of the voxels, so that their sums do not depend on the number of threads.
    let mean = image.voxels.iter().map(|value| f64::from(*value)).sum::<f64>() / count;
    let shift = mean - sharper.iter().sum::<f64>() / count;
    let voxels = sharper.par_iter().map(|value| ((value + shift) as f32).clamp(low, high)).collect();
    Volume { grid: image.grid.clone(), voxels }
}

/// Scales a value of the Laplacian to the range of the image. `least` and `low` are the smallest values of the Laplacian
/// and of the image; `factor` is the quotient of the two ranges.
fn scaled(curvature: f32, [least, low]: [f32; 2], factor: f64) -> f64 {
    f64::from(curvature - least) * factor + f64::from(low)
}

/// The Laplacian of an image: the sum over the axes of the second differences, per mm². Outside the image, the border
/// value is repeated.
fn laplacian(image: &Volume) -> Volume {
    let [nx, ny, nz] = image.grid.shape;
    let weights = image.grid.spacing.map(|spacing| (1.0 / (spacing * spacing)) as f32);
    let voxels = &image.voxels;
    let mut out = vec![0.0; voxels.len()];
    out.par_chunks_exact_mut(nx).enumerate().for_each(|(row, out)| {
        let (j, k) = (row % ny, row / ny);
        let at = |j: usize, k: usize| &voxels[(k * ny + j) * nx..][..nx];
        let here = at(j, k);
        let (south, north) = (at(j.saturating_sub(1), k), at((j + 1).min(ny - 1), k));
        let (below, above) = (at(j, k.saturating_sub(1)), at(j, (k + 1).min(nz - 1)));
        for (i, out) in out.iter_mut().enumerate() {
            let (west, east) = (here[i.saturating_sub(1)], here[(i + 1).min(nx - 1)]);
            let twice = 2.0 * here[i];
            *out = weights.x * (west + east - twice)
                + weights.y * (south[i] + north[i] - twice)
                + weights.z * (below[i] + above[i] - twice);
        }
    });
    Volume { grid: image.grid.clone(), voxels: out }
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    /// The expected sharpened image, for comparison: the image minus its scaled Laplacian, computed in double
    /// precision, voxel by voxel.
    fn naive(image: &Volume) -> Vec<f64> {
        let shape = image.grid.shape;
        let value =
            |index: [usize; 3]| f64::from(image.voxels[(index[2] * shape[1] + index[1]) * shape[0] + index[0]]);
        let mut curvature = Vec::new();
        for n in 0..image.voxels.len() {
            let index = [n % shape[0], n / shape[0] % shape[1], n / (shape[0] * shape[1])];
            let mut sum = 0.0;
            for axis in 0..3 {
                let (mut less, mut more) = (index, index);
                less[axis] = index[axis].max(1) - 1;
                more[axis] = (index[axis] + 1).min(shape[axis] - 1);
                sum += (value(less) - 2.0 * value(index) + value(more)) / image.grid.spacing[axis].powi(2);
            }
            curvature.push(sum);
        }
        let bounds = |values: &[f64]| {
            (values.iter().copied().fold(f64::MAX, f64::min), values.iter().copied().fold(f64::MIN, f64::max))
        };
        let values: Vec<f64> = image.voxels.iter().map(|v| f64::from(*v)).collect();
        let ((low, high), (least, most)) = (bounds(&values), bounds(&curvature));
        let scaled = curvature.iter().map(|c| (c - least) * (high - low) / (most - least) + low);
        let sharper: Vec<f64> = values.iter().zip(scaled).map(|(value, scaled)| value - scaled).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let shift = mean(&values) - mean(&sharper);
        sharper.iter().map(|value| (value + shift).clamp(low, high)).collect()
    }

    #[test]
    fn is_what_itk_describes() {
        let grid = Grid::axis_aligned([7, 5, 6], [1.5, 0.5, 2.0]);
        let mut state = 9u32;
        let voxels = (0..grid.len()).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as f32 / 655.36
        });
        let image = Volume { voxels: voxels.collect(), grid };
        for (found, expected) in sharpen(&image).voxels.iter().zip(naive(&image)) {
            // The values may differ by 1e-3. This is four times the rounding error, in single precision, of second
            // differences of values up to 100.
            assert!((f64::from(*found) - expected).abs() < 1e-3, "{found} {expected}");
        }
    }

    #[test]
    fn a_constant_image_stays() {
        let image = Volume::filled(Grid::axis_aligned([4, 4, 4], [1.0; 3]), 3.0);
        assert_eq!(sharpen(&image), image);
    }
}
