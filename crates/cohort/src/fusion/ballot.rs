//! The votes of the atlases for the label and the intensity of each target voxel, from all patches that contain the
//! voxel.

use antsreg_core::{LabelVolume, Volume};
use antsreg_kernels::fusion::{Choices, Patches, shifts};
use rayon::prelude::*;

use super::counts::Numbered;
use super::fused::RowVotes;
use super::options::JointOptions;
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
        let numbered = Numbered::new(labels);
        let scratch = || (numbered.counts(), Tally::default(), Vec::new());
        let votes = rows.map_init(scratch, |(counts, tally, patches), row| {
            let mut votes = RowVotes::default();
            for x in (0..nx).filter(|x| open[row * nx + x]) {
                let at = [x, row % ny, row / ny];
                self.list_patches(at, patches);
                for (atlas, map) in numbered.maps.iter().enumerate() {
                    let votes = self.votes(at, patches, atlas, labels.len());
                    counts.add_all(votes.map(|(voxel, weight)| (map[voxel], weight)));
                }
                tally.clear();
                counts.move_to(tally);
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
        let rows = fused.par_chunks_mut(nx).with_min_len(4).enumerate();
        rows.for_each_init(Vec::new, |patches, (row, fused)| {
            for (x, fused) in fused.iter_mut().enumerate().filter(|(x, _)| open[row * nx + x]) {
                let at = [x, row % ny, row / ny];
                self.list_patches(at, patches);
                let mut sum = 0.0;
                for (atlas, image) in images.iter().enumerate() {
                    for (voxel, weight) in self.votes(at, patches, atlas, images.len()) {
                        let value = image.voxels[voxel];
                        sum += f64::from(weight) * f64::from(if value.is_finite() { value } else { 0.0 });
                    }
                }
                *fused = if patches.is_empty() { 0.0 } else { (sum / patches.len() as f64) as f32 };
            }
        });
        fused
    }

    /// Lists the numbers of the patches that contain the voxel `at`.
    fn list_patches(&self, at: [usize; 3], patches: &mut Vec<usize>) {
        let [nx, ny, _] = self.shape;
        let radius = self.options.patch_radius;
        let around = |axis: usize| at[axis].saturating_sub(radius)..(at[axis] + radius + 1).min(self.shape[axis]);
        patches.clear();
        for (z, y) in around(2).flat_map(|z| around(1).map(move |y| (z, y))) {
            patches.extend(around(0).filter_map(|x| self.patches.patch_of((z * ny + y) * nx + x)));
        }
    }

    /// The votes of one of `atlases` atlases for the voxel `at`, one for each of these patches: the index of the voxel of
    /// the atlas, and the weight.
    #[inline(always)]
    fn votes(
        &self,
        at: [usize; 3],
        patches: &[usize],
        atlas: usize,
        atlases: usize,
    ) -> impl Iterator<Item = (usize, f32)> {
        let radius = self.options.search_radius;
        let here = (at[2] * self.shape[1] + at[1]) * self.shape[0] + at[0];
        let is_inner = (0..3).all(|axis| at[axis] >= radius && at[axis] + radius < self.shape[axis]);
        patches.iter().map(move |patch| {
            let chosen = patch * atlases + atlas;
            let shift = usize::from(self.choices.shift[chosen]);
            let voxel = if is_inner {
                here.wrapping_add_signed(self.strides[shift])
            } else {
                clamped(at, self.shifts[shift], self.shape)
            };
            (voxel, self.choices.weight[chosen])
        })
    }
}

/// Index in memory of the voxel at the position `at` + `shift`. A position outside the volume gives the index of the
/// nearest voxel of the volume.
fn clamped(at: [usize; 3], shift: [i32; 3], shape: [usize; 3]) -> usize {
    let place = |axis: usize| at[axis].saturating_add_signed(shift[axis] as isize).min(shape[axis] - 1);
    (place(2) * shape[1] + place(1)) * shape[0] + place(0)
}
