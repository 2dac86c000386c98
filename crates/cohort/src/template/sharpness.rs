//! Sharpness of an image inside a mask.

use antsreg_core::Volume;
use antsreg_core::same_grid::{GridMismatch, same_grid};
use rayon::prelude::*;

/// Sharpness: the mean gradient magnitude divided by the mean intensity, both where `mask` exceeds ½, per mm.
///
/// It does not depend on the brightness of the image. The gradient is computed by central differences, one-sided at the
/// border of the image. The result is NaN for an empty mask.
pub fn sharpness(image: &Volume, mask: &Volume) -> Result<f64, GridMismatch> {
    same_grid("the image and the mask", &image.grid, &mask.grid)?;
    let [nx, ny, nz] = image.grid.shape;
    let spacing = image.grid.spacing;
    let value = |i: usize, j: usize, k: usize| f64::from(image.voxels[(k * ny + j) * nx + i]);
    let rows: Vec<(f64, f64)> = (0..ny * nz)
        .into_par_iter()
        .with_min_len(64)
        .map(|row| {
            let (j, k) = (row % ny, row / ny);
            let (mut gradients, mut intensities) = (0.0, 0.0);
            for i in (0..nx).filter(|i| mask.voxels[row * nx + i] > 0.5) {
                let slope = |at: usize, length: usize, spacing: f64, value: &dyn Fn(usize) -> f64| {
                    let (below, above) = (at.saturating_sub(1), (at + 1).min(length - 1));
                    if above > below {
                        (value(above) - value(below)) / ((above - below) as f64 * spacing)
                    } else {
                        0.0
                    }
                };
                let x = slope(i, nx, spacing.x, &|i| value(i, j, k));
                let y = slope(j, ny, spacing.y, &|j| value(i, j, k));
                let z = slope(k, nz, spacing.z, &|k| value(i, j, k));
                gradients += (x * x + y * y + z * z).sqrt();
                intensities += value(i, j, k);
            }
            (gradients, intensities)
        })
        .collect();
    let (gradients, intensities) = rows.iter().fold((0.0, 0.0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
    Ok(gradients / intensities)
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    #[test]
    fn a_ramp_has_its_slope_whatever_its_brightness() {
        let grid = Grid::axis_aligned([5, 4, 6], [2.0, 1.0, 0.5]);
        let at = |n: usize| [(n % 5) as f32, (n / 5 % 4) as f32, (n / 20) as f32];
        let ramp = |n| at(n)[0] * 6.0 + at(n)[1] * 12.0 + at(n)[2] * 2.0 + 100.0;
        let image = Volume { voxels: (0..grid.len()).map(ramp).collect(), grid: grid.clone() };
        let bright = Volume { voxels: image.voxels.iter().map(|value| 8.0 * value).collect(), grid: grid.clone() };
        let mut mask = Volume::filled(grid, 1.0);
        mask.voxels[7] = 0.5;
        // The intensity of the test image rises by 3 per mm along x, by 12 per mm along y and by 4 per mm along z, so the
        // gradient magnitude is 13. The mean intensity of the whole image is 135: on average, the slope along x
        // contributes 12, the slope along y 18, the slope along z 5, and the constant 100. Only the voxel at (2, 1, 0),
        // with intensity 124, is outside the mask.
        let mean = (135.0 * 120.0 - 124.0) / 119.0;
        let expected = 13.0 / mean;
        assert!((sharpness(&image, &mask).expect("one grid") - expected).abs() < 1e-12);
        assert!((sharpness(&bright, &mask).expect("one grid") - expected).abs() < 1e-12);
    }

    #[test]
    fn a_slice_has_no_slope_across_its_plane() {
        let grid = Grid::axis_aligned([3, 2, 1], [1.0; 3]);
        let image = Volume { voxels: vec![1.0, 2.0, 3.0, 1.0, 2.0, 3.0], grid: grid.clone() };
        assert_eq!(sharpness(&image, &Volume::filled(grid, 1.0)).expect("one grid"), 0.5);
    }
}
