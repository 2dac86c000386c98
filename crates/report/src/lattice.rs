//! Draws a regular grid of lines after it was deformed by a warp, on a slice.

use antsreg_core::DisplacementField;
use nalgebra::{Matrix3, Point3};

use crate::Error;
use crate::outline::{level_lines, path};
use crate::views::Slice;

/// Number of grid lines along the longer side of a slice.
const LINES: f64 = 18.0;
/// The warp is evaluated once for each square of pixels of a slice. This is the width and height of a square, pixels.
const STRIDE: usize = 2;

/// Distance between the grid lines for this slice, rounded up to a round number of mm.
pub fn line_distance(slice: &Slice) -> f64 {
    let [width, height, _] = slice.grid.shape;
    let wanted = width.max(height) as f64 * slice.grid.spacing[0] / LINES;
    [1.0, 2.0, 2.5, 5.0]
        .into_iter()
        .chain((1..).map(|n| 10.0 * f64::from(n)))
        .find(|mm| *mm >= wanted)
        .unwrap_or(wanted)
}

/// The values of a warp at points of a slice, row by row. [`coarse`] returns the number of these points along both
/// axes.
pub struct Warped {
    /// The point x + u(x) to which the warp u maps each evaluated point x, RAS mm.
    points: Vec<Point3<f64>>,
    /// The Jacobian determinant of x + u(x) at each evaluated point; u is the warp, trilinear between its voxels.
    pub determinants: Vec<f64>,
}

impl Warped {
    /// Evaluates a warp on a slice.
    pub fn read(field: &DisplacementField, slice: &Slice) -> Warped {
        let sampler = field.sampler();
        let read = |point: Point3<f64>| {
            let (displacement, derivative) = sampler.with_derivative(&point);
            (point + displacement, (Matrix3::identity() + derivative).determinant())
        };
        let (points, determinants) = pixels(slice).map(read).unzip();
        Warped { points, determinants }
    }

    /// The deformed grid lines as an SVG path. The warp maps all points of a deformed line to one straight line of an
    /// undeformed grid. The undeformed lines are parallel to the axes of the slice and `distance` mm apart.
    pub fn lattice(&self, slice: &Slice, distance: f64) -> Result<String, Error> {
        let grid = &slice.grid;
        let size = coarse(grid.shape);
        let mut lines = Vec::new();
        for side in 0..2 {
            let along = grid.direction.column(side);
            let values: Vec<f64> =
                self.points.iter().map(|point| (point - grid.origin).dot(&along) / distance).collect();
            let (first, last) =
                values.iter().fold((f64::MAX, f64::MIN), |(a, b), value| (a.min(*value), b.max(*value)));
            let levels: Vec<f64> = (first.ceil() as i64..=last.floor() as i64).map(|n| n as f64).collect();
            lines.extend(level_lines(&values, size, &levels)?);
        }
        Ok(path(&lines, STRIDE as f64))
    }
}

/// Number of points across and down a slice of this shape at which the warp is evaluated.
pub fn coarse([width, height, _]: [usize; 3]) -> [usize; 2] {
    [width.div_ceil(STRIDE), height.div_ceil(STRIDE)]
}

/// World positions (RAS mm), row by row, of the points at which the warp is evaluated. Each point is the middle of a
/// square of pixels.
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

    /// A test slice through the middle of a cube of 40 mm.
    fn slice() -> Slice {
        let cube = Volume::filled(Grid::axis_aligned([41, 41, 41], [1.0; 3]), 0.0);
        views(&cube, None)[0].slices[3].clone()
    }

    /// A test warp that halves the distance from the middle along x and y.
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
        let found = Warped::read(&squeeze(), &slice).determinants;
        assert!(found.iter().all(|value| (value - 0.25).abs() < 1e-4), "{:?}", &found[..4]);
        let nothing = Warped::read(&DisplacementField::zeros(slice.grid.clone()), &slice).determinants;
        assert!(nothing.iter().all(|value| (value - 1.0).abs() < 1e-9));
    }

    #[test]
    fn a_squeeze_draws_half_as_many_lines() {
        let slice = slice();
        let count = |field: &DisplacementField| {
            Warped::read(field, &slice).lattice(&slice, 2.0).expect("lines").matches('M').count()
        };
        let (straight, squeezed) = (count(&DisplacementField::zeros(slice.grid.clone())), count(&squeeze()));
        assert!((40..=48).contains(&straight), "{straight}");
        assert!((straight / 2 - 2..=straight / 2 + 2).contains(&squeezed), "{squeezed} of {straight}");
    }
}
