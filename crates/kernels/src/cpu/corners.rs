//! Jacobian determinants of the map x + u(x) at the corners of the trilinear cells that meet at a voxel, and the
//! smallest displacements of voxels that raise these determinants above a limit.

use super::field::{Field, on_edge};
use super::invert::{cross, dot};
use crate::relax::{AIM_ABOVE, UNFOLDED_BY};

/// The cell edges at a voxel under the map x + u(x): to the neighbours below and above along each axis. At the border
/// there is only one edge along the axis, which is stored twice; along an axis of one voxel both are the unit vector of
/// the axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edges([[[f32; 3]; 2]; 3]);

impl Edges {
    #[inline(always)]
    pub(super) fn at(field: &Field, at: [usize; 3]) -> Edges {
        let [nx, ny, _] = field.shape;
        let (vectors, here) = (field.vectors(), field.index(at));
        Edges(std::array::from_fn(|axis| {
            let (index, n, stride) = (at[axis], field.shape[axis], [1, nx, nx * ny][axis]);
            let edge = |low: usize, high: usize| {
                let (low, high) = (vectors[low], vectors[high]);
                let mut edge: [f32; 3] = std::array::from_fn(|c| high[c] - low[c]);
                edge[axis] += 1.0;
                edge
            };
            let (below, above) = (if index > 0 { stride } else { 0 }, if index + 1 < n { stride } else { 0 });
            let low = if below > 0 { edge(here - below, here) } else { edge(here, here + above) };
            let high = if above > 0 { edge(here, here + above) } else { low };
            [low, high]
        }))
    }

    /// The smallest Jacobian determinant at the cell corners that meet at the voxel. Each corner has one edge along
    /// each axis, to the neighbour below or above. NaN if any determinant is NaN.
    #[inline(always)]
    pub(super) fn smallest(&self) -> f32 {
        let Edges([a, b, c]) = self;
        let mut smallest = f32::INFINITY;
        for c in c {
            for b in b {
                let normal = cross(*b, *c);
                for a in a {
                    let determinant = dot(*a, normal);
                    if determinant < smallest || determinant.is_nan() {
                        smallest = determinant;
                    }
                }
            }
        }
        smallest
    }
}

/// The displacement of a voxel after unfolding: u plus the mean of the voxel's changes for all folded corners with an
/// edge at the voxel. A cell corner is at a voxel and has three edges to neighbours of that voxel; it is folded if its
/// determinant is below the limit. For each folded corner, the changes of these four voxels are the smallest
/// displacements that raise the determinant slightly above the limit, to first order. Border voxels are not displaced.
pub(super) fn unfolded(field: &Field, at: [usize; 3], smallest: f32, allowed: &[[f32; 3]; 3]) -> [f32; 3] {
    let u = field.vectors()[field.index(at)];
    if on_edge(at, field.shape) {
        return u;
    }
    let mut moves = Moves { field, smallest, allowed, sum: [0.0; 3], count: 0.0 };
    moves.add(at, None);
    for axis in 0..3 {
        if field.shape[axis] > 1 {
            for side in 0..2 {
                let mut neighbour = at;
                neighbour[axis] = at[axis] + 2 * side - 1;
                moves.add(neighbour, Some((axis, 1 - side)));
            }
        }
    }
    let Moves { sum, count, .. } = moves;
    if count > 0.0 { std::array::from_fn(|c| u[c] + sum[c] / count) } else { u }
}

/// Corrections of one voxel's displacement: their sum and their number. A voxel gets one correction for each folded
/// cell corner that depends on the voxel.
struct Moves<'a> {
    field: &'a Field,
    smallest: f32,
    allowed: &'a [[f32; 3]; 3],
    sum: [f32; 3],
    count: f32,
}

impl Moves<'_> {
    /// Adds to the sum the changes of one voxel's displacement for the folded corners at the voxel `at`. The changed
    /// voxel is `at` itself or, if `neighbour` gives an axis and a side, the neighbour of `at` on that side.
    fn add(&mut self, at: [usize; 3], neighbour: Option<(usize, usize)>) {
        let shape = self.field.shape;
        let Edges(edges) = Edges::at(self.field, at);
        // Whether the neighbour on this side of an axis may be displaced to correct a fold; voxels at the border may not.
        let moves = |axis: usize, side: usize| {
            let mut other = at;
            other[axis] = if side == 0 { at[axis].wrapping_sub(1) } else { at[axis] + 1 };
            other[axis] < shape[axis] && !on_edge(other, shape)
        };
        for corner in 0..8 {
            let sides: [usize; 3] = std::array::from_fn(|axis| corner >> axis & 1);
            // The changed voxel is not on the border, so every corner that depends on it exists. Along an axis of one
            // voxel both sides have the same corner, so only side 0 counts.
            let repeated = (0..3).any(|axis| sides[axis] >= shape[axis]);
            if repeated || neighbour.is_some_and(|(axis, side)| sides[axis] != side) {
                continue;
            }
            let [a, b, c]: [[f32; 3]; 3] = std::array::from_fn(|axis| edges[axis][sides[axis]]);
            let normals = [cross(b, c), cross(c, a), cross(a, b)];
            let determinant = dot(a, normals[0]);
            if determinant >= self.smallest {
                continue;
            }
            // The derivatives of the determinant with respect to the positions of the neighbours. The derivative with
            // respect to the voxel's own position is minus their sum.
            let by: [[f32; 3]; 3] = std::array::from_fn(|axis| {
                let sign = if shape[axis] == 1 { 0.0 } else { 2.0 * sides[axis] as f32 - 1.0 };
                self.allowed.map(|row| dot(row, normals[axis].map(|n| sign * n)))
            });
            let itself: [f32; 3] = std::array::from_fn(|c| -(by[0][c] + by[1][c] + by[2][c]));
            let mut squared = if on_edge(at, shape) { 0.0 } else { dot(itself, itself) };
            for axis in 0..3 {
                if moves(axis, sides[axis]) {
                    squared += dot(by[axis], by[axis]);
                }
            }
            let rate = (self.smallest + AIM_ABOVE - determinant) / squared.max(1e-6);
            let change = neighbour.map_or(itself, |(axis, _)| by[axis]).map(|slope| rate * slope);
            let share = UNFOLDED_BY / dot(change, change).sqrt().max(UNFOLDED_BY);
            self.sum = std::array::from_fn(|c| self.sum[c] + share * change[c]);
            self.count += 1.0;
        }
    }
}
