//! Search for repeats among cells. A cell is a group of four successive bytes; it repeats an earlier cell if the
//! first three bytes of both are equal.

/// Largest number of cells (groups of four bytes) in a run of equal cells: 64 cells are 256 bytes, and the longest
/// match of deflate has 258 bytes.
const LONGEST_RUN: usize = 64;
/// Largest distance, in cells of four bytes, of a match that is used. Over larger distances, a match of three bytes
/// would take no fewer bits than the three bytes themselves.
pub(super) const NEAR: usize = 256;
/// Number of entries of the table that stores, for each hash of three bytes, the last four-byte cell with this hash.
const PLACES: usize = 1 << 12;

/// Describes how the next cells (groups of four bytes) are encoded: as a run of equal cells, or as one cell with the
/// distance to an earlier cell that it repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step(u16);

impl Step {
    const RUN: u16 = 1 << 15;

    /// Number of cells (groups of four bytes) in the run, all of which equal the cell before the run; `None` if this
    /// entry describes a single cell.
    #[inline(always)]
    pub fn run(self) -> Option<usize> {
        (self.0 >= Step::RUN).then(|| usize::from(self.0 - Step::RUN))
    }

    /// If this entry describes a single cell (group of four bytes): the distance, in cells, to the nearest earlier cell
    /// with the same first three bytes, at most [`NEAR`]; 0 if there is no such cell.
    #[inline(always)]
    pub fn distance(self) -> usize {
        self.0.into()
    }
}

/// Searches the cells (groups of four bytes) of one piece of the data for repeats of earlier cells.
pub(super) struct Finder<'a> {
    cells: &'a [[u8; 4]],
    at: usize,
    /// For each hash of three bytes: the index of the last four-byte cell whose first three bytes have this hash.
    places: Vec<u32>,
    /// For each of the next cells (groups of four bytes): how the cell is encoded alone, not as a part of a run of
    /// equal cells.
    single: Vec<Step>,
}

impl<'a> Finder<'a> {
    pub fn new(cells: &'a [[u8; 4]]) -> Finder<'a> {
        Finder { cells, at: 0, places: vec![0; PLACES], single: Vec::new() }
    }

    /// Index of the first cell (group of four bytes) whose encoding has not been described yet.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Replaces the contents of `steps` by descriptions of how the next `count` cells (groups of four bytes) are
    /// encoded, or all remaining cells if fewer remain.
    pub fn steps(&mut self, count: usize, steps: &mut Vec<Step>) {
        let (first, end) = (self.at, self.cells.len().min(self.at + count));
        self.look_back(end);
        steps.clear();
        // The first cell (group of four bytes) of the data has no earlier cell, so it cannot be part of a run of cells
        // that equal an earlier cell.
        let before = first.saturating_sub(1);
        let mut at = first;
        if first == 0 && end > 0 {
            steps.push(self.single[0]);
            at = 1;
        }
        let cells = &self.cells[before..end];
        while at < end {
            let of = |n: usize| u32::from_le_bytes(cells[n - before]);
            // A single cell (group of four bytes) that equals the cell before is not encoded as a run of cells, but as
            // a match of three bytes and one literal byte.
            if of(at) == of(at - 1) && at + 1 < end && of(at + 1) == of(at) {
                let most = (end - at).min(LONGEST_RUN);
                let length = (2..most).find(|&n| of(at + n) != of(at)).unwrap_or(most);
                steps.push(Step(Step::RUN | length as u16));
                at += length;
            } else {
                steps.push(self.single[at - first]);
                at += 1;
            }
        }
        self.at = end;
    }

    /// Finds, for each four-byte cell up to `end`, the distance to the earlier cell that it repeats. The loop has no
    /// branches, because the processor could not predict them.
    fn look_back(&mut self, end: usize) {
        let Finder { cells, places, single, .. } = self;
        let places: &mut [u32; PLACES] =
            places.as_mut_slice().try_into().expect("the table has an entry for each hash");
        single.clear();
        single.extend((self.at..end).map(|at| {
            let cell = u32::from_le_bytes(cells[at]);
            let hash = ((cell << 8).wrapping_mul(0x9e37_79b1) >> 20) as usize % PLACES;
            let before = std::mem::replace(&mut places[hash], at as u32) as usize;
            let (distance, differs) = (at - before, u32::from_le_bytes(cells[before]) ^ cell);
            // For the first cell (group of four bytes) of the data, the distance is 0, which means "no earlier cell".
            let near = (differs << 8 == 0) & (distance <= NEAR);
            Step(u16::from(near) * distance as u16)
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_of_three_bytes_are_found_at_the_nearest_place() {
        // The first three bytes of the cells are one of 100 groups in random order; the fourth byte counts, so that
        // there are no runs.
        let mut state = 7u32;
        let cells: Vec<[u8; 4]> = (0..5000)
            .map(|n| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let group = ((state >> 16) % 100).wrapping_mul(0x0089_5a3d).to_le_bytes();
                [group[0], group[1], group[2], n as u8]
            })
            .collect();
        let mut finder = Finder::new(&cells);
        let (mut found, mut repeats, mut steps) = (0, 0, Vec::new());
        // The steps are asked for in parts that share no border with the repeats.
        for part in [1, 1999, 3000] {
            let first = finder.at();
            finder.steps(part, &mut steps);
            assert_eq!((steps.len(), finder.at()), (part, first + part));
            for (n, step) in (first..).zip(&steps) {
                assert_eq!(step.run(), None);
                let before = (1..=n.min(NEAR)).find(|back| cells[n - back][..3] == cells[n][..3]);
                repeats += usize::from(before.is_some());
                // The table of places has one entry for several groups, so a repeat may be missed, but none is wrong.
                if step.distance() > 0 {
                    assert_eq!(Some(step.distance()), before, "cell {n}");
                    found += 1;
                }
            }
        }
        assert!(repeats > 2000 && 10 * found > 9 * repeats, "{found} of {repeats}");
    }
}
