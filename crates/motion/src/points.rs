//! The voxels of the reference that are compared, on one level, and what the fit makes volumes of there.

use antsreg_core::{Grid, Volume};
use antsreg_kernels::apply::BSpline;
use nalgebra::{Point3, Vector3};
use rayon::prelude::*;

use crate::Error;
use crate::generators::Generators;

/// Voxels of the reference with the functions that a volume is fitted by: the reference, 1, and the change of the reference
/// under each generator.
pub(crate) struct Points {
    /// Where they lie, RAS mm.
    pub positions: Vec<Point3<f64>>,
    /// The functions at each position, one position after the other.
    pub functions: Vec<f32>,
    /// How many functions there are.
    pub count: usize,
    /// The mean and the standard deviation of the reference there, by which its values and those of volumes are normalised.
    pub normal: [f32; 2],
}

impl Points {
    /// The voxels of a smoothed reference where its gradient is strongest: at most `most`, none of them nearer to the
    /// border than `margin` voxels.
    ///
    /// # Errors
    /// A reference without contrast.
    pub fn new(smooth: &Volume, generators: &Generators, most: usize, margin: [usize; 3]) -> Result<Points, Error> {
        let grid = &smooth.grid;
        let spline = BSpline::through(grid.shape, &smooth.voxels);
        let to_world = grid.voxel_to_world();
        let inside = inner_indices(grid, margin);
        // From derivatives along axes of voxels to those along axes of the world.
        let turn = to_world.matrix.try_inverse().map_or_else(nalgebra::Matrix3::zeros, |inverse| inverse.transpose());
        let gradient = |[i, j, k]: [usize; 3]| -> Vector3<f64> {
            turn * Vector3::from(spline.gradient([i as f64, j as f64, k as f64]).map(f64::from))
        };
        let strengths: Vec<f64> = inside.par_iter().map(|index| gradient(*index).norm_squared()).collect();
        let chosen = strongest(&strengths, most);
        let [nx, ny, _] = grid.shape;
        let value = |[i, j, k]: [usize; 3]| smooth.voxels[(k * ny + j) * nx + i];
        let values: Vec<f32> = chosen.iter().map(|n| value(inside[*n])).collect();
        let normal = mean_and_deviation(&values).ok_or(Error::Constant)?;
        let count = 2 + generators.len();
        let mut points = Points { positions: Vec::new(), functions: Vec::new(), count, normal };
        for (n, value) in chosen.iter().zip(values) {
            let [i, j, k] = inside[*n];
            let position = to_world.apply(&Point3::new(i as f64, j as f64, k as f64));
            let slope = gradient([i, j, k]) / f64::from(normal[1]);
            points.positions.push(position);
            points.functions.extend([(value - normal[0]) / normal[1], 1.0]);
            points.functions.extend(generators.velocities(&position).map(|velocity| slope.dot(&velocity) as f32));
        }
        Ok(points)
    }
}

/// Indices of all voxels that are not nearer to the border than `margin`, x fastest.
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

/// Places of the largest positive values, at most `most`, in order. Of equal values the first ones are taken.
fn strongest(values: &[f64], most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).filter(|n| values[*n] > 0.0).collect();
    if order.len() > most {
        order.select_nth_unstable_by(most, |a, b| values[*b].total_cmp(&values[*a]).then(a.cmp(b)));
        order.truncate(most);
        order.sort_unstable();
    }
    order
}

/// The mean and the standard deviation; none without contrast.
fn mean_and_deviation(values: &[f32]) -> Option<[f32; 2]> {
    let count = values.len() as f64;
    let mean = values.iter().map(|value| f64::from(*value)).sum::<f64>() / count;
    let variance = values.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / count;
    (variance > 0.0).then(|| [mean as f32, variance.sqrt() as f32])
}
