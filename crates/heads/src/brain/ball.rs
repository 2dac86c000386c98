//! Erosion and dilation of sets of voxels by balls. A set is stored with one bit for each voxel, so that each operation
//! treats 64 voxels of a row.

use antsreg_core::Grid;
use rayon::prelude::*;

/// Returns the voxels of a set from which every voxel outside the set is farther than `radius_mm`, from centre to
/// centre. The border of the grid is not outside.
pub fn eroded(grid: &Grid, set: &[bool], radius_mm: f32) -> Vec<bool> {
    let bits = Bits::of(grid.shape[0], set, true).eroded(grid, radius_mm);
    bits.unpacked(set.len(), true)
}

/// Returns the voxels of a set, and the voxels that are not farther than `radius_mm` from a voxel of the set, from
/// centre to centre.
pub fn dilated(grid: &Grid, set: &[bool], radius_mm: f32) -> Vec<bool> {
    let bits = Bits::of(grid.shape[0], set, false).eroded(grid, radius_mm);
    bits.unpacked(set.len(), false)
}

/// Number of voxels whose bits one word holds.
const WIDTH: usize = u64::BITS as usize;
/// Smallest number of rows that one task processes.
const ROWS: usize = 64;

/// A set of voxels, one bit for each voxel. Each row of the grid begins with a new word; bits beyond the end of the row
/// are set.
struct Bits {
    /// Number of voxels of a row.
    nx: usize,
    /// Number of words of a row.
    words: usize,
    rows: Vec<u64>,
}

impl Bits {
    /// The voxels whose membership of `set` equals `wanted`, in rows of `nx` voxels.
    fn of(nx: usize, set: &[bool], wanted: bool) -> Bits {
        let words = nx.div_ceil(WIDTH);
        let mut rows = vec![u64::MAX; set.len() / nx * words];
        let pack = |(out, row): (&mut [u64], &[bool])| {
            for (word, voxels) in out.iter_mut().zip(row.chunks(WIDTH)) {
                let bits = voxels.iter().enumerate();
                *word = !bits.fold(0, |bits, (n, inside)| bits | u64::from(*inside != wanted) << n);
            }
        };
        rows.par_chunks_mut(words).zip(set.par_chunks(nx)).with_min_len(ROWS).for_each(pack);
        Bits { nx, words, rows }
    }

    /// Returns, for each of `count` voxels, `wanted` if the voxel is in this set, else the opposite.
    fn unpacked(&self, count: usize, wanted: bool) -> Vec<bool> {
        let mut set = vec![false; count];
        let unpack = |(row, bits): (&mut [bool], &[u64])| {
            for (voxels, word) in row.chunks_mut(WIDTH).zip(bits) {
                voxels.iter_mut().enumerate().for_each(|(n, inside)| *inside = (word >> n & 1 == 1) == wanted);
            }
        };
        set.par_chunks_mut(self.nx).zip(self.rows.par_chunks(self.words)).with_min_len(ROWS).for_each(unpack);
        set
    }

    /// Erosion by a ball. For each row, the rows within the ball are eroded along the first axis by half the ball's
    /// width in that row, and intersected.
    fn eroded(self, grid: &Grid, radius_mm: f32) -> Bits {
        let [_, ny, nz] = grid.shape;
        let chords = chords(grid, radius_mm);
        let widest = chords.iter().map(|chord| chord.half).max().unwrap_or(0);
        let (nx, words, count) = (self.nx, self.words, self.rows.len());
        // The set, eroded along the first axis by 0, 1, 2, … voxels.
        let mut narrowed = vec![self];
        while narrowed.len() <= widest {
            narrowed.extend(narrowed.last().map(Bits::narrowed));
        }
        let mut rows = vec![u64::MAX; count];
        rows.par_chunks_mut(words).enumerate().with_min_len(ROWS).for_each(|(row, out)| {
            let (y, z) = (row % ny, row / ny);
            for Chord { steps: [dy, dz], half } in &chords {
                let place = y.checked_add_signed(*dy).zip(z.checked_add_signed(*dz));
                let Some((y, z)) = place.filter(|(y, z)| *y < ny && *z < nz) else { continue };
                let other = &narrowed[*half].rows[(z * ny + y) * words..][..words];
                out.iter_mut().zip(other).for_each(|(out, other)| *out &= other);
            }
        });
        Bits { nx, words, rows }
    }

    /// Removes the voxels next to a voxel outside, along the first axis.
    fn narrowed(&self) -> Bits {
        let mut rows = self.rows.clone();
        let narrow = |(out, row): (&mut [u64], &[u64])| {
            for (n, word) in out.iter_mut().enumerate() {
                let before = n.checked_sub(1).map_or(u64::MAX, |n| row[n]);
                let after = row.get(n + 1).copied().unwrap_or(u64::MAX);
                *word &= (*word << 1 | before >> (WIDTH - 1)) & (*word >> 1 | after << (WIDTH - 1));
            }
        };
        rows.par_chunks_mut(self.words).zip(self.rows.par_chunks(self.words)).with_min_len(ROWS).for_each(narrow);
        Bits { rows, ..*self }
    }
}

/// Where a ball around a voxel intersects a row of voxels.
struct Chord {
    /// Steps from the voxel's row to this row, along the second and the third axis.
    steps: [isize; 2],
    /// Number of voxels of the intersection on either side of its middle.
    half: usize,
}

/// The rows that a ball around a voxel intersects.
fn chords(grid: &Grid, radius_mm: f32) -> Vec<Chord> {
    let spacing = [0, 1, 2].map(|axis| grid.spacing[axis] as f32);
    let reach = [0, 1, 2].map(|axis| (radius_mm / spacing[axis]).ceil().min(grid.shape[axis] as f32) as isize);
    let square = |steps: isize, axis: usize| (steps as f32 * spacing[axis]).powi(2);
    let rows = (-reach[2]..=reach[2]).flat_map(|dz| (-reach[1]..=reach[1]).map(move |dy| [dy, dz]));
    let chord = |steps: [isize; 2]| {
        let apart = square(steps[0], 1) + square(steps[1], 2);
        let half = (0..=reach[0]).rev().find(|dx| square(*dx, 0) + apart <= radius_mm * radius_mm)?;
        Some(Chord { steps, half: half as usize })
    };
    rows.filter_map(chord).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn voxels_are_as_far_as_a_search_finds() {
        let grid = Grid::axis_aligned([70, 6, 5], [1.0, 1.5, 3.0]);
        let place = |n: usize| [(n % 70) as f32, (n / 70 % 6) as f32 * 1.5, (n / 420) as f32 * 3.0];
        let is_near = |a: usize, b: usize, radius: f32| {
            place(a).iter().zip(place(b)).map(|(a, b)| (a - b) * (a - b)).sum::<f32>() <= radius * radius
        };
        let set: Vec<bool> = (0..grid.len()).map(|n| n * n % 61 > 1 && n % 70 != 64).collect();
        for radius in [0.0, 1.0, 2.3, 3.5, 200.0] {
            let near = |n: usize, side: bool| (0..grid.len()).any(|m| set[m] == side && is_near(n, m, radius));
            let farther: Vec<bool> = (0..grid.len()).map(|n| !near(n, false)).collect();
            let reached: Vec<bool> = (0..grid.len()).map(|n| near(n, true)).collect();
            assert_eq!(eroded(&grid, &set, radius), farther, "{radius}");
            assert_eq!(dilated(&grid, &set, radius), reached, "{radius}");
        }
        let all = vec![true; grid.len()];
        assert_eq!((eroded(&grid, &all, 4.0), dilated(&grid, &all, 4.0)), (all.clone(), all));
    }
}
