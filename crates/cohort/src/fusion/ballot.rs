//! The votes of the atlases for the label and the intensity of each target voxel, from all patches that contain the
//! voxel.

use antsreg_core::{LabelVolume, Volume};
use antsreg_kernels::fusion::{Choices, Patches, shifts};
use rayon::prelude::*;

use super::fused::RowVotes;
use super::joint::JointOptions;
use super::tally::Tally;

/// The votes of the atlases, patch by patch. In each patch that contains a voxel, each atlas votes with its weight for
/// this patch. It votes for the value that its image has at the voxel's position plus the shift that was found for the
/// patch.
pub(super) struct Ballot<'a> {
    shape: [usize; 3],
    options: &'a JointOptions,
    patches: &'a Patches,
    choices: &'a Choices,
    shifts: Vec<[i32; 3]>,
    /// For each shift between a patch of the target and a patch of an atlas: the number that is added to the memory
    /// index of a voxel to get the index of the shifted voxel.
    strides: Vec<isize>,
}

impl<'a> Ballot<'a> {
    /// Prepares the votes for a target image of the given shape.
    pub(super) fn new(
        shape: [usize; 3],
        options: &'a JointOptions,
        patches: &'a Patches,
        choices: &'a Choices,
    ) -> Ballot<'a> {
        let shifts = shifts(options.search_radius);
        let [nx, ny, _] = shape.map(|extent| extent as isize);
        let strides = shifts.iter().map(|[x, y, z]| *x as isize + nx * (*y as isize + ny * *z as isize)).collect();
        Ballot { shape, options, patches, choices, shifts, strides }
    }

    /// Counts the votes for labels at the voxels of the mask `open`. Returns one list of votes for each row of the
    /// image.
    pub(super) fn labels(&self, labels: &[&LabelVolume], open: &[bool]) -> Vec<RowVotes> {
        let [nx, ny, nz] = self.shape;
        let rows = (0..ny * nz).into_par_iter().with_min_len(4);
        let maps: Vec<&[i32]> = labels.iter().map(|map| map.voxels.as_slice()).collect();
        let width = 2 * self.options.patch_radius + 1;
        // The votes at a voxel are listed before they are counted: two simple loops take less time than one.
        let most = width * width * width * maps.len();
        let scratch = || (Tally::default(), vec![(0, 0.0); most]);
        let votes = rows.map_init(scratch, |(tally, list), row| {
            let mut votes = RowVotes::default();
            for x in (0..nx).filter(|x| open[row * nx + x]) {
                let mut count = 0;
                self.each([x, row % ny, row / ny], maps.len(), |atlas, there, weight| {
                    list[count] = (maps[atlas][there], weight);
                    count += 1;
                });
                tally.clear();
                tally.add_all(&list[..count]);
                votes.push(row * nx + x, tally);
            }
            votes
        });
        votes.collect()
    }

    /// The fused intensity of each voxel of the mask `open`; 0 outside the mask. In each patch that contains the voxel,
    /// the intensities of the atlases are averaged with their weights; the result is the mean over these patches.
    /// Values that are NaN or infinite count as 0.
    pub(super) fn intensities(&self, images: &[&Volume], open: &[bool]) -> Vec<f32> {
        let [nx, ny, _] = self.shape;
        let mut fused = vec![0.0; open.len()];
        fused.par_chunks_mut(nx).with_min_len(4).enumerate().for_each(|(row, fused)| {
            for (x, fused) in fused.iter_mut().enumerate().filter(|(x, _)| open[row * nx + x]) {
                let mut sum = 0.0;
                let votes = self.each([x, row % ny, row / ny], images.len(), |atlas, there, weight| {
                    let value = images[atlas].voxels[there];
                    sum += f64::from(weight) * f64::from(if value.is_finite() { value } else { 0.0 });
                });
                *fused = if votes > 0 { (sum / votes as f64) as f32 } else { 0.0 };
            }
        });
        fused
    }

    /// Calls `vote` for every atlas in every patch that contains the voxel `at`. The arguments are the number of the
    /// atlas, the index of its voxel, and its weight. Returns the number of these patches.
    #[inline(always)]
    fn each(&self, at: [usize; 3], atlases: usize, mut vote: impl FnMut(usize, usize, f32)) -> usize {
        let [nx, ny, _] = self.shape;
        let JointOptions { patch_radius, search_radius, .. } = *self.options;
        let around =
            |axis: usize| at[axis].saturating_sub(patch_radius)..(at[axis] + patch_radius + 1).min(self.shape[axis]);
        let here = (at[2] * ny + at[1]) * nx + at[0];
        let is_inner = (0..3).all(|axis| at[axis] >= search_radius && at[axis] + search_radius < self.shape[axis]);
        let mut count = 0;
        for z in around(2) {
            for y in around(1) {
                for patch in around(0).filter_map(|x| self.patches.patch_of((z * ny + y) * nx + x)) {
                    count += 1;
                    let chosen = patch * atlases..(patch + 1) * atlases;
                    let each = self.choices.shift[chosen.clone()].iter().zip(&self.choices.weight[chosen]);
                    for (atlas, (shift, weight)) in each.enumerate() {
                        let shift = usize::from(*shift);
                        let there = if is_inner {
                            here.wrapping_add_signed(self.strides[shift])
                        } else {
                            clamped(at, self.shifts[shift], self.shape)
                        };
                        vote(atlas, there, *weight);
                    }
                }
            }
        }
        count
    }
}

/// Index in memory of the voxel at the position `at` + `shift`. A position outside the volume gives the index of the
/// nearest voxel of the volume.
fn clamped(at: [usize; 3], shift: [i32; 3], shape: [usize; 3]) -> usize {
    let place = |axis: usize| at[axis].saturating_add_signed(shift[axis] as isize).min(shape[axis] - 1);
    (place(2) * shape[1] + place(1)) * shape[0] + place(0)
}
