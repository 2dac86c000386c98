//! Smoothing, derivatives and sharpening of images: ITK's filters behind ANTs' `ImageMath` and `SmoothImage`.

use antsreg_core::Volume;
use antsreg_kernels::gaussian;
use rayon::prelude::*;

use crate::recursive_gaussian::{self, Order};
use crate::{Error, dimensions};

/// The Laplacian of the image smoothed by a Gaussian: Σ ∂²/∂x², per mm². ITK's
/// `LaplacianRecursiveGaussianImageFilter`.
///
/// # Errors
/// An axis with fewer than four voxels.
pub fn laplacian(image: &Volume, sigma_mm: f64) -> Result<Volume, Error> {
    let mut sum = Volume::filled(image.grid.clone(), 0.0);
    for axis in 0..dimensions(&image.grid) {
        let second = recursive_gaussian::derivative(image, axis, Order::Second, [sigma_mm; 3])?;
        let factor = 1.0 / image.grid.spacing[axis].powi(2);
        let voxels = sum.voxels.iter_mut().zip(second.voxels);
        voxels.for_each(|(sum, value)| *sum = (f64::from(*sum) + f64::from(value) * factor) as f32);
    }
    Ok(sum)
}

/// The magnitude of the gradient of the image smoothed by a Gaussian, per mm. ITK's
/// `GradientMagnitudeRecursiveGaussianImageFilter`.
///
/// # Errors
/// An axis with fewer than four voxels.
pub fn gradient_magnitude(image: &Volume, sigma_mm: f64) -> Result<Volume, Error> {
    let mut sum = Volume::filled(image.grid.clone(), 0.0);
    for axis in 0..dimensions(&image.grid) {
        let first = recursive_gaussian::derivative(image, axis, Order::First, [sigma_mm; 3])?;
        let voxels = sum.voxels.iter_mut().zip(first.voxels);
        voxels.for_each(|(sum, value)| {
            *sum = (f64::from(*sum) + (f64::from(value) / image.grid.spacing[axis]).powi(2)) as f32;
        });
    }
    sum.voxels.iter_mut().for_each(|value| *value = value.sqrt());
    Ok(sum)
}

/// Smooths an image with the discrete Gaussian of [`gaussian::kernel`]. `sigma_mm` are the standard deviations along the
/// axes. ITK's `DiscreteGaussianImageFilter` with a largest error of 0.01.
pub fn discrete_gaussian(image: &Volume, sigma_mm: [f64; 3]) -> Volume {
    let mut out = image.clone();
    for axis in 0..dimensions(&image.grid) {
        let half = gaussian::kernel((sigma_mm[axis] / image.grid.spacing[axis]).powi(2));
        out = along(&out, axis, &half);
    }
    out
}

/// Convolves an image along one axis with a symmetric kernel, given by its middle weight and those of one side. Beyond
/// its border the image continues with the border value.
fn along(image: &Volume, axis: usize, half: &[f32]) -> Volume {
    let [nx, ny, _] = image.grid.shape;
    let (count, stride) = (image.grid.shape[axis], [1, nx, nx * ny][axis]);
    let value = |voxel: usize| {
        let at = voxel / stride % count;
        let start = voxel - at * stride;
        let near = |offset: isize| {
            let at = at.saturating_add_signed(offset).min(count - 1);
            f64::from(image.voxels[start + at * stride])
        };
        let sides = half.iter().enumerate().skip(1);
        let sum = sides.fold(f64::from(half[0]) * near(0), |sum, (k, weight)| {
            sum + f64::from(*weight) * (near(k as isize) + near(-(k as isize)))
        });
        sum as f32
    };
    let voxels = (0..image.voxels.len()).into_par_iter().map(value).collect();
    Volume { grid: image.grid.clone(), voxels }
}

/// Sharpens an image by its Laplacian, which is brought to the image's range before it is subtracted; the mean is kept,
/// and results are clipped to the image's range. ITK's `LaplacianSharpeningImageFilter`. With `by_spacing`, differences
/// are divided by the spacing.
pub fn sharpened(image: &Volume, by_spacing: bool) -> Volume {
    let [nx, ny, _] = image.grid.shape;
    let axes = dimensions(&image.grid);
    let strides = [1, nx, nx * ny];
    let weights = image.grid.spacing.map(|spacing| if by_spacing { spacing.powi(-2) } else { 1.0 });
    let laplacian = |voxel: usize| {
        let here = f64::from(image.voxels[voxel]);
        let of_axis = |axis: usize| {
            let (count, stride) = (image.grid.shape[axis], strides[axis]);
            let at = voxel / stride % count;
            let before = if at == 0 { voxel } else { voxel - stride };
            let after = if at + 1 == count { voxel } else { voxel + stride };
            let sides = f64::from(image.voxels[before]) + f64::from(image.voxels[after]);
            weights[axis] * (sides - 2.0 * here)
        };
        (0..axes).map(of_axis).sum::<f64>()
    };
    let mut values: Vec<f64> = (0..image.voxels.len()).into_par_iter().map(laplacian).collect();
    let range = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (low, high) = range(&mut image.voxels.iter().copied().map(f64::from));
    let (least, most) = range(&mut values.iter().copied());
    let (mut sum, mut sharpened_sum) = (0.0, 0.0);
    for (value, voxel) in values.iter_mut().zip(&image.voxels) {
        let voxel = f64::from(*voxel);
        *value = voxel - ((*value - least) / (most - least) * (high - low) + low);
        sum += voxel;
        sharpened_sum += *value;
    }
    let count = values.len() as f64;
    let shift = sum / count - sharpened_sum / count;
    let voxels = values.into_iter().map(|value| (value + shift).max(low).min(high) as f32).collect();
    Volume { grid: image.grid.clone(), voxels }
}

/// Sharpens an image by its difference from a smoothed image: v + amount · (v − smoothed), where the absolute difference
/// counts above `threshold`. ITK's `UnsharpMaskImageFilter`.
///
/// # Errors
/// An axis with fewer than four voxels.
pub fn unsharp_masked(image: &Volume, amount: f64, sigma_mm: [f64; 3], threshold: f64) -> Result<Volume, Error> {
    let mut out = recursive_gaussian::smooth(image, sigma_mm)?;
    for (value, voxel) in out.voxels.iter_mut().zip(&image.voxels) {
        let difference = f64::from(*voxel) - f64::from(*value);
        let beyond = difference - difference.clamp(-threshold, threshold);
        *value = (f64::from(*voxel) + beyond * amount) as f32;
    }
    Ok(out)
}

/// The convolution of an image with a kernel, an image with an odd number of voxels along each axis:
/// out(x) = Σ kernel(k)·image(x − k) with offsets k from the kernel's middle. Beyond the border the image has the values of
/// the border. With `normalises`, the kernel is divided by its sum. ANTs' `ImageMath` with `Convolve`.
///
/// # Errors
/// A kernel with an even number of voxels along an axis.
pub fn convolved(image: &Volume, kernel: &Volume, normalises: bool) -> Result<Volume, Error> {
    let [kx, ky, kz] = kernel.grid.shape;
    if let Some(axis) = (0..3).find(|axis| kernel.grid.shape[*axis].is_multiple_of(2)) {
        return Err(Error::EvenKernel { axis, found: kernel.grid.shape[axis] });
    }
    let sum: f64 = kernel.voxels.iter().map(|weight| f64::from(*weight)).sum();
    let scale = if normalises { 1.0 / sum } else { 1.0 };
    let weights: Vec<([isize; 3], f64)> = kernel
        .voxels
        .iter()
        .enumerate()
        .filter(|(_, weight)| **weight != 0.0)
        .map(|(n, weight)| {
            let place = [n % kx, n / kx % ky, n / (kx * ky)];
            let offset = std::array::from_fn(|axis| [kx, ky, kz][axis] as isize / 2 - place[axis] as isize);
            (offset, f64::from(*weight) * scale)
        })
        .collect();
    let shape = image.grid.shape;
    let [nx, ny, _] = shape;
    let at = |voxel: usize| {
        let place = [voxel % nx, voxel / nx % ny, voxel / (nx * ny)];
        let value = |(offset, weight): &([isize; 3], f64)| {
            let near: [usize; 3] =
                std::array::from_fn(|axis| place[axis].saturating_add_signed(offset[axis]).min(shape[axis] - 1));
            weight * f64::from(image.voxels[(near[2] * ny + near[1]) * nx + near[0]])
        };
        weights.iter().map(value).sum::<f64>() as f32
    };
    Ok(Volume { voxels: (0..image.voxels.len()).into_par_iter().map(at).collect(), grid: image.grid.clone() })
}

/// The median of each voxel's neighbourhood of the given radii. Beyond its border the image continues with the border
/// value. ITK's `MedianImageFilter`.
pub fn median(image: &Volume, radii: [usize; 3]) -> Volume {
    let [nx, ny, nz] = image.grid.shape;
    let radii = if image.grid.is_slice() { [radii[0], radii[1], 0] } else { radii };
    let near = |at: usize, radius: usize, size: usize| {
        (-(radius as isize)..=radius as isize).map(move |offset| at.saturating_add_signed(offset).min(size - 1))
    };
    let value = |values: &mut Vec<f32>, voxel: usize| {
        let (x, y, z) = (voxel % nx, voxel / nx % ny, voxel / (nx * ny));
        values.clear();
        for z in near(z, radii[2], nz) {
            for y in near(y, radii[1], ny) {
                values.extend(near(x, radii[0], nx).map(|x| image.voxels[(z * ny + y) * nx + x]));
            }
        }
        let middle = values.len() / 2;
        *values.select_nth_unstable_by(middle, f32::total_cmp).1
    };
    let voxels = (0..image.voxels.len()).into_par_iter().map_init(Vec::new, value).collect();
    Volume { grid: image.grid.clone(), voxels }
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    fn image(shape: [usize; 3]) -> Volume {
        let mut image = Volume::filled(Grid::axis_aligned(shape, [1.0, 2.0, 0.5]), 0.0);
        image.voxels.iter_mut().enumerate().for_each(|(n, value)| *value = ((n * 7919) % 101) as f32);
        image
    }

    #[test]
    fn kernels_are_mirrored_and_normalised() {
        let image = Volume { grid: Grid::axis_aligned([4, 1, 1], [1.0; 3]), voxels: vec![1.0, 2.0, 4.0, 8.0] };
        let kernel = Volume { grid: Grid::axis_aligned([3, 1, 1], [1.0; 3]), voxels: vec![3.0, 1.0, 0.0] };
        let found = |normalises| convolved(&image, &kernel, normalises).unwrap().voxels;
        assert_eq!((found(false), found(true)[0]), (vec![7.0, 14.0, 28.0, 32.0], 1.75));
        let even = Volume { grid: Grid::axis_aligned([2, 1, 1], [1.0; 3]), voxels: vec![1.0; 2] };
        assert_eq!(convolved(&image, &even, true), Err(Error::EvenKernel { axis: 0, found: 2 }));
    }

    #[test]
    fn a_ramp_has_its_slope_and_no_laplacian() {
        let mut ramp = Volume::filled(Grid::axis_aligned([40, 40, 40], [2.0, 1.0, 0.5]), 0.0);
        ramp.voxels.iter_mut().enumerate().for_each(|(n, value)| *value = (3 * (n % 40)) as f32);
        let middle = 20 * (1 + 40 + 1600);
        let slope = gradient_magnitude(&ramp, 1.0).unwrap().voxels[middle];
        assert!((slope - 1.5).abs() < 1e-3, "{slope}: 3 per voxel of 2 mm");
        let laplacian = laplacian(&ramp, 1.0).unwrap().voxels[middle];
        assert!(laplacian.abs() < 1e-3, "{laplacian}");
    }

    #[test]
    fn sharpening_keeps_the_range_and_unsharp_masking_nothing_below_its_threshold() {
        let image = image([9, 8, 7]);
        let (low, high) = image.range().unwrap();
        assert!(sharpened(&image, true).voxels.iter().all(|value| (low..=high).contains(value)));
        assert_eq!(unsharp_masked(&image, 0.5, [1.0; 3], 1e9).unwrap().voxels, image.voxels);
    }

    #[test]
    fn the_median_is_that_of_the_sorted_neighbourhood() {
        let image = image([5, 4, 1]);
        let of = |x: usize, y: usize| image.voxels[y * 5 + x];
        let mut near: Vec<f32> = (1..4).flat_map(|y| (1..4).map(move |x| (x, y))).map(|(x, y)| of(x, y)).collect();
        near.sort_by(f32::total_cmp);
        assert_eq!(median(&image, [1; 3]).voxels[2 * 5 + 2], near[4]);
    }
}
