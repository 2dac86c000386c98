//! The voxels of the reference that are compared on one level, and the functions by which the values of volumes are
//! fitted at these voxels.

use antsreg_core::{Grid, Volume};
use antsreg_kernels::apply::BSpline;
use antsreg_kernels::{Backend, FitRule};
use nalgebra::{DMatrix, Point3, Vector3};
use rayon::prelude::*;

use crate::generators::Generators;
use crate::{Cost, Error};

/// The compared voxels (points) of the reference, with the values of the fitted functions there. The functions are
/// powers of the reference's intensity, and the changes of these powers under each generator of motion.
pub(crate) struct Points<B: Backend> {
    /// The points and their function values on the device, as [`fit_sums`](antsreg_kernels::ops::Similarity::fit_sums) takes them. Positions are in RAS
    /// mm.
    pub image: B::Image,
    /// Number of the reference's voxels that are compared with each volume.
    pub count: usize,
    /// For each pair of the functions by which volumes are fitted: the sum of the products of their values over all
    /// compared points.
    pub products: DMatrix<f64>,
    /// How the device normalises a volume's values before they are fitted by functions of the reference. It subtracts
    /// the mean of the reference over the compared points, and divides by the reference's standard deviation there. The
    /// field `margin`, the width of the ignored border of a volume, is 0 until an alignment sets it.
    pub rule: FitRule,
}

/// A volume's intensities are fitted by a list of functions of the reference's intensity r; this is the index of r
/// itself. The list begins with the powers: r, 1, then r² and r³ if the cost fits a curve. Then follow, for each power
/// except 1 in the same order, its changes under each generator of motion (small motion in one parameter).
pub(crate) const REFERENCE: usize = 0;
/// Index of the constant function 1 in the list of the functions by which a volume's intensities are fitted; see
/// [`REFERENCE`].
pub(crate) const CONSTANT: usize = 1;

/// Number of functions, among those by which a volume's intensities are fitted, that are powers of the reference's
/// intensity; the constant 1 counts.
pub(crate) fn powers(cost: Cost) -> usize {
    match cost {
        Cost::Ncc | Cost::Lsq => 2,
        Cost::Cr | Cost::Nmi => 4,
    }
}

impl<B: Backend> Points<B> {
    /// Chooses the voxels of a smoothed reference with the strongest gradient: at most `most` voxels, none closer to
    /// the border of the volume than `margin` voxels.
    ///
    /// # Errors
    /// A reference without contrast; a device that fails.
    pub fn new(
        device: &B,
        smooth: &Volume,
        generators: &Generators,
        cost: Cost,
        most: usize,
        margin: [usize; 3],
    ) -> Result<Points<B>, Error> {
        let grid = &smooth.grid;
        let spline = BSpline::through(grid.shape, &smooth.voxels);
        let to_world = grid.voxel_to_world();
        let inside = inner_indices(grid, margin);
        // This matrix converts derivatives of the reference's intensity along voxel axes to derivatives along world
        // axes.
        let turn = to_world.matrix.try_inverse().map_or_else(nalgebra::Matrix3::zeros, |inverse| inverse.transpose());
        let gradient = |[i, j, k]: [usize; 3]| -> Vector3<f64> {
            turn * Vector3::from(spline.gradient([i as f64, j as f64, k as f64]).map(f64::from))
        };
        let strengths: Vec<f64> = inside.par_iter().map(|index| gradient(*index).norm_squared()).collect();
        let chosen = strongest(&strengths, most);
        let [nx, ny, _] = grid.shape;
        let value = |[i, j, k]: [usize; 3]| smooth.voxels[(k * ny + j) * nx + i];
        let values: Vec<f32> = chosen.iter().map(|n| value(inside[*n])).collect();
        let [mean, deviation] = mean_and_deviation(&values).ok_or(Error::Constant)?;
        let (count, powers, changes) = (chosen.len(), powers(cost), generators.len());
        let functions = powers + (powers - 1) * changes;
        let of_point = |(chosen, value): (&usize, &f32)| -> Vec<f32> {
            let [i, j, k] = inside[*chosen];
            let position = to_world.apply(&Point3::new(i as f64, j as f64, k as f64));
            let slope = gradient([i, j, k]) / f64::from(deviation);
            let r = f64::from((value - mean) / deviation);
            let of_powers = [r, 1.0, r * r, r * r * r];
            let slopes = [1.0, 2.0 * r, 3.0 * r * r];
            let velocities: Vec<f64> =
                generators.velocities(&position).map(|velocity| slope.dot(&velocity)).collect();
            let changes = slopes[..powers - 1].iter().flat_map(|slope| velocities.iter().map(move |v| slope * v));
            let of_point = position.iter().copied().chain(of_powers[..powers].iter().copied()).chain(changes);
            of_point.map(|value| value as f32).collect()
        };
        let columns: Vec<Vec<f32>> = chosen.par_iter().zip(&values).map(of_point).collect();
        // The device expects a table by rows: each row holds one coordinate of all compared points, or the values of
        // one fitted function at all points.
        let mut rows = vec![0.0f32; count * (3 + functions)];
        rows.par_chunks_mut(count).enumerate().for_each(|(row, out)| {
            out.iter_mut().zip(&columns).for_each(|(out, column)| *out = column[row]);
        });
        let of = |function: usize| &rows[(3 + function) * count..][..count];
        let pairs: Vec<(usize, usize)> = (0..functions).flat_map(|a| (0..=a).map(move |b| (a, b))).collect();
        let sums: Vec<f64> = pairs
            .par_iter()
            .map(|&(a, b)| of(a).iter().zip(of(b)).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum())
            .collect();
        let mut products = DMatrix::zeros(functions, functions);
        pairs.iter().zip(sums).for_each(|(pair, sum)| products[*pair] = sum);
        products.fill_upper_triangle_with_lower_triangle();
        let image = device.upload([count, 3 + functions, 1], &rows)?;
        let rule = FitRule { margin: [0; 3], origin: mean, scale: 1.0 / deviation };
        Ok(Points { image, count, products, rule })
    }
}

/// Indices of all voxels of a grid that are at least `margin` voxels from the border of the grid. The x index varies
/// fastest.
fn inner_indices(grid: &Grid, margin: [usize; 3]) -> Vec<[usize; 3]> {
    let [x, y, z] = std::array::from_fn(|axis| margin[axis]..grid.shape[axis] - margin[axis]);
    z.flat_map(|k| {
        y.clone().flat_map({
            let x = x.clone();
            move |j| x.clone().map(move |i| [i, j, k])
        })
    })
    .collect()
}

/// Indices of the largest positive values, at most `most`, in ascending order of the indices. Of equal values, those
/// with smaller indices are taken.
fn strongest(values: &[f64], most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).filter(|n| values[*n] > 0.0).collect();
    if order.len() > most {
        order.select_nth_unstable_by(most, |a, b| values[*b].total_cmp(&values[*a]).then(a.cmp(b)));
        order.truncate(most);
        order.sort_unstable();
    }
    order
}

/// The mean and the standard deviation of values; `None` if all values are equal.
fn mean_and_deviation(values: &[f32]) -> Option<[f32; 2]> {
    let count = values.len() as f64;
    let mean = values.iter().map(|value| f64::from(*value)).sum::<f64>() / count;
    let variance = values.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / count;
    (variance > 0.0).then(|| [mean as f32, variance.sqrt() as f32])
}
