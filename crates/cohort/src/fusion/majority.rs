//! Majority vote.

use antsreg_core::LabelVolume;
use rayon::prelude::*;

use super::error::FusionError;
use super::fused::{Fused, RowVotes};
use super::tally::Tally;
use super::undecided::check_grid;

/// Fuses label maps by majority vote: each voxel gets the label that most maps have there. With equal votes, the
/// smallest of these labels wins.
///
/// # Errors
/// No label map, or maps on different grids.
pub fn majority(labels: &[&LabelVolume]) -> Result<Fused, FusionError> {
    let Some((first, others)) = labels.split_first() else { return Err(FusionError::NoAtlas) };
    for (number, map) in labels.iter().enumerate() {
        check_grid(number, &first.grid, &map.grid)?;
    }
    let nx = first.grid.shape[0];
    let rows = (0..first.voxels.len() / nx).into_par_iter().with_min_len(16);
    let votes = rows.map_init(Tally::default, |tally, row| {
        let mut votes = RowVotes::default();
        for voxel in row * nx..(row + 1) * nx {
            if others.iter().all(|other| other.voxels[voxel] == first.voxels[voxel]) {
                continue;
            }
            tally.clear();
            labels.iter().for_each(|map| tally.add(map.voxels[voxel], 1.0));
            votes.push(voxel, tally);
        }
        votes
    });
    Ok(Fused::new((*first).clone(), votes.collect()))
}
