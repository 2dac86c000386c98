//! Label maps of many subjects on one grid: the probability of each label, and the most frequent label.

use std::collections::{BTreeMap, BTreeSet};

use antsreg_core::same_grid::{GridMismatch, same_grid};
use antsreg_core::{LabelVolume, Volume};
use rayon::prelude::*;

/// Label maps of several subjects on one grid, which vote for the label of each voxel.
#[derive(Debug)]
pub struct Votes {
    maps: Vec<LabelVolume>,
    labels: Vec<i32>,
}

impl Votes {
    /// Makes the votes of several subjects from their label maps. Label maps with different grids are an error.
    pub fn new(maps: Vec<LabelVolume>) -> Result<Votes, GridMismatch> {
        if let Some((first, rest)) = maps.split_first() {
            rest.iter().try_for_each(|map| same_grid("the label maps", &first.grid, &map.grid))?;
        }
        let of_map = |map: &LabelVolume| {
            let mut labels = BTreeSet::new();
            let mut last = 0;
            for label in map.voxels.iter().copied().filter(|label| *label != 0) {
                if label != last {
                    labels.insert(label);
                    last = label;
                }
            }
            labels
        };
        let labels: BTreeSet<i32> = maps.par_iter().map(of_map).reduce(BTreeSet::new, |mut all, some| {
            all.extend(some);
            all
        });
        Ok(Votes { maps, labels: labels.into_iter().collect() })
    }

    /// All labels that occur in the maps, except background (0), ascending.
    pub fn labels(&self) -> &[i32] {
        &self.labels
    }

    /// For each voxel, the share of the maps that have `label` there; `None` if there are no maps.
    pub fn probability(&self, label: i32) -> Option<Volume> {
        let share = 1.0 / self.maps.len() as f32;
        let grid = self.maps.first()?.grid.clone();
        let mut voxels = vec![0.0; grid.len()];
        for map in &self.maps {
            voxels.iter_mut().zip(&map.voxels).filter(|(_, found)| **found == label).for_each(|(sum, _)| *sum += 1.0);
        }
        voxels.iter_mut().for_each(|count| *count *= share);
        Some(Volume { grid, voxels })
    }

    /// The most frequent label at each voxel. With equal counts, the smallest of these labels. `None` if there are no
    /// maps.
    pub fn majority(&self) -> Option<LabelVolume> {
        let grid = self.maps.first()?.grid.clone();
        let voxels = (0..grid.len()).into_par_iter().with_min_len(4096).map(|n| self.winner(n)).collect();
        Some(LabelVolume { grid, voxels })
    }

    fn winner(&self, voxel: usize) -> i32 {
        let first = self.maps[0].voxels[voxel];
        let disagree = self.maps.iter().any(|map| map.voxels[voxel] != first);
        if !disagree {
            return first;
        }
        let mut counts = BTreeMap::new();
        self.maps.iter().for_each(|map| *counts.entry(map.voxels[voxel]).or_insert(0) += 1);
        let most = counts.values().copied().max().unwrap_or(0);
        counts.into_iter().find(|(_, count)| *count == most).map_or(0, |(label, _)| label)
    }
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    fn map(voxels: [i32; 5]) -> LabelVolume {
        LabelVolume { grid: Grid::axis_aligned([5, 1, 1], [1.0; 3]), voxels: voxels.to_vec() }
    }

    #[test]
    fn counts_become_shares_and_the_most_frequent_wins() {
        let votes =
            Votes::new(vec![map([0, 7, 7, 2, 0]), map([0, 7, 2, 2, 7]), map([0, 7, 7, 0, -3]), map([0, 2, 2, 0, 2])]);
        let votes = votes.expect("one grid");
        assert_eq!(votes.labels(), [-3, 2, 7]);
        assert_eq!(votes.probability(7).expect("maps").voxels, [0.0, 0.75, 0.5, 0.0, 0.25]);
        // With equal counts the smallest label wins, as in the interpolation `generic-label`.
        assert_eq!(votes.majority().expect("maps").voxels, [0, 7, 2, 0, -3]);
    }

    #[test]
    fn other_grids_are_refused() {
        let other = LabelVolume { grid: Grid::axis_aligned([4, 1, 1], [1.0; 3]), voxels: vec![0; 4] };
        assert!(Votes::new(vec![map([0; 5]), other]).is_err());
    }
}
