//! A regular grid of lines on the moving image, as a warp brings it onto a slice.

use antsreg_core::{DisplacementField, FieldSampler};
use nalgebra::Point3;

use crate::Error;
use crate::outline::{level_lines, path};
use crate::views::Slice;

/// Number of lattice lines along the longer side of a slice.
const LINES: f64 = 18.0;
/// Distance between the pixels at which the warp is read, pixels.
pub const STRIDE: usize = 2;

/// The distance between lines, mm: a round number.
pub fn line_distance(slice: &Slice) -> f64 {
    let [width, height, _] = slice.grid.shape;
    let wanted = width.max(height) as f64 * slice.grid.spacing[0] / LINES;
    [1.0, 2.0, 2.5, 5.0]
        .into_iter()
        .chain((1..).map(|n| 10.0 * f64::from(n)))
        .find(|mm| *mm >= wanted)
        .unwrap_or(wanted)
}

/// The lines on a slice: where the warped coordinates along its sides are whole multiples of `distance` mm.
pub fn lattice(field: &DisplacementField, slice: &Slice, distance: f64) -> Result<String, Error> {
    let (sampler, grid) = (field.sampler(), &slice.grid);
    let size = coarse(grid.shape);
    let points = pixels(slice).map(|point| point + sampler.at(&point));
    let points: Vec<Point3<f64>> = points.collect();
    let mut lines = Vec::new();
    for side in 0..2 {
        let along = grid.direction.column(side);
        let values: Vec<f64> = points.iter().map(|point| (point - grid.origin).dot(&along) / distance).collect();
        let (first, last) = values.iter().fold((f64::MAX, f64::MIN), |(a, b), value| (a.min(*value), b.max(*value)));
        let levels: Vec<f64> = (first.ceil() as i64..=last.floor() as i64).map(|n| n as f64).collect();
        lines.extend(level_lines(&values, size, &levels)?);
    }
    Ok(path(&lines, STRIDE as f64))
}

/// The determinant of the Jacobian of x + u(x) at the pixels of [`pixels`], by central differences over a voxel of the field.
pub fn determinants(field: &DisplacementField, slice: &Slice) -> Vec<f64> {
    let sampler = field.sampler();
    pixels(slice).map(|point| determinant(field, &sampler, &point)).collect()
}

fn determinant(field: &DisplacementField, sampler: &FieldSampler, point: &Point3<f64>) -> f64 {
    let grid = &field.grid;
    let mut columns = grid.direction;
    for axis in 0..3 {
        let half = grid.direction.column(axis) * grid.spacing[axis];
        let change = sampler.at(&(point + half)) - sampler.at(&(point - half));
        let mut column = columns.column_mut(axis);
        column += change / (2.0 * grid.spacing[axis]);
    }
    columns.determinant() * grid.direction.determinant()
}

/// How many pixels across and down are read of a slice of this shape.
pub fn coarse([width, height, _]: [usize; 3]) -> [usize; 2] {
    [width.div_ceil(STRIDE), height.div_ceil(STRIDE)]
}

/// The world points of the pixels that are read, row by row: each the middle of a square of pixels.
fn pixels(slice: &Slice) -> impl Iterator<Item = Point3<f64>> {
    let [width, height] = coarse(slice.grid.shape);
    let to_world = slice.grid.voxel_to_world();
    let middle = |n: usize| STRIDE as f64 * (n as f64 + 0.5) - 0.5;
    (0..width * height).map(move |n| to_world.apply(&Point3::new(middle(n % width), middle(n / width), 0.0)))
}

#[cfg(test)]
mod tests {
    use antsreg_core::{Grid, Volume};
    use nalgebra::Vector3;

    use super::*;
    use crate::views::views;

    /// A slice through the middle of a cube of 40 mm.
    fn slice() -> Slice {
        let cube = Volume::filled(Grid::axis_aligned([41, 41, 41], [1.0; 3]), 0.0);
        views(&cube, None)[0].slices[3].clone()
    }

    /// A warp that halves the distance from the middle along x and y.
    fn squeeze() -> DisplacementField {
        let mut field = DisplacementField::zeros(Grid::axis_aligned([81, 81, 81], [0.75; 3]));
        field.grid.origin = Point3::new(-10.0, -10.0, -10.0);
        let to_world = field.grid.voxel_to_world();
        for (n, vector) in field.vectors.iter_mut().enumerate() {
            let index = Point3::new((n % 81) as f64, (n / 81 % 81) as f64, (n / 6561) as f64);
            let away: Vector3<f64> = to_world.apply(&index) - Point3::new(20.0, 20.0, 20.0);
            *vector = [-0.5 * away.x as f32, -0.5 * away.y as f32, 0.0];
        }
        field
    }

    #[test]
    fn determinants_are_those_of_the_map() {
        let slice = slice();
        let found = determinants(&squeeze(), &slice);
        assert!(found.iter().all(|value| (value - 0.25).abs() < 1e-4), "{:?}", &found[..4]);
        let nothing = determinants(&DisplacementField::zeros(slice.grid.clone()), &slice);
        assert!(nothing.iter().all(|value| (value - 1.0).abs() < 1e-9));
    }

    #[test]
    fn a_squeeze_draws_half_as_many_lines() {
        let slice = slice();
        let count = |field: &DisplacementField| lattice(field, &slice, 2.0).expect("lines").matches('M').count();
        let (straight, squeezed) = (count(&DisplacementField::zeros(slice.grid.clone())), count(&squeeze()));
        assert!((40..=48).contains(&straight), "{straight}");
        assert!((straight / 2 - 2..=straight / 2 + 2).contains(&squeezed), "{squeezed} of {straight}");
    }
}
