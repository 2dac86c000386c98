//! Fast sums of many weighted votes at one voxel. Labels are numbered, so that a vote needs no search.

use std::collections::BTreeSet;

use antsreg_core::LabelVolume;
use rayon::prelude::*;

use super::tally::Tally;

/// Number of partial sums of each label. Consecutive votes go to different partial sums, so that an addition need not
/// wait for the addition before it.
const PARTS: usize = 4;

/// Number of voxels that one task numbers.
const PIECE: usize = 1 << 16;

/// Label maps in which each label is replaced by its number in the list of all labels.
pub(super) struct Numbered {
    /// All labels of the maps, in ascending order.
    labels: Vec<i32>,
    /// For each map, the number of each voxel's label.
    pub(super) maps: Vec<Vec<u32>>,
}

impl Numbered {
    /// Numbers the labels of label maps.
    pub(super) fn new(maps: &[&LabelVolume]) -> Numbered {
        let of_piece = |piece: &[i32]| piece.chunk_by(|a, b| a == b).map(|run| run[0]).collect::<BTreeSet<i32>>();
        let pieces = maps.par_iter().flat_map(|map| map.voxels.par_chunks(PIECE).map(of_piece));
        let labels: Vec<i32> = pieces.reduce(BTreeSet::new, |all, more| &all | &more).into_iter().collect();
        let number = |map: &&LabelVolume| {
            let mut numbers = vec![0; map.voxels.len()];
            numbers.par_chunks_mut(PIECE).zip(map.voxels.par_chunks(PIECE)).for_each(|(mut numbers, piece)| {
                for run in piece.chunk_by(|a, b| a == b) {
                    let (these, rest) = std::mem::take(&mut numbers).split_at_mut(run.len());
                    these.fill(labels.partition_point(|label| *label < run[0]) as u32);
                    numbers = rest;
                }
            });
            numbers
        };
        Numbered { maps: maps.iter().map(number).collect(), labels }
    }

    /// Prepares sums of votes for these labels.
    pub(super) fn counts(&self) -> Counts<'_> {
        let count = self.labels.len();
        Counts {
            labels: &self.labels,
            sums: vec![[0.0; PARTS]; count],
            is_listed: vec![false; count],
            listed: Vec::new(),
        }
    }
}

/// The sums of votes for labels at one voxel.
pub(super) struct Counts<'a> {
    labels: &'a [i32],
    /// The partial sums of the votes for each label.
    sums: Vec<[f64; PARTS]>,
    /// Whether a label has votes.
    is_listed: Vec<bool>,
    /// The numbers of the labels that have votes.
    listed: Vec<u32>,
}

impl Counts<'_> {
    /// Adds votes, numbers of labels with weights. Vote n is added to partial sum n mod [`PARTS`] of its label.
    #[inline(always)]
    pub(super) fn add_all(&mut self, votes: impl Iterator<Item = (u32, f32)>) {
        for (n, (number, weight)) in votes.enumerate() {
            let label = number as usize;
            if !self.is_listed[label] {
                self.is_listed[label] = true;
                self.listed.push(number);
            }
            self.sums[label][n % PARTS] += f64::from(weight);
        }
    }

    /// Moves the sums of all labels with votes to `tally`, in ascending order of the labels.
    pub(super) fn move_to(&mut self, tally: &mut Tally) {
        self.listed.sort_unstable();
        for number in self.listed.drain(..) {
            let label = number as usize;
            let [a, b, c, d] = std::mem::take(&mut self.sums[label]);
            self.is_listed[label] = false;
            tally.add(self.labels[label], (a + b) + (c + d));
        }
    }
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    #[test]
    fn votes_are_summed_by_label_and_forgotten_afterwards() {
        let map =
            |voxels: &[i32]| LabelVolume { grid: Grid::axis_aligned([5, 1, 1], [1.0; 3]), voxels: voxels.to_vec() };
        let (first, second) = (map(&[7, 7, -2, 3, 3]), map(&[3, 40, 40, -2, 7]));
        let numbered = Numbered::new(&[&first, &second]);
        assert_eq!(numbered.labels, [-2, 3, 7, 40]);
        assert_eq!(numbered.maps, [[2, 2, 0, 1, 1], [1, 3, 3, 0, 2]]);
        let mut counts = numbered.counts();
        // The weights are sums of powers of 2, so the sums are exact in any order.
        let weights = [0.125, 0.25, 0.75, -0.5, 0.5_f32];
        for _ in 0..2 {
            let mut tally = Tally::default();
            counts.add_all(numbered.maps[0].iter().copied().zip(weights));
            counts.add_all(numbered.maps[1].iter().copied().zip(weights));
            counts.move_to(&mut tally);
            let mut expected = Tally::default();
            for (label, sum) in [(-2, 0.25), (3, 0.125), (7, 0.875), (40, 1.0)] {
                expected.add(label, sum);
            }
            assert_eq!(tally, expected);
        }
    }
}
