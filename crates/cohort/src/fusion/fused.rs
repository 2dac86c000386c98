//! What a fusion gives.

use antsreg_core::{LabelVolume, Volume};

use super::tally::Tally;

/// Fused labels, and how the vote went where there was one.
#[derive(Debug, Clone, PartialEq)]
pub struct Fused {
    /// The winner at every voxel.
    pub labels: LabelVolume,
    /// Voxels where the atlases disagree, in ascending order, each with the end of its part of `shares`.
    votes: Vec<(usize, usize)>,
    /// Labels and their shares of the vote, voxel by voxel.
    shares: Vec<(i32, f32)>,
}

/// The vote of a row of voxels.
#[derive(Debug, Default)]
pub(super) struct RowVotes {
    /// Voxel, winner, and how many shares belong to it.
    pub(super) voxels: Vec<(usize, i32, usize)>,
    /// Labels and their shares of the vote.
    pub(super) shares: Vec<(i32, f32)>,
}

impl RowVotes {
    /// Adds the outcome at one voxel.
    pub(super) fn push(&mut self, voxel: usize, tally: &mut Tally) {
        let before = self.shares.len();
        let winner = tally.winner();
        self.shares.extend(tally.shares());
        self.voxels.push((voxel, winner, self.shares.len() - before));
    }
}

impl Fused {
    /// The labels all atlases agree on, and the votes on the others.
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

    /// Voxels where the atlases disagree.
    pub fn undecided(&self) -> usize {
        self.votes.len()
    }

    /// The share of the vote that `label` got at every voxel, 0 to 1.
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
