//! Connected regions of a set of voxels. They are found from runs: series of adjacent voxels of the set along a row.

use std::ops::Range;

use rayon::prelude::*;

/// The connected regions of a set of voxels. The set is described by runs (series of adjacent voxels along a row), each
/// with its region. Runs that touch through faces belong to one region.
struct Regions {
    shape: [usize; 3],
    /// Voxel indices of each run (series of adjacent voxels along a row), in the order of the voxels in memory.
    runs: Vec<Range<usize>>,
    /// For each run of adjacent voxels: an earlier run of the same region, or the run itself if it is the first. The
    /// runs thus form trees, from which connected regions are found (union-find).
    before: Vec<usize>,
}

impl Regions {
    /// Finds connected regions: of the voxels in the set if `wanted` is true, else of the voxels outside the set.
    fn of(shape: [usize; 3], set: &[bool], wanted: bool) -> Regions {
        let [nx, ny, nz] = shape;
        let of_slice = |z: usize| {
            let mut runs = Vec::new();
            // For each row of this slice: number of runs (series of adjacent voxels of the set) in the slice, up to the
            // end of the row.
            let mut ends = Vec::with_capacity(ny);
            for row in z * ny..(z + 1) * ny {
                runs_of_row(&set[row * nx..(row + 1) * nx], wanted, |run| {
                    runs.push(row * nx + run.start..row * nx + run.end);
                });
                ends.push(runs.len());
            }
            (runs, ends)
        };
        let slices: Vec<(Vec<Range<usize>>, Vec<usize>)> = (0..nz).into_par_iter().map(of_slice).collect();
        let mut runs = Vec::with_capacity(slices.iter().map(|(runs, _)| runs.len()).sum());
        let mut ends = vec![0];
        for (of_slice, its_ends) in slices {
            ends.extend(its_ends.into_iter().map(|end| runs.len() + end));
            runs.extend(of_slice);
        }
        let mut regions = Regions { shape, before: (0..runs.len()).collect(), runs };
        for row in 0..ny * nz {
            if row % ny > 0 {
                regions.join(ends[row]..ends[row + 1], ends[row - 1]..ends[row], nx);
            }
            if row >= ny {
                regions.join(ends[row]..ends[row + 1], ends[row - ny]..ends[row - ny + 1], nx * ny);
            }
        }
        regions
    }

    /// Joins regions: if a run of voxels in `row` touches a run in the adjacent row `earlier`, their regions become
    /// one. The row `earlier` lies `apart` elements earlier in memory.
    fn join(&mut self, row: Range<usize>, earlier: Range<usize>, apart: usize) {
        let (mut a, mut b) = (row.start, earlier.start);
        while a < row.end && b < earlier.end {
            let (this, other) = (&self.runs[a], self.runs[b].start + apart..self.runs[b].end + apart);
            let (a_ends_first, touch) = (this.end < other.end, this.start < other.end && other.start < this.end);
            if touch {
                let (first, second) = (self.first(a), self.first(b));
                self.before[first.max(second)] = first.min(second);
            }
            if a_ends_first { a += 1 } else { b += 1 }
        }
    }

    /// Returns the first run (series of adjacent voxels along a row) of the region that contains `run`.
    fn first(&mut self, mut run: usize) -> usize {
        while self.before[run] != run {
            self.before[run] = self.before[self.before[run]];
            run = self.before[run];
        }
        run
    }

    /// Returns, for each run (series of adjacent voxels along a row), the first run of its connected region.
    fn firsts(&mut self) -> Vec<usize> {
        (0..self.runs.len()).map(|run| self.first(run)).collect()
    }

    /// Whether a run of voxels touches the border of the volume.
    fn at_border(&self, run: usize) -> bool {
        let [nx, ny, nz] = self.shape;
        let Range { start, end } = self.runs[run];
        let (y, z) = (start / nx % ny, start / (nx * ny));
        start % nx == 0 || end % nx == 0 || y == 0 || y + 1 == ny || z == 0 || z + 1 == nz
    }
}

/// Calls `found` with each run of voxels in a row whose membership of the set equals `wanted`.
fn runs_of_row(row: &[bool], wanted: bool, mut found: impl FnMut(Range<usize>)) {
    let mut at = 0;
    while let Some(start) = row[at..].iter().position(|inside| *inside == wanted) {
        let start = at + start;
        let length = row[start..].iter().position(|inside| *inside != wanted);
        at = length.map_or(row.len(), |length| start + length);
        found(start..at);
    }
}

/// Removes all voxels from the set except its largest region that is connected through voxel faces. Of equally large
/// regions, the first is kept.
pub fn keep_largest(shape: [usize; 3], set: &mut [bool]) {
    let mut regions = Regions::of(shape, set, true);
    let firsts = regions.firsts();
    let mut sizes = vec![0; firsts.len()];
    regions.runs.iter().zip(&firsts).for_each(|(run, first)| sizes[*first] += run.len());
    let best = (0..sizes.len()).rev().max_by_key(|run| sizes[*run]);
    for (run, _) in regions.runs.into_iter().zip(firsts).filter(|(_, first)| Some(*first) != best) {
        set[run].fill(false);
    }
}

/// Adds to the set the voxels outside it that are not connected to the border of the volume through faces.
pub fn fill_holes(shape: [usize; 3], set: &mut [bool]) {
    let mut regions = Regions::of(shape, set, false);
    let firsts = regions.firsts();
    let mut open = vec![false; firsts.len()];
    for (run, first) in firsts.iter().enumerate() {
        open[*first] |= regions.at_border(run);
    }
    for (run, _) in regions.runs.into_iter().zip(firsts).filter(|(_, first)| !open[*first]) {
        set[run].fill(true);
    }
}

/// The connected regions of a set, in descending order of size. Equally large regions are in the order of their first
/// voxels.
pub struct BySize {
    /// For each voxel of the set the number of its region, counted from 0.
    pub of_voxels: Vec<Option<u32>>,
    /// Number of voxels of each region.
    pub sizes: Vec<usize>,
}

/// Finds the regions of the set that are connected through faces.
pub fn by_size(shape: [usize; 3], set: &[bool]) -> BySize {
    let mut regions = Regions::of(shape, set, true);
    let firsts = regions.firsts();
    let mut sizes = vec![0; firsts.len()];
    regions.runs.iter().zip(&firsts).for_each(|(run, first)| sizes[*first] += run.len());
    let mut order: Vec<usize> = (0..sizes.len()).filter(|first| sizes[*first] > 0).collect();
    order.sort_by_key(|first| std::cmp::Reverse(sizes[*first]));
    let mut numbers = vec![0; sizes.len()];
    order.iter().enumerate().for_each(|(number, first)| numbers[*first] = number as u32);
    let mut of_voxels = vec![None; set.len()];
    for (run, first) in regions.runs.iter().zip(firsts) {
        of_voxels[run.clone()].fill(Some(numbers[first]));
    }
    BySize { of_voxels, sizes: order.into_iter().map(|first| sizes[first]).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_region_stays_and_its_holes_are_filled() {
        let shape = [9, 7, 7];
        let at = |x: usize, y: usize, z: usize| (z * 7 + y) * 9 + x;
        let mut set = vec![false; 9 * 7 * 7];
        for (z, y, x) in (1..6).flat_map(|z| (1..6).flat_map(move |y| (1..6).map(move |x| (z, y, x)))) {
            set[at(x, y, z)] = true;
        }
        set[at(3, 3, 3)] = false;
        // The test set is a cube of 5 × 5 × 5 voxels. The voxel (6, 6, 3) touches this cube only at an edge, not at a
        // face, so it is a region of its own.
        set[at(6, 6, 3)] = true;
        let mut found = set.clone();
        keep_largest(shape, &mut found);
        assert_eq!(found.iter().filter(|inside| **inside).count(), 124);
        assert!(!found[at(6, 6, 3)] && !found[at(3, 3, 3)]);
        fill_holes(shape, &mut found);
        assert_eq!(found.iter().filter(|inside| **inside).count(), 125);
        let mut none = vec![false; 9 * 7 * 7];
        keep_largest(shape, &mut none);
        assert!(none.iter().all(|inside| !inside));
    }

    /// Marks in `reached`, by flood fill, the voxels connected through faces to voxel `from` that are all in the set or
    /// all outside it, like `from`.
    fn flood(shape: [usize; 3], set: &[bool], from: usize, reached: &mut [bool]) {
        let strides = [1, shape[0], shape[0] * shape[1]];
        let mut left = vec![from];
        reached[from] = true;
        while let Some(at) = left.pop() {
            for axis in 0..3 {
                let place = at / strides[axis] % shape[axis];
                let next =
                    [(place > 0).then(|| at - strides[axis]), (place + 1 < shape[axis]).then(|| at + strides[axis])];
                for next in next.into_iter().flatten().filter(|next| set[*next] == set[from]) {
                    if !std::mem::replace(&mut reached[next], true) {
                        left.push(next);
                    }
                }
            }
        }
    }

    #[test]
    fn regions_are_those_of_a_flood() {
        let shape = [11, 6, 8];
        let count = |set: &[bool]| set.iter().filter(|inside| **inside).count();
        for seed in 1..40_u64 {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                state >> 40
            };
            let set: Vec<bool> = (0..11 * 6 * 8).map(|_| next() % 100 < 20 + 2 * seed).collect();
            let mut best = vec![false; set.len()];
            let mut open = set.clone();
            for at in 0..set.len() {
                let mut reached = vec![false; set.len()];
                flood(shape, &set, at, &mut reached);
                let place = [at % 11, at / 11 % 6, at / 66];
                let border = place.iter().zip(shape).any(|(n, size)| *n == 0 || n + 1 == size);
                if set[at] && count(&reached) > count(&best) {
                    best = reached;
                } else if !set[at] && border {
                    open.iter_mut().zip(reached).for_each(|(open, reached)| *open |= reached);
                }
            }
            let (mut kept, mut filled) = (set.clone(), set.clone());
            keep_largest(shape, &mut kept);
            assert_eq!(kept, best, "{seed}");
            fill_holes(shape, &mut filled);
            // The expected result: holes are filled, so that only voxels connected to the border of the volume remain
            // outside the set. `open` is true at these voxels and at the voxels of the set.
            let expected: Vec<bool> = set.iter().zip(&open).map(|(inside, open)| *inside || !open).collect();
            assert_eq!(filled, expected, "{seed}");
        }
    }
}
