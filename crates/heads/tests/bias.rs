//! Tests of N4: comparison with the formulas of the papers, written out voxel by voxel, and with known shadings.

use antsreg_core::{Grid, Volume};
use antsreg_heads::bias::{self, BiasField, Error, Mesh, Options};
use antsreg_register::Device;

/// Makes a volume of several tissues in a ball, shaded by the exponential of `field`. Returns the volume and the
/// factors of the shading.
fn shaded(shape: [usize; 3], field: impl Fn([f64; 3]) -> f64) -> (Volume, Volume) {
    let grid = Grid::axis_aligned(shape, [3.0, 3.0, 3.0]);
    let mut image = Volume::filled(grid.clone(), 0.0);
    let mut truth = Volume::filled(grid, 1.0);
    let mut at = 0;
    for z in 0..shape[2] {
        for y in 0..shape[1] {
            for x in 0..shape[0] {
                let along = |n: usize, size: usize| n as f64 / (size - 1).max(1) as f64 * 2.0 - 1.0;
                let across = if shape[2] == 1 { 0.0 } else { along(z, shape[2]) };
                let place = [along(x, shape[0]), along(y, shape[1]), across];
                let radius = place.iter().map(|c| c * c).sum::<f64>().sqrt();
                let tissue =
                    ((place[0] * 23.0).sin() + (place[1] * 19.0).sin() + (place[2] * 21.0).sin()).round() * 30.0;
                // The synthetic image gets a fixed pattern as noise, so that the voxels of one tissue differ in
                // intensity.
                let noise = ((at * 7919) % 101) as f64 / 25.0;
                truth.voxels[at] = field(place).exp() as f32;
                if radius < 1.0 {
                    image.voxels[at] = ((150.0 + tissue + noise) * field(place).exp()) as f32;
                }
                at += 1;
            }
        }
    }
    (image, truth)
}

/// Error of an estimated bias field: the standard deviation, over the foreground, of log(estimated factor / true
/// factor).
fn left(image: &Volume, found: &Volume, truth: &Volume) -> f64 {
    let inside = image.voxels.iter().zip(&found.voxels).zip(&truth.voxels).filter(|((image, _), _)| **image > 0.0);
    let ratios: Vec<f64> = inside.map(|((_, found), truth)| f64::from(found / truth).ln()).collect();
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    (ratios.iter().map(|r| (r - mean) * (r - mean)).sum::<f64>() / ratios.len() as f64).sqrt()
}

/// Options for the small volumes of these tests: every second voxel is sampled.
fn options() -> Options {
    Options { shrink: 2, ..Options::default() }
}

fn estimate(image: &Volume, mask: Option<&Volume>, weights: Option<&Volume>, options: &Options) -> BiasField {
    bias::estimate(image, mask, weights, None, options, &Device::cpu()).expect("the image has contrast")
}

fn on(field: &BiasField, grid: &Grid) -> Volume {
    field.on(grid, &Device::cpu()).expect("by the CPU")
}

#[test]
fn a_known_shading_is_found() {
    let field = |[x, y, z]: [f64; 3]| 0.25 * x - 0.2 * y * y + 0.1 * x * z;
    let (image, truth) = shaded([40, 44, 36], field);
    let mask = bias::foreground(&image);
    let none = Volume::filled(image.grid.clone(), 1.0);
    let found = on(&estimate(&image, Some(&mask), None, &options()), &image.grid);
    let (before, after) = (left(&image, &none, &truth), left(&image, &found, &truth));
    assert!(after < before / 4.0, "of {before} {after} is left");
}

#[test]
fn slices_have_fields_too() {
    let (image, truth) = shaded([60, 64, 1], |[x, y, _]| 0.25 * x - 0.2 * y * y);
    let mask = bias::foreground(&image);
    let none = Volume::filled(image.grid.clone(), 1.0);
    let found = on(&estimate(&image, Some(&mask), None, &options()), &image.grid);
    let (before, after) = (left(&image, &none, &truth), left(&image, &found, &truth));
    assert!(after < before / 3.0, "of {before} {after} is left");
}

/// The expected bias field after one iteration of N4, computed in double precision with plain sums over all voxels and
/// control points. Returns the factor of the field at each voxel.
fn one_iteration(
    image: &Volume,
    weights: &Volume,
    elements: [usize; 3],
    bins: usize,
    fwhm: f64,
    noise: f64,
) -> Vec<f64> {
    let logs: Vec<f64> = image.voxels.iter().map(|v| f64::from(*v).ln()).collect();
    let low = logs.iter().copied().fold(f64::INFINITY, f64::min);
    let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = (high - low) / (bins - 1) as f64;
    let mut counts = vec![0.0; bins];
    for log in &logs {
        let at = (log - low) / width;
        let bin = (at as usize).min(bins - 2);
        counts[bin] += 1.0 - (at - bin as f64);
        counts[bin + 1] += at - bin as f64;
    }
    let expected = expectation(&counts, low, width, fwhm, noise);
    let basis = |t: f64| {
        let t = t.abs();
        if t < 1.0 {
            2.0 / 3.0 - t * t + t * t * t / 2.0
        } else if t < 2.0 {
            (2.0 - t).powi(3) / 6.0
        } else {
            0.0
        }
    };
    let shape = image.grid.shape;
    let points = elements.map(|n| n + 3);
    let place = |voxel: usize, axis: usize| voxel as f64 / (shape[axis] - 1) as f64 * elements[axis] as f64;
    let index = |n: usize, sizes: [usize; 3]| [n % sizes[0], n / sizes[0] % sizes[1], n / sizes[0] / sizes[1]];
    let weight = |point: usize, voxel: usize| -> f64 {
        let (point, voxel) = (index(point, points), index(voxel, shape));
        (0..3).map(|a| basis(place(voxel[a], a) - (point[a] as f64 - 1.0))).product()
    };
    let count: usize = points.iter().product();
    let (mut asked, mut squares) = (vec![0.0; count], vec![0.0; count]);
    for (voxel, log) in logs.iter().enumerate() {
        let at = (log - low) / width;
        let bin = (at as usize).min(bins - 2);
        let residual = log - (expected[bin] + (expected[bin + 1] - expected[bin]) * (at - bin as f64));
        let all: Vec<f64> = (0..count).map(|point| weight(point, voxel)).collect();
        let sum: f64 = all.iter().map(|w| w * w).sum();
        for point in 0..count {
            let w = all[point];
            let counts = f64::from(weights.voxels[voxel]);
            asked[point] += counts * w * w * w * residual / sum;
            squares[point] += counts * w * w;
        }
    }
    let lattice: Vec<f64> = asked.iter().zip(&squares).map(|(a, s)| if *s > 0.0 { a / s } else { 0.0 }).collect();
    (0..logs.len()).map(|voxel| (0..count).map(|p| weight(p, voxel) * lattice[p]).sum::<f64>().exp()).collect()
}

/// Reference for the sharpening of Sled et al. 1998: the expected log intensity without the field, for each bin of the
/// histogram. It is computed by direct sums over a circular histogram, instead of fast Fourier transforms.
fn expectation(counts: &[f64], low: f64, width: f64, fwhm: f64, noise: f64) -> Vec<f64> {
    let bins = counts.len();
    let length = 2 * bins.next_power_of_two();
    let margin = (length - bins) / 2;
    let angle = |a: usize, b: usize| 2.0 * std::f64::consts::PI * ((a * b) % length) as f64 / length as f64;
    let gaussian: Vec<f64> = (0..length)
        .map(|n| {
            let d = n.min(length - n) as f64 * width / fwhm;
            2.0 * (std::f64::consts::LN_2 / std::f64::consts::PI).sqrt() * width / fwhm
                * (-4.0 * std::f64::consts::LN_2 * d * d).exp()
        })
        .collect();
    let blur: Vec<f64> = (0..length).map(|k| (0..length).map(|n| gaussian[n] * angle(k, n).cos()).sum()).collect();
    // The filters are real and even functions of frequency, so the kernel of each filter is a sum of cosines.
    let kernel = |gains: &dyn Fn(f64) -> f64| -> Vec<f64> {
        let gains: Vec<f64> = blur.iter().map(|b| gains(*b)).collect();
        (0..length).map(|n| (0..length).map(|k| gains[k] * angle(k, n).cos()).sum::<f64>() / length as f64).collect()
    };
    let filtered = |values: &[f64], kernel: &[f64]| -> Vec<f64> {
        (0..length).map(|n| (0..length).map(|m| kernel[(n + length - m) % length] * values[m]).sum()).collect()
    };
    let mut padded = vec![0.0; length];
    padded[margin..margin + bins].copy_from_slice(counts);
    let sharp: Vec<f64> =
        filtered(&padded, &kernel(&|b| b / (b * b + noise))).into_iter().map(|v| v.max(0.0)).collect();
    let moments: Vec<f64> =
        sharp.iter().enumerate().map(|(n, s)| (low + (n as f64 - margin as f64) * width) * s).collect();
    let same = kernel(&|b| b);
    let (above, below) = (filtered(&moments, &same), filtered(&sharp, &same));
    (margin..margin + bins).map(|n| above[n] / below[n]).collect()
}

#[test]
fn an_iteration_is_that_of_the_papers() {
    let shape = [9, 8, 7];
    let grid = Grid::axis_aligned(shape, [2.0, 2.5, 3.0]);
    let mut image = Volume::filled(grid.clone(), 0.0);
    let mut weights = Volume::filled(grid, 1.0);
    for (n, voxel) in image.voxels.iter_mut().enumerate() {
        *voxel = 40.0 + ((n * 7919) % 97) as f32 + 0.5 * n as f32;
        weights.voxels[n] = 0.25 + ((n * 31) % 5) as f32 * 0.25;
    }
    for elements in [[1, 1, 1], [2, 3, 1]] {
        let options = Options {
            shrink: 1,
            iterations: vec![1],
            mesh: Mesh::Elements(elements),
            bins: 24,
            fwhm: 0.3,
            ..Options::default()
        };
        let field = estimate(&image, None, Some(&weights), &options);
        let found = on(&field, &image.grid);
        let expected = one_iteration(&image, &weights, elements, 24, 0.3, options.noise);
        for (found, expected) in found.voxels.iter().zip(&expected) {
            // Tolerance: the bias field may differ by 2e-5 from the expected field, computed in double precision. The
            // tested code rounds the weights of histogram entries to 1/65536, and stores logarithms and factors in
            // single precision.
            assert!((f64::from(*found) - expected).abs() < 2e-5, "{elements:?}: {found} and {expected}");
        }
    }
}

#[test]
fn an_image_divided_by_its_field_is_corrected_in_the_mask_alone() {
    let (image, _) = shaded([24, 24, 24], |[x, _, _]| 0.3 * x);
    let mut mask = bias::foreground(&image);
    mask.voxels.iter_mut().take(24 * 24 * 12).for_each(|voxel| *voxel = 0.0);
    let field = estimate(&image, Some(&mask), None, &options());
    let factors = on(&field, &image.grid);
    let corrected = bias::correct(&image, &field, Some(&mask), &Device::cpu()).expect("by the CPU");
    for at in 0..image.voxels.len() {
        let expected = if mask.voxels[at] > 0.0 { image.voxels[at] / factors.voxels[at] } else { image.voxels[at] };
        assert_eq!(corrected.voxels[at], expected);
    }
}

#[test]
fn what_cannot_be_corrected_is_refused() {
    let grid = Grid::axis_aligned([8, 8, 8], [1.0; 3]);
    let flat = Volume::filled(grid.clone(), 5.0);
    let estimate = |image: &Volume, mask: Option<&Volume>, options: &Options| {
        bias::estimate(image, mask, None, None, options, &Device::cpu()).map(|_| ()).expect_err("no field")
    };
    assert!(matches!(estimate(&flat, None, &options()), Error::Constant { .. }));
    let nothing = Volume::filled(grid, 0.0);
    assert!(matches!(estimate(&flat, Some(&nothing), &options()), Error::NoVoxels { shrink: 2 }));
    let small = Volume::filled(Grid::axis_aligned([4, 8, 8], [1.0; 3]), 1.0);
    assert!(matches!(estimate(&flat, Some(&small), &options()), Error::Shape { what: "mask", .. }));
    for bad in [
        Options { shrink: 0, ..options() },
        Options { iterations: vec![], ..options() },
        Options { threshold: f64::NAN, ..options() },
        Options { mesh: Mesh::DistanceMm(0.0), ..options() },
        Options { mesh: Mesh::Elements([0, 1, 1]), ..options() },
        Options { bins: 1, ..options() },
        Options { fwhm: 0.0, ..options() },
        Options { noise: f64::INFINITY, ..options() },
    ] {
        assert!(matches!(estimate(&flat, None, &bad), Error::Range { .. }), "{bad:?}");
    }
    let fine = Options { mesh: Mesh::Elements([128; 3]), iterations: vec![1; 8], ..options() };
    assert!(matches!(estimate(&flat, None, &fine), Error::Mesh { .. }));
}
