//! Gaussian smoothing and derivatives by recursive filters of fourth order: Deriche (1993), with the coefficients of
//! Farnebäck and Westin (2006), as in ITK's `RecursiveGaussianImageFilter`.
//!
//! The time does not depend on sigma. Beyond its ends, a line of voxels continues with its end values. Lines are
//! computed in double precision, and stored in single precision after each axis.

use antsreg_core::Volume;
use rayon::prelude::*;

use crate::{Error, dimensions};

/// Derivative of the Gaussian that a filter computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Smoothing.
    Smooth,
    /// First derivative per voxel.
    First,
    /// Second derivative per voxel².
    Second,
}

/// Least number of voxels along an axis: the filters are of fourth order.
const LEAST_VOXELS: usize = 4;

/// Filters an image along all axes: along `axis` by the derivative of `order`, along the others by the Gaussian.
/// `sigma_mm` are the standard deviations of the Gaussian along each axis. The axis of the derivative is first, then
/// the others in order.
///
/// # Errors
/// An axis with fewer than four voxels.
pub fn derivative(image: &Volume, axis: usize, order: Order, sigma_mm: [f64; 3]) -> Result<Volume, Error> {
    let mut out = image.clone();
    filter(&mut out, axis, order, sigma_mm[axis])?;
    for other in (0..dimensions(&image.grid)).filter(|other| *other != axis) {
        filter(&mut out, other, Order::Smooth, sigma_mm[other])?;
    }
    Ok(out)
}

/// Smooths an image with a Gaussian whose standard deviations along the axes are given, mm. The last axis is first, as
/// in ITK.
///
/// # Errors
/// An axis with fewer than four voxels.
pub fn smooth(image: &Volume, sigma_mm: [f64; 3]) -> Result<Volume, Error> {
    derivative(image, dimensions(&image.grid) - 1, Order::Smooth, sigma_mm)
}

/// Filters an image along one axis. A sigma that is not positive changes nothing.
///
/// # Errors
/// The axis has fewer than four voxels.
pub fn filter(image: &mut Volume, axis: usize, order: Order, sigma_mm: f64) -> Result<(), Error> {
    let [nx, ny, nz] = image.grid.shape;
    let count = image.grid.shape[axis];
    if sigma_mm <= 0.0 {
        return Ok(());
    }
    if count < LEAST_VOXELS {
        return Err(Error::TooFewVoxels { axis, found: count, least: LEAST_VOXELS });
    }
    let coefficients = Coefficients::new(order, sigma_mm / image.grid.spacing[axis]);
    let along = |line: &mut Line, voxels: &mut [f32], first: usize, stride: usize| {
        line.data.clear();
        line.data.extend((0..count).map(|n| f64::from(voxels[first + n * stride])));
        let filtered = line.filtered(&coefficients);
        (0..count).for_each(|n| voxels[first + n * stride] = filtered[n] as f32);
    };
    match axis {
        0 => image.voxels.par_chunks_mut(nx).for_each_init(Line::default, |line, row| along(line, row, 0, 1)),
        1 => image.voxels.par_chunks_mut(nx * ny).for_each_init(Line::default, |line, slice| {
            (0..nx).for_each(|x| along(line, slice, x, nx));
        }),
        _ => {
            let voxels = &image.voxels;
            let rows: Vec<Vec<f32>> = (0..ny)
                .into_par_iter()
                .map_init(Line::default, |line, y| {
                    let mut columns: Vec<f32> =
                        (0..nz).flat_map(|z| &voxels[(z * ny + y) * nx..][..nx]).copied().collect();
                    (0..nx).for_each(|x| along(line, &mut columns, x, nx));
                    columns
                })
                .collect();
            image.voxels.par_chunks_mut(nx).enumerate().for_each(|(row, out)| {
                out.copy_from_slice(&rows[row % ny][row / ny * nx..][..nx]);
            });
        }
    }
    Ok(())
}

/// Coefficients of the recursive filter, in the notation of ITK.
struct Coefficients {
    /// Of the voxels, for the pass in ascending order.
    n: [f64; 4],
    /// Of the voxels, for the pass in descending order.
    m: [f64; 4],
    /// Of the filtered values, for both passes.
    d: [f64; 4],
    /// Of the end value, in place of the filtered values beyond the ends of the line.
    ends: [[f64; 4]; 2],
}

impl Coefficients {
    fn new(order: Order, sigma: f64) -> Coefficients {
        const A: [[f64; 3]; 2] = [[1.3530, -0.6724, -1.3563], [-0.3531, 0.6724, 0.3446]];
        const B: [[f64; 3]; 2] = [[1.8151, -3.4327, 5.2318], [0.0902, 0.6100, -2.2355]];
        const W: [f64; 2] = [0.6681, 2.0787];
        const L: [f64; 2] = [-1.3932, -1.3732];
        let ([sin1, sin2], [cos1, cos2]) = (W.map(|w| (w / sigma).sin()), W.map(|w| (w / sigma).cos()));
        let [exp1, exp2] = L.map(|l| (l / sigma).exp());
        let d = [
            -2.0 * (exp2 * cos2 + exp1 * cos1),
            4.0 * cos2 * cos1 * exp1 * exp2 + exp1 * exp1 + exp2 * exp2,
            -2.0 * cos1 * exp1 * exp2 * exp2 - 2.0 * cos2 * exp2 * exp1 * exp1,
            exp1 * exp1 * exp2 * exp2,
        ];
        let [sd, dd, ed] = [0, 1, 2].map(|power| {
            let start = if power == 0 { 1.0 } else { 0.0 };
            (0..4).fold(start, |sum, k| sum + ((k + 1) as f64).powi(power) * d[k])
        });
        let of_order = |order: usize| {
            let ([a1, a2], [b1, b2]) = (A.map(|a| a[order]), B.map(|b| b[order]));
            [
                a1 + a2,
                exp2 * (b2 * sin2 - (a2 + 2.0 * a1) * cos2) + exp1 * (b1 * sin1 - (a1 + 2.0 * a2) * cos1),
                2.0 * exp1 * exp2 * ((a1 + a2) * cos2 * cos1 - b1 * cos2 * sin1 - b2 * cos1 * sin2)
                    + a2 * exp1 * exp1
                    + a1 * exp2 * exp2,
                exp2 * exp1 * exp1 * (b2 * sin2 - a2 * cos2) + exp1 * exp2 * exp2 * (b1 * sin1 - a1 * cos1),
            ]
        };
        let moment = |n: &[f64; 4], power: i32| (0..4).map(|k| (k as f64).powi(power) * n[k]).sum::<f64>();
        let (n, scale) = match order {
            Order::Smooth => {
                let n = of_order(0);
                (n, 2.0 * moment(&n, 0) / sd - n[0])
            }
            Order::First => {
                let n = of_order(1);
                (n, 2.0 * (moment(&n, 0) * dd - moment(&n, 1) * sd) / (sd * sd))
            }
            Order::Second => {
                let (n0, n2) = (of_order(0), of_order(2));
                let beta = -(2.0 * moment(&n2, 0) - sd * n2[0]) / (2.0 * moment(&n0, 0) - sd * n0[0]);
                let n = std::array::from_fn(|k| n2[k] + beta * n0[k]);
                let [sn, dn, en] = [0, 1, 2].map(|power| moment(&n, power));
                (n, (en * sd * sd - ed * sn * sd - 2.0 * dn * dd * sd + 2.0 * dd * dd * sn) / (sd * sd * sd))
            }
        };
        let n = n.map(|n| n / scale);
        let sign = if order == Order::First { -1.0 } else { 1.0 };
        let m = std::array::from_fn(|k| sign * (n.get(k + 1).copied().unwrap_or(0.0) - d[k] * n[0]));
        let ends = [n, m].map(|c| d.map(|d| d * c.iter().sum::<f64>() / sd));
        Coefficients { n, m, d, ends }
    }
}

/// Work space for a line of voxels.
#[derive(Default)]
struct Line {
    data: Vec<f64>,
    up: Vec<f64>,
    down: Vec<f64>,
}

impl Line {
    /// The sum of the pass in ascending and the pass in descending order.
    fn filtered(&mut self, c: &Coefficients) -> &[f64] {
        let (data, count) = (&self.data, self.data.len());
        let (first, last) = (data[0], data[count - 1]);
        self.up.clear();
        self.down.clear();
        for i in 0..count {
            let mut sum = 0.0;
            for k in 0..4 {
                sum += c.n[k] * if i >= k { data[i - k] } else { first };
            }
            for k in 0..4 {
                sum -= if i > k { c.d[k] * self.up[i - k - 1] } else { c.ends[0][k] * first };
            }
            self.up.push(sum);
        }
        for i in 0..count {
            // `down` is in descending order of the voxels.
            let at = count - 1 - i;
            let mut sum = 0.0;
            for k in 0..4 {
                sum += c.m[k] * if i > k { data[at + k + 1] } else { last };
            }
            for k in 0..4 {
                sum -= if i > k { c.d[k] * self.down[i - k - 1] } else { c.ends[1][k] * last };
            }
            self.down.push(sum);
        }
        self.up.iter_mut().zip(self.down.iter().rev()).for_each(|(up, down)| *up += down);
        &self.up
    }
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    /// Filters by the sum over a sampled Gaussian or its derivative, whose error is far below that of the recursion.
    fn direct(data: &[f64], order: Order, sigma: f64) -> Vec<f64> {
        let weight = |t: f64| {
            let gaussian = (-t * t / (2.0 * sigma * sigma)).exp() / (sigma * std::f64::consts::TAU.sqrt());
            match order {
                Order::Smooth => gaussian,
                Order::First => -t / sigma.powi(2) * gaussian,
                Order::Second => (t * t / sigma.powi(4) - 1.0 / sigma.powi(2)) * gaussian,
            }
        };
        let at = |n: i64| data[n.clamp(0, data.len() as i64 - 1) as usize];
        (0..data.len() as i64).map(|n| (-60..=60).map(|t| weight(t as f64) * at(n - t)).sum()).collect()
    }

    #[test]
    fn filters_are_near_the_gaussian_and_its_derivatives() {
        let data: Vec<f64> = (0..80).map(|n| (f64::from(n) / 9.0).sin() * 10.0 + f64::from(n % 13)).collect();
        for (order, tolerance) in [(Order::Smooth, 0.03), (Order::First, 0.03), (Order::Second, 0.05)] {
            for sigma in [2.0, 4.0] {
                let mut image = Volume::filled(Grid::axis_aligned([4, 80, 4], [1.0, 0.5, 3.0]), 0.0);
                let voxels = image.voxels.iter_mut().enumerate();
                voxels.for_each(|(n, value)| *value = data[n / 4 % 80] as f32);
                filter(&mut image, 1, order, sigma * 0.5).unwrap();
                let expected = direct(&data, order, sigma);
                let scale = expected.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
                for n in 0..80 {
                    assert!(
                        (f64::from(image.voxels[4 * n + 1]) - expected[n]).abs() < tolerance * scale,
                        "{order:?} {n}"
                    );
                }
            }
        }
    }
}
