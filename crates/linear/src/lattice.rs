//! A regular lattice of points over up to three parameters, and a search for local minima of the cost among its points.

use crate::parameters::Parameters;

/// Share that selects the local minima to optimise. The cost of such a minimum lies in the lowest fifth of the range
/// from the lowest to the highest cost, and in the lowest fifth of the costs of all points.
const PROMISING_SHARE: f64 = 0.2;

/// A regular lattice of points in a box around 0. The index along the first axis varies fastest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lattice {
    count: [usize; 3],
    first: [f64; 3],
    step: [f64; 3],
}

impl Lattice {
    /// Makes a lattice of `count` points along each axis, from −`range` to +`range`. An axis with one point has its
    /// point at 0.
    pub fn new(count: [usize; 3], range: [f64; 3]) -> Lattice {
        let single = |axis: usize| count[axis] == 1;
        Lattice {
            count,
            first: std::array::from_fn(|axis| if single(axis) { 0.0 } else { -range[axis] }),
            step: std::array::from_fn(
                |axis| {
                    if single(axis) { 1.0 } else { 2.0 * range[axis] / (count[axis] - 1) as f64 }
                },
            ),
        }
    }

    /// Number of points of the lattice.
    pub fn len(&self) -> usize {
        self.count.iter().product()
    }

    /// The position of the lattice point with this number.
    pub fn point(&self, number: usize) -> [f64; 3] {
        let [nx, ny, _] = self.count;
        let index = [number % nx, number / nx % ny, number / nx / ny];
        std::array::from_fn(|axis| self.first[axis] + self.step[axis] * index[axis] as f64)
    }

    /// Interpolates values at the lattice points to the position `at`, trilinearly. Outside the lattice, the result is
    /// the value at the nearest edge.
    pub fn interpolate(&self, values: &[[f64; 3]], at: [f64; 3]) -> [f64; 3] {
        let mut sum = [0.0; 3];
        for corner in 0..8usize {
            let (mut weight, mut number, mut stride) = (1.0, 0, 1);
            for axis in 0..3 {
                let last = self.count[axis] - 1;
                let position = ((at[axis] - self.first[axis]) / self.step[axis]).clamp(0.0, last as f64);
                let low = position.floor();
                let upper = corner >> axis & 1;
                weight *= if upper == 1 { position - low } else { 1.0 - (position - low) };
                number += (low as usize + upper).min(last) * stride;
                stride *= self.count[axis];
            }
            (0..3).for_each(|component| sum[component] += weight * values[number][component]);
        }
        sum
    }

    /// The parameters of the lattice points that are local minima of the cost and have a promising cost.
    pub fn promising(&self, parameters: &[Parameters], costs: &[f64]) -> Vec<Parameters> {
        let limit = promising(costs);
        let lowest = self.minima(costs).into_iter().filter(|number| costs[*number] <= limit);
        lowest.map(|number| parameters[number]).collect()
    }

    /// Numbers of the lattice points whose cost is no higher than at any of their up to 26 neighbours on the lattice.
    fn minima(&self, costs: &[f64]) -> Vec<usize> {
        let [nx, ny, nz] = self.count;
        let near = |i: usize, n: usize| i.saturating_sub(1)..(i + 2).min(n);
        let lowest = |number: &usize| {
            let [i, j, k] = [number % nx, number / nx % ny, number / nx / ny];
            near(k, nz)
                .all(|c| near(j, ny).all(|b| near(i, nx).all(|a| costs[a + nx * (b + ny * c)] >= costs[*number])))
        };
        (0..self.len()).filter(lowest).collect()
    }
}

/// The largest cost with which a local minimum on a lattice counts as promising. Such a cost is within the lowest fifth
/// of the range of costs, and among the lowest fifth of the lattice points.
fn promising(costs: &[f64]) -> f64 {
    let mut sorted = costs.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.first(), sorted.last()) {
        (Some(lowest), Some(highest)) => {
            let rank = (PROMISING_SHARE * (sorted.len() - 1) as f64).ceil() as usize;
            (lowest + PROMISING_SHARE * (highest - lowest)).min(sorted[rank])
        }
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests;
