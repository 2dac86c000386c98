//! Computes distances in mm to the border of a set of voxels, up to a limit: the exact Euclidean transform, one axis
//! after the other (Saito and Toriwaki 1994).

use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

use crate::DistanceLimits;

/// Largest number of voxels, adjacent along the first axis, for which distances to the border of a set are computed
/// together.
const WIDTH: usize = 64;

/// The signed distances of all voxels to the border of a set of voxels, as of
/// [`Intensity::signed_distance`](crate::ops::Intensity::signed_distance). `set` says for each voxel whether it is in the set.
pub fn signed_distance(shape: [usize; 3], spacing_mm: [f64; 3], set: &[bool], limits: DistanceLimits) -> Vec<f32> {
    let [nx, ny, nz] = shape;
    let steps = spacing_mm.map(|mm| mm as f32);
    let squares = limits.squares();
    // Squares of the lengths of 1, 2, … voxels along the first axis, mm². They are the squared distances of voxels to a
    // voxel of the same row.
    let ramp: Vec<f32> = (1..=nx).map(|count| count as f32 * steps[0]).map(|mm| mm * mm).collect();
    // For each voxel, the squared distance to the nearest voxel on the other side of the set's border with the same
    // second coordinate: positive in the set, negative outside. In this array the third axis comes before the second:
    // the voxels of each plane of constant y are adjacent in memory.
    let mut planes = vec![0.0; set.len()];
    planes.par_chunks_mut(nx * nz).enumerate().for_each_init(Rows::default, |rows, (y, plane)| {
        for (z, out) in plane.chunks_mut(nx).enumerate() {
            along_row(&set[(z * ny + y) * nx..][..nx], out, squares, &ramp);
        }
        for first in (0..nx).step_by(WIDTH) {
            let columns = first..nx.min(first + WIDTH);
            rows.load((0..nz).map(|z| &plane[z * nx..][columns.clone()]));
            rows.lower(steps[2]);
            for (z, row) in rows.lowered().enumerate() {
                plane[z * nx..][columns.clone()].copy_from_slice(row);
            }
        }
    });
    let mut found = vec![0.0; set.len()];
    found.par_chunks_mut(nx * ny).enumerate().for_each_init(Rows::default, |rows, (z, slice)| {
        for first in (0..nx).step_by(WIDTH) {
            let columns = first..nx.min(first + WIDTH);
            rows.load((0..ny).map(|y| &planes[(y * nz + z) * nx..][columns.clone()]));
            rows.lower(steps[1]);
            for (y, row) in rows.lowered().enumerate() {
                let out = slice[y * nx..][columns.clone()].iter_mut();
                out.zip(row).for_each(|(out, square)| *out = square.abs().sqrt().copysign(*square));
            }
        }
    });
    found
}

/// Computes for each voxel of a row the squared distance to the nearest voxel of this row on the other side of the
/// set's border: positive in the set, negative outside. `limits` are the largest squared distances for voxels outside
/// and in the set; `ramp` has the squares of the distances of 1, 2, … voxels.
fn along_row(set: &[bool], out: &mut [f32], limits: [f32; 2], ramp: &[f32]) {
    let mut first = 0;
    for run in set.chunk_by(|a, b| a == b) {
        let end = first + run.len();
        let (limit, sign) = (limits[usize::from(run[0])], if run[0] { 1.0 } else { -1.0 });
        let out = &mut out[first..end];
        out.fill(limit);
        if first > 0 {
            out.iter_mut().zip(ramp).for_each(|(out, square)| *out = out.min(*square));
        }
        if end < set.len() {
            out.iter_mut().rev().zip(ramp).for_each(|(out, square)| *out = out.min(*square));
        }
        out.iter_mut().for_each(|square| *square *= sign);
        first = end;
    }
}

/// Squared distances of voxels to the border of a set: positive in the set, negative outside. Each row has the values
/// of up to [`WIDTH`] neighbouring voxels along the first axis; the rows follow each other along the second or the
/// third axis.
#[derive(Default)]
struct Rows {
    /// Number of adjacent voxels along the first axis in each of these rows.
    width: usize,
    /// The squared distances of all voxels to the set's border, row by row, before the border in other rows is
    /// considered.
    squares: Vec<f32>,
    /// The squared distances of all voxels to the set's border, row by row, after the border in other rows has also
    /// been considered.
    lowered: Vec<f32>,
    /// For each voxel of the row that is computed now: 1 if the voxel is in the set, −1 if it is outside.
    sides: Vec<f32>,
    /// For each row of voxels: the smallest and the largest squared distance to the set's border, and whether all
    /// voxels are in the set.
    extents: Vec<Extent>,
}

/// For a row of voxels: the smallest and the largest squared distance to the set's border, and whether all voxels are
/// in the set.
#[derive(Clone, Copy, Default)]
struct Extent {
    /// Smallest squared distance of a voxel of the row to the set's border, without sign.
    low: f32,
    /// Largest squared distance of a voxel of the row to the set's border, without sign.
    high: f32,
    /// `true` if all voxels of the row are in the set, `false` if all are outside, `None` if the row has voxels of both
    /// kinds.
    uniform: Option<bool>,
}

impl Rows {
    /// Takes the squared distances to the set's border for a new group of rows of voxels. All rows have the same number
    /// of voxels.
    fn load<'a>(&mut self, rows: impl Iterator<Item = &'a [f32]>) {
        self.squares.clear();
        for row in rows {
            self.width = row.len();
            self.squares.extend_from_slice(row);
        }
    }

    /// Returns, row by row, the squared distances that [`Rows::lower`] has computed from the border in all rows.
    fn lowered(&self) -> impl Iterator<Item = &[f32]> {
        self.lowered.chunks(self.width)
    }

    /// Lowers the squared distance of each voxel if the set's border is nearer in another row than in the voxel's own
    /// row. Adjacent rows are `step` mm apart.
    fn lower(&mut self, step: f32) {
        Arch::new().dispatch(Lower { rows: self, step });
    }

    /// Updates the squared distance to the set's border for each voxel of the row with index `at`, where the border is
    /// nearer in another row. For a voxel at the same place in another row, the candidate is the squared distance
    /// between the two rows. If both voxels are in the set or both outside, the squared distance of the other voxel is
    /// added. Otherwise the border lies between them, and nothing is added.
    #[inline(always)]
    fn lower_row(&mut self, at: usize, step: f32) {
        let Rows { width, squares, lowered, sides, extents } = self;
        let width = *width;
        let (own, this) = (&squares[at * width..][..width], extents[at]);
        let least = &mut lowered[at * width..][..width];
        for ((least, side), square) in least.iter_mut().zip(&mut *sides).zip(own) {
            (*least, *side) = (square.abs(), 1.0_f32.copysign(*square));
        }
        let mut most = this.high;
        for apart in 1..=at.max(extents.len() - 1 - at) {
            let mm = apart as f32 * step;
            let between = mm * mm;
            if between >= most {
                break;
            }
            let mut changed = false;
            for place in
                at.checked_sub(apart).into_iter().chain(Some(at + apart).filter(|next| *next < extents.len()))
            {
                let other = extents[place];
                if other.uniform.is_some() && other.uniform == this.uniform && other.low + between >= most {
                    continue;
                }
                changed = true;
                let other = &squares[place * width..][..width];
                for ((least, square), side) in least.iter_mut().zip(other).zip(&*sides) {
                    *least = least.min((square * side).max(0.0) + between);
                }
            }
            if changed {
                most = extreme(least, |a, b| a > b);
            }
        }
        least.iter_mut().zip(&*sides).for_each(|(least, side)| *least *= side);
    }
}

/// The search for nearer borders of the set in other rows ([`Rows::lower`]), compiled for the widest vector
/// instructions (SIMD) of the processor.
struct Lower<'a> {
    rows: &'a mut Rows,
    step: f32,
}

impl NullaryFnOnce for Lower<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Lower { rows, step } = self;
        rows.lowered.resize(rows.squares.len(), 0.0);
        rows.sides.resize(rows.width, 0.0);
        rows.extents.clear();
        for row in rows.squares.chunks(rows.width) {
            let outside: u32 = row.iter().map(|square| square.to_bits() >> 31).sum();
            rows.extents.push(Extent {
                low: extreme(row, |a, b| a < b),
                high: extreme(row, |a, b| a > b),
                uniform: (outside == 0 || outside as usize == row.len()).then_some(outside == 0),
            });
        }
        for at in 0..rows.extents.len() {
            rows.lower_row(at, step);
        }
    }
}

/// Returns the smallest or the largest absolute value of a row of numbers; `is_better(a, b)` tells which of two numbers
/// to keep. Eight numbers are compared at a time, so that the compiler uses vector instructions.
#[inline(always)]
fn extreme(values: &[f32], is_better: impl Fn(f32, f32) -> bool) -> f32 {
    let better = |a: f32, b: f32| if is_better(a, b) { a } else { b };
    let start = values[0].abs();
    let (eights, rest) = values.as_chunks::<8>();
    let found =
        eights.iter().fold([start; 8], |best, eight| std::array::from_fn(|n| better(eight[n].abs(), best[n])));
    found.into_iter().chain(rest.iter().map(|value| value.abs())).fold(start, |best, value| better(value, best))
}
