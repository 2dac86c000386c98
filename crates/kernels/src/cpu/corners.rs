//! Jacobian determinants of the map x + u(x) at the corners of the trilinear cells that meet at a voxel, and the
//! smallest displacements of voxels that raise these determinants above a limit.

use std::ops::{Add, Sub};

use wide::f32x8;

use super::field::{Field, on_edge};
use super::fields::newton::{cross, dot};
use super::lanes;
use super::lanes::LANES;
use crate::relax::{AIM_ABOVE, UNFOLDED_BY};

/// The cell edges at a voxel under the map x + u(x): to the neighbours below and above along each axis. At the border
/// there is only one edge along the axis, which is stored twice; along an axis of one voxel both are the unit vector of
/// the axis. `T` is a number of one voxel, or those of eight successive voxels of a row.
#[derive(Debug, Clone, Copy)]
struct Edges<T>([[[T; 3]; 2]; 3]);

impl Edges<f32> {
    fn at(field: &Field, at: [usize; 3]) -> Self {
        let [nx, ny, _] = field.shape;
        let (vectors, here) = (field.vectors(), field.index(at));
        Edges(std::array::from_fn(|axis| {
            let (index, n, stride) = (at[axis], field.shape[axis], [1, nx, nx * ny][axis]);
            let edge = |low: usize, high: usize| edge(axis, vectors[low], vectors[high]);
            let (below, above) = (if index > 0 { stride } else { 0 }, if index + 1 < n { stride } else { 0 });
            let low = if below > 0 { edge(here - below, here) } else { edge(here, here + above) };
            let high = if above > 0 { edge(here, here + above) } else { low };
            [low, high]
        }))
    }
}

impl Edges<f32x8> {
    /// The edges at eight successive voxels of a row, from voxel `first` on. Lanes beyond the end of the row have no
    /// meaning.
    #[inline(always)]
    fn of_eight(field: &Field, first: [usize; 3]) -> Self {
        let row = components(field, first);
        let here = middle(&row);
        Edges([
            Self::along_row(&row, first[0], field.shape[0]),
            Self::across_rows(field, first, here, 1),
            Self::across_rows(field, first, here, 2),
        ])
    }

    /// The edges along x, from voxel `i` of a row of `nx` voxels on.
    #[inline(always)]
    fn along_row(row: &[[f32; LANES + 2]; 3], i: usize, nx: usize) -> [[f32x8; 3]; 2] {
        let mut edges = [[0.0; LANES + 1]; 3];
        for (edges, row) in edges.iter_mut().zip(row) {
            for n in 0..=LANES {
                edges[n] = row[n + 1] - row[n];
            }
            if i == 0 {
                edges[0] = edges[1];
            }
            if i + LANES >= nx && nx > 1 {
                edges[nx - i] = edges[nx - i - 1];
            }
        }
        edges[0].iter_mut().for_each(|edge| *edge += 1.0);
        [0, 1].map(|side| [0, 1, 2].map(|c| lanes::load(&edges[c], side)))
    }

    /// The edges along axis 1 or 2, to the neighbours in other rows. `here` has the displacements of the eight voxels.
    #[inline(always)]
    fn across_rows(field: &Field, first: [usize; 3], here: [f32x8; 3], axis: usize) -> [[f32x8; 3]; 2] {
        let last = field.shape[axis] - 1;
        let (mut below, mut above) = (first, first);
        below[axis] = first[axis].saturating_sub(1);
        above[axis] = (first[axis] + 1).min(last);
        let edges = [
            edge(axis, middle(&components(field, below)), here),
            edge(axis, here, middle(&components(field, above))),
        ];
        [edges[usize::from(first[axis] == 0)], edges[usize::from(first[axis] < last)]]
    }
}

/// The edge along an axis between two neighbours with these displacements.
#[inline(always)]
fn edge<T>(axis: usize, low: [T; 3], high: [T; 3]) -> [T; 3]
where
    T: Copy + Sub<Output = T> + Add<f32, Output = T>,
{
    let mut edge = [high[0] - low[0], high[1] - low[1], high[2] - low[2]];
    edge[axis] = edge[axis] + 1.0;
    edge
}

/// The displacements of ten voxels of a row, component by component: voxel `i` − 1 and the nine that follow. Voxels
/// beyond the ends of the row are replaced by its first or last voxel.
#[inline(always)]
fn components(field: &Field, [i, j, k]: [usize; 3]) -> [[f32; LANES + 2]; 3] {
    let nx = field.shape[0];
    let row = &field.vectors()[field.index([0, j, k])..][..nx];
    let mut components = [[0.0; LANES + 2]; 3];
    for n in 0..LANES + 2 {
        let vector = row[(i + n).saturating_sub(1).min(nx - 1)];
        (0..3).for_each(|c| components[c][n] = vector[c]);
    }
    components
}

/// The eight voxels in the middle of ten.
#[inline(always)]
fn middle([x, y, z]: &[[f32; LANES + 2]; 3]) -> [f32x8; 3] {
    [lanes::load(x, 1), lanes::load(y, 1), lanes::load(z, 1)]
}

/// The smallest Jacobian determinants at the cell corners that meet at eight successive voxels of a row, from voxel
/// `first` on. Each corner has one edge along each axis, to the neighbour below or above. NaN where any determinant of
/// a voxel is NaN; lanes beyond the end of the row have no meaning.
#[inline(always)]
pub(super) fn smallest(field: &Field, first: [usize; 3]) -> f32x8 {
    let Edges([a, b, c]) = Edges::of_eight(field, first);
    let mut smallest = f32x8::splat(f32::INFINITY);
    for c in c {
        for b in b {
            let normal = cross(b, c);
            for a in a {
                let determinant = dot(a, normal);
                let smaller = determinant.simd_lt(smallest) | determinant.is_nan();
                smallest = smaller.bitselect(determinant, smallest);
            }
        }
    }
    smallest
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
