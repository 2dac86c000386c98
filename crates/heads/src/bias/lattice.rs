//! Lattice of the control points of a B-spline in three dimensions, and its refinement to mesh elements of half the
//! length.

use super::spline;

/// Control points of a cubic B-spline over a box of voxels.
#[derive(Debug, Clone, PartialEq)]
pub struct Lattice {
    /// Number of mesh elements along each axis.
    pub elements: [usize; 3],
    /// Values of the B-spline's control points, the first axis fastest. Along each axis there are three more control
    /// points than mesh elements.
    pub values: Vec<f64>,
}

impl Lattice {
    /// Makes a B-spline lattice whose control points all have the value 0.
    pub fn zeros(elements: [usize; 3]) -> Lattice {
        Lattice { elements, values: vec![0.0; Lattice::len(elements)] }
    }

    /// Number of control points of a mesh with these numbers of elements along the axes.
    pub fn len(elements: [usize; 3]) -> usize {
        elements.map(spline::points).into_iter().product()
    }

    /// Number of the B-spline's control points along each axis.
    pub fn points(&self) -> [usize; 3] {
        self.elements.map(spline::points)
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
                    // The new B-spline mesh has elements of half the length. Positions in units of the old mesh
                    // elements: old control point n lies at n − 1, new control point n at (n − 1)/2.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(lattice: &Lattice, place: [f64; 3]) -> f64 {
        let [x, y, z] = [0, 1, 2].map(|axis| spline::reach(place[axis], lattice.elements[axis]));
        let [nx, ny, _] = lattice.points();
        let mut sum = 0.0;
        for n in 0..64 {
            let [i, j, k] = [n % 4, n / 4 % 4, n / 16];
            let point = ((z.first + k) * ny + y.first + j) * nx + x.first + i;
            sum += x.weights[i] * y.weights[j] * z.weights[k] * lattice.values[point];
        }
        sum
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
