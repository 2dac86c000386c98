//! Lattice of the control points of a B-spline in three dimensions: evaluation, sums at the control points, and
//! refinement to mesh elements of half the length.

use super::spline::{self, Reach};

/// Control points of a cubic B-spline over a box of voxels.
#[derive(Debug, Clone, PartialEq)]
pub struct Lattice {
    /// Number of mesh elements along each axis.
    pub elements: [usize; 3],
    /// Values of the control points, the first axis fastest. Each axis has three more control points than mesh
    /// elements.
    pub values: Vec<f64>,
}

impl Lattice {
    /// Makes a lattice whose control points are all 0.
    pub fn zeros(elements: [usize; 3]) -> Lattice {
        Lattice { elements, values: vec![0.0; Lattice::len(elements)] }
    }

    /// Number of control points of a mesh with these numbers of elements along the axes.
    pub fn len(elements: [usize; 3]) -> usize {
        elements.map(spline::points).into_iter().product()
    }

    /// Number of control points along each axis.
    pub fn points(&self) -> [usize; 3] {
        self.elements.map(spline::points)
    }

    /// Evaluates the spline along the third axis at one position. `reach` has the control points that influence this
    /// position, with their B-spline weights. The result is the two-dimensional lattice of one slice.
    pub fn slice(&self, reach: &Reach) -> Plane {
        let [nx, ny, _] = self.points();
        let mut values = vec![0.0; nx * ny];
        for (k, weight) in reach.weights.iter().enumerate() {
            let layer = &self.values[(reach.first + k) * nx * ny..][..nx * ny];
            values.iter_mut().zip(layer).for_each(|(sum, value)| *sum += weight * value);
        }
        Plane { width: nx, values }
    }

    /// Returns the same spline on a mesh with twice as many elements along each axis.
    pub fn refined(&self) -> Lattice {
        let mut lattice = self.clone();
        for axis in 0..3 {
            lattice = lattice.refined_along(axis);
        }
        lattice
    }

    fn refined_along(&self, axis: usize) -> Lattice {
        let old = self.points();
        let mut elements = self.elements;
        elements[axis] *= 2;
        let mut refined = Lattice::zeros(elements);
        let new = refined.points();
        let stride: usize = old[..axis].iter().product();
        let outer: usize = old[axis + 1..].iter().product();
        for block in 0..outer {
            for inner in 0..stride {
                let at = |n: usize| self.values[(block * old[axis] + n) * stride + inner];
                for n in 0..new[axis] {
                    let half = n / 2;
                    // In units of old mesh elements, old control point n lies at n − 1 and new control point n at (n −
                    // 1)/2.
                    let value = match n % 2 {
                        0 => (at(half) + at(half + 1)) / 2.0,
                        _ => (at(half) + 6.0 * at(half + 1) + at(half + 2)) / 8.0,
                    };
                    refined.values[(block * new[axis] + n) * stride + inner] = value;
                }
            }
        }
        refined
    }
}

/// Two-dimensional lattice of one slice: the spline, evaluated along the third axis.
#[derive(Debug)]
pub struct Plane {
    width: usize,
    values: Vec<f64>,
}

impl Plane {
    /// Evaluates the spline along the second axis at one position. `reach` has the control points that influence this
    /// position, with their B-spline weights. The control points of the resulting row are written to `row`.
    pub fn row(&self, reach: &Reach, row: &mut Vec<f64>) {
        row.clear();
        row.resize(self.width, 0.0);
        for (j, weight) in reach.weights.iter().enumerate() {
            let line = &self.values[(reach.first + j) * self.width..][..self.width];
            row.iter_mut().zip(line).for_each(|(sum, value)| *sum += weight * value);
        }
    }
}

/// Evaluates a one-dimensional spline at one position. `row` has all its control points; `reach` has those that
/// influence the position, with their B-spline weights.
pub fn value(row: &[f64], reach: &Reach) -> f64 {
    let near = &row[reach.first..reach.first + 4];
    reach.weights.iter().zip(near).map(|(weight, value)| weight * value).sum()
}

/// Adds `value` to the sums of the four control points that influence a position, multiplied by their B-spline weights.
/// `reach` has these control points and weights.
pub fn spread(sums: &mut [f64], reach: &Reach, value: f64) {
    let near = &mut sums[reach.first..reach.first + 4];
    near.iter_mut().zip(&reach.weights).for_each(|(sum, weight)| *sum += weight * value);
}

/// Adds the numbers of `row`, one for each control point along the first axis, to the sums of four rows of control
/// points. The numbers are multiplied by the B-spline weight of each row. `reach` has the four rows that influence a
/// position, with their weights.
pub fn spread_row(sums: &mut [f64], reach: &Reach, row: &[f64]) {
    for (j, weight) in reach.weights.iter().enumerate() {
        let line = &mut sums[(reach.first + j) * row.len()..][..row.len()];
        line.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(lattice: &Lattice, place: [f64; 3]) -> f64 {
        let reaches: [Reach; 3] = std::array::from_fn(|a| spline::reach(place[a], lattice.elements[a]));
        let mut row = Vec::new();
        lattice.slice(&reaches[2]).row(&reaches[1], &mut row);
        value(&row, &reaches[0])
    }

    #[test]
    fn a_refined_lattice_is_the_same_function() {
        let mut lattice = Lattice::zeros([1, 2, 3]);
        for (n, value) in lattice.values.iter_mut().enumerate() {
            *value = ((n * 37) % 23) as f64 - 11.0;
        }
        let refined = lattice.refined();
        for place in [[0.0, 0.0, 0.0], [0.3, 1.2, 2.9], [1.0, 2.0, 3.0], [0.5, 1.0, 1.5], [0.9, 0.1, 0.7]] {
            let (coarse, fine) = (at(&lattice, place), at(&refined, place.map(|p| 2.0 * p)));
            assert!((coarse - fine).abs() < 1e-12, "{place:?}: {coarse} and {fine}");
        }
    }
}
