//! Operations of N4 on the CPU. Rayon's threads process the slices in parallel.

use rayon::prelude::*;

use super::{Cpu, Image};
use crate::Error;
use crate::bias::exponential::{exponential, minus_one};
use crate::bias::sums::{LANES, of_block, of_warp};
use crate::bias::{BiasBackend, Histogram, MeshAxis, Reach, Samples, Sharpened, Step, check_mesh, histogram};

/// B-spline mesh over the samples of N4, with the control points of the present bias field.
#[derive(Debug)]
pub struct BiasMesh {
    axes: [MeshAxis; 3],
    /// For each axis and each sample along the axis: the control points that influence the sample, with w³ / Σ w²
    /// instead of each B-spline weight w. A control point of a fit is a weighted mean over samples; these values are
    /// needed for its numerator.
    asked: [Vec<Reach>; 3],
    /// For each control point, the denominator of the weighted mean that defines it in a fit: the sum, over the samples
    /// that it influences, of the sample's weight times the squared B-spline weight.
    squares: Vec<f64>,
    field: Vec<f64>,
}

impl BiasBackend for Cpu {
    type Mesh = BiasMesh;

    fn bias_histogram(&self, left: &Image, weights: &Image, bins: usize) -> Result<Histogram, Error> {
        Error::check_shape("bias_histogram", weights.shape, left.shape)?;
        Error::check_bias_bins(bins)?;
        Ok(histogram_of(left, weights, bins))
    }

    fn bias_mesh(&self, weights: &Image, axes: &[MeshAxis; 3], control_points: &[f64]) -> Result<BiasMesh, Error> {
        check_mesh("bias_mesh", axes, weights.shape, control_points.len())?;
        let squared = axes.each_ref().map(MeshAxis::squared);
        Ok(BiasMesh {
            squares: sums(weights, axes, &squared, |at| f64::from(weights.voxels[at])),
            asked: axes.each_ref().map(MeshAxis::asked),
            axes: axes.clone(),
            field: control_points.to_vec(),
        })
    }

    fn bias_step(
        &self,
        samples: Samples<'_, Image>,
        sharpened: &Sharpened,
        mesh: &mut BiasMesh,
        left: &mut Image,
    ) -> Result<Step, Error> {
        let Samples { logarithms, weights } = samples;
        check_mesh("bias_step", &mesh.axes, left.shape, mesh.field.len())?;
        Error::check_shapes("bias_step", left.shape, [logarithms.shape, weights.shape])?;
        Error::check_bias_bins(sharpened.expected.len())?;
        let residual = |at: usize| f64::from(weights.voxels[at]) * sharpened.residual(f64::from(left.voxels[at]));
        let found = sums(weights, &mesh.axes, &mesh.asked, residual);
        for ((value, sum), squares) in mesh.field.iter_mut().zip(found).zip(&mesh.squares) {
            *value += if *squares > 0.0 { sum / squares } else { 0.0 };
        }
        let changes = subtract(samples, mesh, left);
        Ok(Step { changes, histogram: histogram_of(left, weights, sharpened.expected.len()) })
    }

    fn bias_field(&self, mesh: &BiasMesh) -> Result<Vec<f64>, Error> {
        Ok(mesh.field.clone())
    }

    fn bias_divide(&self, axes: &[MeshAxis; 3], control_points: &[f64], image: &mut Image) -> Result<(), Error> {
        check_mesh("bias_divide", axes, image.shape, control_points.len())?;
        each_voxel(axes, control_points, image, |voxel, factor| *voxel /= factor);
        Ok(())
    }

    fn bias_factors(&self, axes: &[MeshAxis; 3], control_points: &[f64], image: &mut Image) -> Result<(), Error> {
        check_mesh("bias_factors", axes, image.shape, control_points.len())?;
        each_voxel(axes, control_points, image, |voxel, factor| *voxel = factor);
        Ok(())
    }
}

fn histogram_of(left: &Image, weights: &Image, bins: usize) -> Histogram {
    let slice = (left.shape[0] * left.shape[1]).max(1);
    let counted = || left.voxels.par_iter().zip(&*weights.voxels).filter(|(_, weight)| **weight > 0.0);
    let (low, high) = counted()
        .map(|(value, _)| (*value, *value))
        .reduce(|| (f32::INFINITY, f32::NEG_INFINITY), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    let (low, high) = (f64::from(low), f64::from(high));
    let width = histogram::width(low, high, bins);
    let none = || vec![0_u64; bins];
    if width.is_nan() || width <= 0.0 {
        return Histogram { low, high, shares: none() };
    }
    let share = |mut shares: Vec<u64>, (left, weights): (&[f32], &[f32])| {
        for (value, _) in left.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
            let (bin, beyond) = histogram::place(f64::from(*value), low, width, bins);
            let next = (beyond * histogram::WHOLE + 0.5) as u64;
            shares[bin] += histogram::WHOLE as u64 - next;
            shares[bin + 1] += next;
        }
        shares
    };
    let add = |mut a: Vec<u64>, b: Vec<u64>| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    };
    // By whole slices: voxel by voxel, N4 takes a third longer.
    let slices = left.voxels.par_chunks(slice).zip(weights.voxels.par_chunks(slice));
    Histogram { low, high, shares: slices.fold(none, share).reduce(none, add) }
}

/// For each control point, sums over the samples that it influences: the value of the sample times the product of its
/// weights along the three axes. `by` has these weights for each axis and sample. Slices are summed separately and
/// added in order, so that the number of threads does not change the sums.
fn sums(
    weights: &Image,
    axes: &[MeshAxis; 3],
    by: &[Vec<Reach>; 3],
    value: impl Fn(usize) -> f64 + Sync,
) -> Vec<f64> {
    let [nx, ny, nz] = weights.shape;
    let [px, py, pz] = axes.each_ref().map(MeshAxis::points);
    let slice = |z: usize| {
        let mut plane = vec![0.0; px * py];
        let mut row = vec![0.0; px];
        for y in 0..ny {
            let first = (z * ny + y) * nx;
            row.fill(0.0);
            let mut any = false;
            for x in 0..nx {
                if weights.voxels[first + x] > 0.0 {
                    spread(&mut row, &by[0][x], &[value(first + x)]);
                    any = true;
                }
            }
            if any {
                spread(&mut plane, &by[1][y], &row);
            }
        }
        plane
    };
    let planes: Vec<Vec<f64>> = (0..nz).into_par_iter().map(slice).collect();
    let mut sums = vec![0.0; px * py * pz];
    for (plane, reach) in planes.iter().zip(&by[2]) {
        spread(&mut sums, reach, plane);
    }
    sums
}

/// Sets `left` to the logarithms of the samples' intensities minus the bias field of `mesh`, for the samples that
/// count. Returns Σd and Σd², where d is the relative change of the exponential of the field at a sample.
fn subtract(samples: Samples<'_, Image>, mesh: &BiasMesh, left: &mut Image) -> [f64; 2] {
    let [nx, ny, _] = left.shape;
    let [along_x, along_y, along_z] = mesh.axes.each_ref().map(MeshAxis::reaches);
    let [px, py, _] = mesh.axes.each_ref().map(MeshAxis::points);
    let slice = |(z, left): (usize, &mut [f32])| {
        let (mut plane, mut row) = (vec![0.0; px * py], vec![0.0; px]);
        mix(&mesh.field, &along_z[z], &mut plane);
        let mut rows = Vec::with_capacity(ny);
        for (y, left) in left.chunks_exact_mut(nx).enumerate() {
            let first = (z * ny + y) * nx;
            mix(&plane, &along_y[y], &mut row);
            let mut lanes = [[0.0; LANES]; 2];
            for (x, left) in left.iter_mut().enumerate() {
                if samples.weights.voxels[first + x] > 0.0 {
                    let now = (f64::from(samples.logarithms.voxels[first + x]) - value_at(&row, &along_x[x])) as f32;
                    // Relative change: the field's factor before this iteration divided by the factor after the
                    // iteration, minus 1.
                    let change = minus_one(f64::from(now) - f64::from(*left));
                    *left = now;
                    lanes[0][x % LANES] += change;
                    lanes[1][x % LANES] += change * change;
                }
            }
            rows.push(lanes.map(of_warp));
        }
        rows
    };
    let rows: Vec<Vec<[f64; 2]>> = left.voxels.par_chunks_mut((nx * ny).max(1)).enumerate().map(slice).collect();
    [0, 1].map(|part| of_block(rows.iter().flatten().map(|row| row[part])))
}

/// Calls `act(value, factor)` for each voxel of an image, with the voxel's value and the exponential of the bias field
/// at this voxel.
fn each_voxel(axes: &[MeshAxis; 3], field: &[f64], image: &mut Image, act: impl Fn(&mut f32, f32) + Sync) {
    let [nx, ny, _] = image.shape;
    let [along_x, along_y, along_z] = axes.each_ref().map(MeshAxis::reaches);
    let [px, py, _] = axes.each_ref().map(MeshAxis::points);
    image.voxels.par_chunks_mut((nx * ny).max(1)).zip(along_z).for_each(|(slice, reach)| {
        let (mut plane, mut row) = (vec![0.0; px * py], vec![0.0; px]);
        mix(field, reach, &mut plane);
        for (voxels, reach) in slice.chunks_exact_mut(nx).zip(along_y) {
            mix(&plane, reach, &mut row);
            for (voxel, reach) in voxels.iter_mut().zip(along_x) {
                act(voxel, exponential(value_at(&row, reach) as f32));
            }
        }
    });
}

/// Distributes values at one position of an axis to the four groups of control points that influence this position. A
/// group is a row or a slice of control points, and `values` has one number for each of its control points. Adds to the
/// sums of each group these numbers, times the group's B-spline weight. `reach` has the four groups and their weights.
fn spread(sums: &mut [f64], reach: &Reach, values: &[f64]) {
    for (j, weight) in reach.weights.iter().enumerate() {
        let group = &mut sums[(reach.first + j) * values.len()..][..values.len()];
        group.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
    }
}

/// Evaluates a B-spline along its last axis, at one position on this axis. `points` has groups of control points: rows
/// or slices. `reach` names the four groups that influence the position, with their B-spline weights. The weighted sum
/// of these four groups is written to `mixed`.
fn mix(points: &[f64], reach: &Reach, mixed: &mut [f64]) {
    mixed.fill(0.0);
    for (j, weight) in reach.weights.iter().enumerate() {
        let group = &points[(reach.first + j) * mixed.len()..][..mixed.len()];
        mixed.iter_mut().zip(group).for_each(|(sum, value)| *sum += weight * value);
    }
}

/// Evaluates a one-dimensional spline at one position. `row` has all its control points; `reach` has those that
/// influence the position, with their B-spline weights.
fn value_at(row: &[f64], reach: &Reach) -> f64 {
    let [a, b, c, d] = reach.weights;
    let near = &row[reach.first..reach.first + 4];
    a * near[0] + b * near[1] + c * near[2] + d * near[3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mixture_is_the_weighted_sum_of_four_groups() {
        let points = [100.0, 200.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 300.0, 400.0];
        let mut mixed = [9.0; 2];
        mix(&points, &Reach { first: 1, weights: [0.5, 0.25, 2.0, -1.0] }, &mut mixed);
        // 0.5·1 + 0.25·3 + 2·5 − 7 and 0.5·2 + 0.25·4 + 2·6 − 8
        assert_eq!(mixed, [4.25, 6.0]);
    }
}
