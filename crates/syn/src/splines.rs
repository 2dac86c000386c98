//! B-splines that are fitted to updates and fields (Tustison & Avants 2013, "Explicit B-spline regularization in
//! diffeomorphic image registration").
//!
//! A control point is the weighted mean of the values that would fit the vectors it influences (Lee, Wolberg & Shin 1997;
//! Tustison & Gee 2005): Σ w³v/Σw² over Σ w², where w is the weight of the control point at a voxel, and the inner sum is over
//! all control points at the voxel. All voxels count alike, so the fit and the evaluation are products of one linear map
//! for each axis. As in ITK, the field is held at zero at the border: control points that influence border voxels are 0.

use antsreg_core::Grid;
use antsreg_kernels::{AxisMap, Backend};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Least number of mesh elements along an axis: with fewer, each control point would influence the border.
const LEAST_ELEMENTS: usize = 4;
/// Number of control points of a cubic spline at each end of an axis that influence the border.
const HELD: usize = 3;

/// Size of the mesh of cubic B-splines on the first level. Each further level has twice as many elements along each axis.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mesh {
    /// Distance between knots, mm. The number of elements is rounded up.
    KnotsMm(f64),
    /// Number of elements along each axis of the fixed grid.
    Elements([usize; 3]),
}

impl Mesh {
    /// Number of mesh elements along each axis on a level, which has the number `level` and the grid `grid`: at least four,
    /// and at most one for each voxel. `full` is the grid of the fixed image.
    pub(crate) fn elements(&self, full: &Grid, level: usize, grid: &Grid) -> [usize; 3] {
        let first = self.asked(full);
        std::array::from_fn(|axis| {
            let doubled = first[axis].saturating_mul(1 << level.min(20));
            doubled.min(grid.shape[axis].saturating_sub(1)).max(LEAST_ELEMENTS)
        })
    }

    /// Whether the mesh has fewer than four elements along an axis of the fixed grid on the first level, so that one of four
    /// takes its place.
    pub fn is_too_coarse(&self, full: &Grid) -> bool {
        let axes = if full.is_slice() { 2 } else { 3 };
        self.asked(full).into_iter().take(axes).any(|elements| elements < LEAST_ELEMENTS)
    }

    /// Number of mesh elements along each axis on the first level, without limits.
    fn asked(&self, full: &Grid) -> [usize; 3] {
        std::array::from_fn(|axis| match self {
            Mesh::KnotsMm(mm) => {
                (full.spacing[axis] * full.shape[axis].saturating_sub(1) as f64 / mm).ceil() as usize
            }
            Mesh::Elements(elements) => elements[axis],
        })
    }

    /// Memory for the fit on a level, numbers: the fields between the axes.
    pub(crate) fn numbers(&self, full: &Grid, level: usize, grid: &Grid) -> usize {
        let shapes = between(grid.shape, points(grid.shape, self.elements(full, level, grid)));
        shapes.iter().map(|shape| 3 * shape.iter().product::<usize>()).sum()
    }
}

impl std::fmt::Display for Mesh {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Mesh::KnotsMm(mm) => write!(f, "{mm}"),
            Mesh::Elements([x, y, z]) => write!(f, "{x}x{y}x{z}"),
        }
    }
}

/// Number of control points along each axis. An axis of one voxel has one, so that it is not smoothed.
fn points(shape: [usize; 3], elements: [usize; 3]) -> [usize; 3] {
    std::array::from_fn(|axis| if shape[axis] > 1 { elements[axis] + 3 } else { 1 })
}

/// Shapes of the fields after the fit along x, along y and along z.
fn between([_, ny, nz]: [usize; 3], [px, py, pz]: [usize; 3]) -> [[usize; 3]; 3] {
    [[px, ny, nz], [px, py, nz], [px, py, pz]]
}

/// Fits B-splines to fields on one level, and evaluates them.
pub(crate) struct Splines<B: Backend> {
    /// For each axis that has more than one voxel: the map from vectors to control points, and that from control points to
    /// vectors.
    axes: [Option<[B::AxisMap; 2]>; 3],
    /// Results after the fit along x, along y and along z.
    between: [B::Field; 3],
}

impl<B: Backend> Splines<B> {
    pub(crate) fn new(backend: &B, mesh: &Mesh, full: &Grid, level: usize, grid: &Grid) -> Result<Self, Error> {
        let elements = mesh.elements(full, level, grid);
        let map = |axis: usize| -> Result<Option<[B::AxisMap; 2]>, Error> {
            let length = grid.shape[axis];
            if length < 2 {
                return Ok(None);
            }
            let [fit, evaluate] = maps(length, elements[axis])?;
            Ok(Some([backend.axis_map(&fit)?, backend.axis_map(&evaluate)?]))
        };
        let [x, y, z] = between(grid.shape, points(grid.shape, elements));
        Ok(Splines {
            axes: [map(0)?, map(1)?, map(2)?],
            between: [backend.field(x)?, backend.field(y)?, backend.field(z)?],
        })
    }

    /// Replaces a field by the B-spline that is fitted to its vectors.
    pub(crate) fn smooth(&mut self, backend: &B, field: &mut B::Field) -> Result<(), Error> {
        let [x, y, z] = &mut self.between;
        match &self.axes {
            [Some(of_x), Some(of_y), Some(of_z)] => {
                backend.map_axis(field, 0, &of_x[0], x)?;
                backend.map_axis(x, 1, &of_y[0], y)?;
                backend.map_axis(y, 2, &of_z[0], z)?;
                backend.map_axis(z, 2, &of_z[1], y)?;
                backend.map_axis(y, 1, &of_y[1], x)?;
                backend.map_axis(x, 0, &of_x[1], field)?;
            }
            // A slice.
            [Some(of_x), Some(of_y), None] => {
                backend.map_axis(field, 0, &of_x[0], x)?;
                backend.map_axis(x, 1, &of_y[0], y)?;
                backend.map_axis(y, 1, &of_y[1], x)?;
                backend.map_axis(x, 0, &of_x[1], field)?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// The four weights of cubic B-splines at the distance `t` (0 to 1) from a knot.
fn weights(t: f64) -> [f64; 4] {
    let s = 1.0 - t;
    [s * s * s / 6.0, 2.0 / 3.0 - 0.5 * t * t * (2.0 - t), 2.0 / 3.0 - 0.5 * s * s * (2.0 - s), t * t * t / 6.0]
}

/// The maps of one axis: from `length` values, of which the first and the last are at the ends of the mesh, to control
/// points, and back to values.
fn maps(length: usize, elements: usize) -> Result<[AxisMap; 2], Error> {
    let points = elements + 3;
    let places: Vec<(usize, [f64; 4])> = (0..length)
        .map(|place| {
            let at = (elements * place) as f64 / (length - 1) as f64;
            let first = (at as usize).min(elements - 1);
            (first, weights(at - first as f64))
        })
        .collect();
    let fit: Vec<(usize, Vec<f64>)> = (0..points)
        .map(|point| {
            let reached = |place: &usize| (places[*place].0..places[*place].0 + 4).contains(&point);
            let held = point < HELD || point + HELD >= points;
            let Some(begin) = (0..length).find(reached).filter(|_| !held) else { return (0, Vec::new()) };
            let own = |place: usize| places[place].1[point - places[place].0];
            let reach: Vec<usize> = (begin..length).take_while(reached).collect();
            let squares: f64 = reach.iter().map(|place| own(*place).powi(2)).sum();
            let asked = |place: &usize| {
                let all: f64 = places[*place].1.iter().map(|weight| weight * weight).sum();
                own(*place).powi(3) / all / squares
            };
            (begin, if squares > 0.0 { reach.iter().map(asked).collect() } else { Vec::new() })
        })
        .collect();
    let evaluate: Vec<(usize, Vec<f64>)> = places.iter().map(|(first, weights)| (*first, weights.to_vec())).collect();
    Ok([AxisMap::new(length, &fit)?, AxisMap::new(points, &evaluate)?])
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::Cpu;
    use antsreg_kernels::ops::Memory;

    use super::*;

    /// The cubic B-spline function, centred at 0.
    fn b_spline(x: f64) -> f64 {
        match x.abs() {
            x if x < 1.0 => 2.0 / 3.0 - x * x + 0.5 * x * x * x,
            x if x < 2.0 => (2.0 - x).powi(3) / 6.0,
            _ => 0.0,
        }
    }

    fn vectors(shape: [usize; 3]) -> Vec<[f32; 3]> {
        let mut number = 7_u32;
        let mut next = || {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (number >> 8) as f32 / (1 << 24) as f32 - 0.5
        };
        (0..shape.iter().product()).map(|_| [next(), next(), next()]).collect()
    }

    /// The fit by its definition in three dimensions, in double precision, without separate axes: one component.
    fn fitted(shape: [usize; 3], elements: [usize; 3], values: &[f64]) -> Vec<f64> {
        let points = points(shape, elements);
        let index = |n: usize, shape: [usize; 3]| [n % shape[0], n / shape[0] % shape[1], n / (shape[0] * shape[1])];
        let weight = |point: usize, voxel: usize| -> f64 {
            let (point, voxel) = (index(point, points), index(voxel, shape));
            (0..3)
                .filter(|axis| shape[*axis] > 1)
                .map(|axis| {
                    let at = (elements[axis] * voxel[axis]) as f64 / (shape[axis] - 1) as f64;
                    b_spline(at - (point[axis] as f64 - 1.0))
                })
                .product()
        };
        let count = points.iter().product::<usize>();
        let (mut sums, mut squares, mut border) = (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
        for (voxel, value) in values.iter().enumerate() {
            let at = index(voxel, shape);
            let on_border = (0..3).any(|axis| shape[axis] > 1 && (at[axis] == 0 || at[axis] + 1 == shape[axis]));
            let all: Vec<f64> = (0..count).map(|point| weight(point, voxel)).collect();
            let total: f64 = all.iter().map(|w| w * w).sum();
            for (point, w) in all.into_iter().enumerate() {
                sums[point] += w.powi(3) * value / total;
                squares[point] += w * w;
                border[point] += if on_border { w * w } else { 0.0 };
            }
        }
        let control = |n: usize| if border[n] < 1e-20 && squares[n] > 0.0 { sums[n] / squares[n] } else { 0.0 };
        let control: Vec<f64> = (0..count).map(control).collect();
        (0..values.len()).map(|voxel| (0..count).map(|n| weight(n, voxel) * control[n]).sum()).collect()
    }

    #[test]
    fn a_fit_is_that_of_the_definition_without_separate_axes() {
        for (shape, elements) in [([13, 11, 9], [4, 5, 7]), ([9, 14, 1], [5, 4, 4])] {
            let grid = Grid::axis_aligned(shape, [1.0, 1.2, 0.8]);
            let vectors = vectors(shape);
            let mut field = Cpu.upload_field(shape, &vectors).expect("a field");
            let mut splines =
                Splines::new(&Cpu, &Mesh::Elements(elements), &grid, 0, &grid).expect("a mesh that fits");
            splines.smooth(&Cpu, &mut field).expect("one shape");
            let found = Cpu.download_field(&field).expect("vectors");
            for component in 0..3 {
                let values: Vec<f64> = vectors.iter().map(|vector| f64::from(vector[component])).collect();
                for (found, expected) in found.iter().zip(fitted(shape, elements, &values)) {
                    // The tolerance is the rounding error of six sums of up to 13 products in single precision.
                    assert!((f64::from(found[component]) - expected).abs() < 1e-6, "{} {expected}", found[component]);
                }
            }
            assert!(found.iter().flatten().any(|value| value.abs() > 1e-3));
        }
    }

    #[test]
    fn a_fit_is_smooth_and_zero_at_the_border() {
        let shape = [41, 37, 33];
        let grid = Grid::axis_aligned(shape, [1.0; 3]);
        let fitted = |value: &dyn Fn([usize; 3]) -> f32| {
            let vectors: Vec<[f32; 3]> = (0..grid.len())
                .map(|n| value([n % 41, n / 41 % 37, n / (41 * 37)]))
                .map(|value| [value, -2.0 * value, 0.0])
                .collect();
            let mut field = Cpu.upload_field(shape, &vectors).expect("a field");
            let mut splines = Splines::new(&Cpu, &Mesh::KnotsMm(6.0), &grid, 0, &grid).expect("a mesh that fits");
            splines.smooth(&Cpu, &mut field).expect("one shape");
            Cpu.download_field(&field).expect("vectors")
        };
        let longest = |found: &[[f32; 3]]| found.iter().fold(0.0_f32, |most, vector| most.max(vector[0].abs()));
        let constant = fitted(&|_| 1.0);
        // The approximation after Lee et al. is no interpolation: it may exceed the values.
        assert!(longest(&constant) > 0.9 && longest(&constant) < 2.0, "{}", longest(&constant));
        let alternating = fitted(&|[x, y, z]| if (x + y + z) % 2 == 0 { 1.0 } else { -1.0 });
        assert!(longest(&alternating) < 0.05, "{}", longest(&alternating));
        let border = |n: &usize| [n % 41 % 40, n / 41 % 37 % 36, n / (41 * 37) % 32].contains(&0);
        assert!((0..grid.len()).filter(border).all(|n| constant[n] == [0.0; 3]));
        assert!(constant.iter().all(|vector| vector[1] == -2.0 * vector[0] && vector[2] == 0.0));
    }

    #[test]
    fn meshes_are_doubled_from_level_to_level() {
        let full = Grid::axis_aligned([182, 218, 1], [1.0; 3]);
        let elements =
            |mesh: Mesh, level: usize, shrink: usize| mesh.elements(&full, level, &full.shrink([shrink; 3]));
        assert_eq!(elements(Mesh::KnotsMm(26.0), 0, 8)[..2], [7, 9]);
        assert_eq!(elements(Mesh::KnotsMm(26.0), 3, 1)[..2], [56, 72]);
        assert_eq!(elements(Mesh::Elements([1, 20, 3]), 1, 4)[..2], [LEAST_ELEMENTS, 40]);
        // At most one element for each voxel.
        assert_eq!(elements(Mesh::KnotsMm(1.0), 0, 8)[..2], [21, 26]);
        assert_eq!(
            (Mesh::KnotsMm(26.0).to_string(), Mesh::Elements([7, 8, 9]).to_string()),
            ("26".into(), "7x8x9".into())
        );
    }
}
