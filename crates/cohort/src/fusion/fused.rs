//! The result of a label fusion.

use antsreg_core::{LabelVolume, Volume};

use super::tally::Tally;

/// Fused labels, and the share of the vote of each candidate label at voxels where the atlases disagree.
#[derive(Debug, Clone, PartialEq)]
pub struct Fused {
    /// For every voxel, the label with the largest share of the vote.
    pub labels: LabelVolume,
    /// For each voxel where the atlases disagree, in ascending order: the index of the voxel, and the index in `shares`
    /// after the last entry of this voxel.
    votes: Vec<(usize, usize)>,
    /// Candidate labels with their shares of the vote: first the labels of the first voxel in `votes`, then those of
    /// the second voxel, and so on.
    shares: Vec<(i32, f32)>,
}

/// The votes for labels at the voxels of one row of an image.
#[derive(Debug, Default)]
pub(super) struct RowVotes {
    /// For each voxel: its index, the winning label, and the number of its candidate labels.
    pub(super) voxels: Vec<(usize, i32, usize)>,
    /// Candidate labels with their shares of the vote. The entries of each voxel follow those of the previous voxel.
    pub(super) shares: Vec<(i32, f32)>,
}

impl RowVotes {
    /// Appends the votes at one voxel to the votes of the image row.
    pub(super) fn push(&mut self, voxel: usize, tally: &mut Tally) {
        let before = self.shares.len();
        let winner = tally.winner();
        self.shares.extend(tally.shares());
        self.voxels.push((voxel, winner, self.shares.len() - before));
    }
}

impl Fused {
    /// Makes the result of a fusion. `labels` holds the common label of each voxel where all atlases agree, and `rows`
    /// hold the votes at the other voxels.
    pub(super) fn new(mut labels: LabelVolume, rows: Vec<RowVotes>) -> Fused {
        let mut votes = Vec::with_capacity(rows.iter().map(|row| row.voxels.len()).sum());
        let mut shares = Vec::with_capacity(rows.iter().map(|row| row.shares.len()).sum());
        let mut end = 0;
        for row in rows {
            for (voxel, winner, count) in row.voxels {
                labels.voxels[voxel] = winner;
                end += count;
                votes.push((voxel, end));
            }
            shares.extend(row.shares);
        }
        Fused { labels, votes, shares }
    }

    /// Number of voxels where the atlases disagree.
    pub fn undecided(&self) -> usize {
        self.votes.len()
    }

    /// The labels of the voxels whose winner has at least the share `least` of the vote. The other voxels get label 0,
    /// and the returned mask is true there.
    pub fn certain(&self, least: f32) -> (LabelVolume, Vec<bool>) {
        let mut labels = self.labels.clone();
        let mut open = vec![false; labels.voxels.len()];
        let mut start = 0;
        for (voxel, end) in &self.votes {
            let label = &mut labels.voxels[*voxel];
            let won = self.shares[start..*end].iter().find(|(of, _)| of == label).map_or(0.0, |(_, share)| *share);
            if won < least {
                (*label, open[*voxel]) = (0, true);
            }
            start = *end;
        }
        (labels, open)
    }

    /// The share of the vote that `label` has at every voxel, 0 to 1.
    pub fn posterior(&self, label: i32) -> Volume {
        let agreed = |found: &i32| f32::from(u8::from(*found == label));
        let mut voxels: Vec<f32> = self.labels.voxels.iter().map(agreed).collect();
        let mut start = 0;
        for (voxel, end) in &self.votes {
            let share = self.shares[start..*end].iter().find(|(of, _)| *of == label);
            voxels[*voxel] = share.map_or(0.0, |(_, share)| *share);
            start = *end;
        }
        Volume { grid: self.labels.grid.clone(), voxels }
    }
}
