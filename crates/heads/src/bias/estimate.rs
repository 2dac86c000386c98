//! Estimates a bias field by iterations. An iteration subtracts the present field from the logarithms of the
//! intensities and sharpens the histogram of these differences. Then it fits a B-spline to the change by sharpening,
//! and adds the B-spline to the field.

use antsreg_core::Volume;
use rayon::prelude::*;
use serde::Serialize;

use super::lattice::{Lattice, spread, spread_row, value};
use super::samples::Samples;
use super::sharpen::Sharpener;
use super::spline::Reach;
use super::{BiasField, Error, Options};

/// Largest number of control points of the finest mesh.
const MOST_POINTS: usize = 1 << 24;
/// Weight of one sample in the histogram, divided between two bins. It is an integer, so that sums do not depend on the
/// order of addition.
const WHOLE: f64 = 65_536.0;

/// Iterations and convergence of one resolution level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Course {
    /// Iterations.
    pub iterations: usize,
    /// Change of the field in the last iteration: coefficient of variation of the ratio of the field's factors before
    /// and after the iteration.
    pub change: f64,
}

/// Estimates the bias field of an image from the voxels inside a mask (above 0), or from all voxels if there is no
/// mask. `weights` are the voxels' weights in the fit.
///
/// # Errors
/// An option is out of its range; the mask or the weights have another shape than the image; no voxel can be used, or
/// all used voxels have the same intensity.
pub fn estimate(
    image: &Volume,
    mask: Option<&Volume>,
    weights: Option<&Volume>,
    options: &Options,
) -> Result<BiasField, Error> {
    options.check()?;
    let samples = Samples::of(image, mask, weights, options)?;
    let mut elements = samples.axes.map(|axis| axis.elements);
    let finest = elements.map(|n| n << (options.iterations.len() - 1));
    let most = finest.iter().try_fold(1_usize, |product, n| product.checked_mul(n + 3)).unwrap_or(usize::MAX);
    if most > MOST_POINTS {
        return Err(Error::Mesh { found: most, most: MOST_POINTS });
    }
    let sharpener = Sharpener::new(options);
    let mut total = Lattice::zeros(elements);
    let mut left = samples.logarithms.clone();
    let mut courses = Vec::new();
    for (level, iterations) in options.iterations.iter().enumerate() {
        if level > 0 {
            total = total.refined();
            elements = total.elements;
        }
        let fit = Fit::new(&samples, elements);
        let mut course = Course { iterations: 0, change: f64::INFINITY };
        while course.iterations < *iterations && course.change > options.threshold {
            let histogram = Histogram::of(&samples, &left, options.bins)?;
            let expected = sharpener.expectation(&histogram.counts, histogram.low, histogram.width);
            let step = fit.to_residuals(&samples, &left, &histogram, &expected);
            total.values.iter_mut().zip(&step.values).for_each(|(sum, value)| *sum += value);
            course.change = fit.subtract(&samples, &total, &mut left);
            course.iterations += 1;
        }
        courses.push(course);
    }
    Ok(BiasField { axes: samples.axes, lattice: total, courses })
}

/// Histogram of the samples' logarithms. Each sample is divided linearly between the two nearest bins.
struct Histogram {
    low: f64,
    width: f64,
    counts: Vec<f64>,
}

impl Histogram {
    fn of(samples: &Samples, left: &[f32], bins: usize) -> Result<Histogram, Error> {
        let counted = || left.par_iter().zip(&samples.weights).filter(|(_, weight)| **weight > 0.0);
        let (low, high) = counted()
            .map(|(value, _)| (*value, *value))
            .reduce(|| (f32::INFINITY, f32::NEG_INFINITY), |a, b| (a.0.min(b.0), a.1.max(b.1)));
        let (low, high) = (f64::from(low), f64::from(high));
        let width = (high - low) / (bins - 1) as f64;
        if width.is_nan() || width <= 0.0 {
            return Err(Error::Constant { voxels: samples.count });
        }
        let shape = samples.shape();
        let slices = left.par_chunks(shape[0] * shape[1]).zip(samples.weights.par_chunks(shape[0] * shape[1]));
        let share = |mut counts: Vec<u64>, (left, weights): (&[f32], &[f32])| {
            for (value, _) in left.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
                let (bin, beyond) = place(f64::from(*value), low, width, bins);
                let next = (beyond * WHOLE).round() as u64;
                counts[bin] += WHOLE as u64 - next;
                counts[bin + 1] += next;
            }
            counts
        };
        let none = || vec![0_u64; bins];
        let add = |mut a: Vec<u64>, b: Vec<u64>| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        let counts = slices.fold(none, share).reduce(none, add);
        Ok(Histogram { low, width, counts: counts.into_iter().map(|count| count as f64 / WHOLE).collect() })
    }
}

/// Returns the index of the bin whose centre is at or below a value, and the distance of the value from this centre, in
/// bins. The index is never that of the last bin.
fn place(value: f64, low: f64, width: f64, bins: usize) -> (usize, f64) {
    let at = ((value - low) / width).max(0.0);
    let bin = (at as usize).min(bins - 2);
    (bin, (at - bin as f64).min(1.0))
}

/// B-spline approximation by Lee et al. on the mesh of one level. Each sample alone, by least squares, proposes a value
/// for every control point that influences it. A control point becomes the mean of the proposed values, weighted by the
/// samples' weights and the squares of the B-spline weights.
struct Fit {
    elements: [usize; 3],
    /// For each axis and each sample along the axis: the control points that influence the sample, with their B-spline
    /// weights.
    reaches: [Vec<Reach>; 3],
    /// For each axis and each sample along the axis: the control points that influence the sample, with w³ / Σ w²
    /// instead of each B-spline weight w. The numerators of the weighted means need these values.
    asked: [Vec<Reach>; 3],
    /// Denominator of the weighted mean of each control point: the sum of the samples' weights times the squared
    /// B-spline weights.
    squares: Vec<f64>,
}

impl Fit {
    fn new(samples: &Samples, elements: [usize; 3]) -> Fit {
        let reaches: [Vec<Reach>; 3] = std::array::from_fn(|axis| samples.along[axis].reaches(elements[axis]));
        let of = |weights: fn([f64; 4]) -> [f64; 4]| {
            let turned = |reach: &Reach| Reach { first: reach.first, weights: weights(reach.weights) };
            std::array::from_fn(|axis| reaches[axis].iter().map(turned).collect::<Vec<_>>())
        };
        let asked = of(|weights| {
            let squares: f64 = weights.iter().map(|w| w * w).sum();
            weights.map(|w| w * w * w / squares)
        });
        let squared: [Vec<Reach>; 3] = of(|weights| weights.map(|w| w * w));
        let mut fit = Fit { elements, reaches, asked, squares: Vec::new() };
        fit.squares = fit.sums(samples, &squared, |at| f64::from(samples.weights[at]));
        fit
    }

    /// For each control point, sums over the samples that it influences: the value of the sample times the product of
    /// its weights along the three axes. `by` has these weights for each axis and sample. Slices are summed separately
    /// and added in order, so that the number of threads does not change the sums.
    fn sums(&self, samples: &Samples, by: &[Vec<Reach>; 3], value: impl Fn(usize) -> f64 + Sync) -> Vec<f64> {
        let [nx, ny, nz] = samples.shape();
        let [px, py, _] = Lattice::zeros(self.elements).points();
        let slice = |z: usize| {
            let mut plane = vec![0.0; px * py];
            let mut row = vec![0.0; px];
            for y in 0..ny {
                let first = (z * ny + y) * nx;
                row.fill(0.0);
                let mut any = false;
                for x in 0..nx {
                    if samples.weights[first + x] > 0.0 {
                        spread(&mut row, &by[0][x], value(first + x));
                        any = true;
                    }
                }
                if any {
                    spread_row(&mut plane, &by[1][y], &row);
                }
            }
            plane
        };
        let planes: Vec<Vec<f64>> = (0..nz).into_par_iter().map(slice).collect();
        let mut sums = vec![0.0; Lattice::len(self.elements)];
        for (plane, reach) in planes.iter().zip(&by[2]) {
            spread_row(&mut sums, reach, plane);
        }
        sums
    }

    /// Fits a lattice of B-spline control points to the residuals: each sample's logarithm without the field, minus its
    /// value after sharpening.
    fn to_residuals(&self, samples: &Samples, left: &[f32], histogram: &Histogram, expected: &[f64]) -> Lattice {
        let residual = |at: usize| {
            let found = f64::from(left[at]);
            let (bin, beyond) = place(found, histogram.low, histogram.width, expected.len());
            let sharp = expected[bin] + (expected[bin + 1] - expected[bin]) * beyond;
            f64::from(samples.weights[at]) * (found - sharp)
        };
        let mut values = self.sums(samples, &self.asked, residual);
        for (value, squares) in values.iter_mut().zip(&self.squares) {
            *value = if *squares > 0.0 { *value / squares } else { 0.0 };
        }
        Lattice { elements: self.elements, values }
    }

    /// Sets `left` to the samples' logarithms minus the field. Returns the coefficient of variation of the ratio of the
    /// field's factors before and after the iteration.
    fn subtract(&self, samples: &Samples, field: &Lattice, left: &mut [f32]) -> f64 {
        let [nx, ny, _] = samples.shape();
        let slice = |(z, left): (usize, &mut [f32])| {
            let plane = field.slice(&self.reaches[2][z]);
            let mut row = Vec::new();
            let mut sums = [0.0; 2];
            for (y, left) in left.chunks_exact_mut(nx).enumerate() {
                let first = (z * ny + y) * nx;
                plane.row(&self.reaches[1][y], &mut row);
                for (x, left) in left.iter_mut().enumerate() {
                    if samples.weights[first + x] > 0.0 {
                        let now =
                            (f64::from(samples.logarithms[first + x]) - value(&row, &self.reaches[0][x])) as f32;
                        // Relative change: the field's factor before this iteration divided by the factor after the
                        // iteration, minus 1.
                        let change = (f64::from(now) - f64::from(*left)).exp_m1();
                        *left = now;
                        sums[0] += change;
                        sums[1] += change * change;
                    }
                }
            }
            sums
        };
        let slices: Vec<[f64; 2]> = left.par_chunks_mut(nx * ny).enumerate().map(slice).collect();
        let [sum, squares] = slices.into_iter().fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
        let count = samples.count as f64;
        let mean = sum / count;
        let variance = (squares - count * mean * mean).max(0.0) / (count - 1.0).max(1.0);
        variance.sqrt() / (1.0 + mean)
    }
}
