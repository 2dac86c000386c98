//! The result of a label fusion.

use antsreg_core::{LabelVolume, Volume};

use super::tally::Tally;

/// Fused labels, and the shares of the vote at voxels where the atlases disagree.
#[derive(Debug, Clone, PartialEq)]
pub struct Fused {
    /// The winning label of every voxel.
    pub labels: LabelVolume,
    /// Voxels where the atlases disagree, in ascending order. The second number is the end of the voxel's part of
    /// `shares`.
    votes: Vec<(usize, usize)>,
    /// Candidate labels with their shares of the vote, for the voxels in `votes` in sequence.
    shares: Vec<(i32, f32)>,
}

/// The votes of a row of voxels.
#[derive(Debug, Default)]
pub(super) struct RowVotes {
    /// Index of the voxel, winning label, number of shares of this voxel.
    pub(super) voxels: Vec<(usize, i32, usize)>,
    /// Labels and their shares of the vote.
    pub(super) shares: Vec<(i32, f32)>,
}

impl RowVotes {
    /// Appends the votes of one voxel to the votes of the row.
    pub(super) fn push(&mut self, voxel: usize, tally: &mut Tally) {
        let before = self.shares.len();
        let winner = tally.winner();
        self.shares.extend(tally.shares());
        self.voxels.push((voxel, winner, self.shares.len() - before));
    }
}

impl Fused {
    /// `labels` holds the label of every voxel where all atlases agree; `rows` holds the votes of the other voxels.
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

    /// The label at each voxel where the winner has at least the share `least` of the vote, 0 at the other voxels;
    /// and a mask of these voxels.
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

    /// The share of the vote for `label` at every voxel, 0 to 1.
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
