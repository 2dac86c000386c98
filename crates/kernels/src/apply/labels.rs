//! Resampling of label maps through a chain of transforms.

use antsreg_core::{Grid, LabelVolume, TransformChain};

use super::{
    cell::Cell,
    nearest::Nearest,
    path::Path,
    sample::{Sample, fill},
};

/// How a label map is interpolated between voxel centres.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LabelInterpolation {
    /// The label with the most weight among the neighbours, as ANTs' GenericLabel
    ///
    /// Each of the eight voxels around a point adds its trilinear weight to its label. The label with the largest sum
    /// is taken; of labels with equal sums, the smallest. The borders of labels become smoother than by the nearest
    /// voxel, and no new label arises.
    #[default]
    #[cfg_attr(feature = "clap", value(help = "The label with the most weight among the neighbours, as ANTs' GenericLabel", aliases = ["GenericLabel", "genericLabel", "MultiLabel", "multiLabel"]))]
    GenericLabel,
    /// The label of the nearest voxel
    ///
    /// Half-way between two voxels, the voxel with the higher index is taken.
    #[cfg_attr(feature = "clap", value(help = "The label of the nearest voxel", aliases = ["NearestNeighbor", "nearestNeighbor", "nearest-neighbour", "nearest-neighbor"]))]
    Nearest,
}

/// Resamples `labels` on the grid `onto`. The transforms of `chain` map the world point x of a voxel to chain(x). The
/// voxel gets the label at chain(x), or 0 if chain(x) is more than half a voxel outside the label map.
pub fn resample_labels(
    labels: &LabelVolume,
    onto: &Grid,
    chain: &TransformChain,
    interpolation: LabelInterpolation,
) -> LabelVolume {
    let path = Path::new(onto, chain, &labels.grid);
    let (shape, voxels) = (labels.grid.shape, labels.voxels.as_slice());
    let voxels = match interpolation {
        LabelInterpolation::Nearest => fill(&path, onto, shape, &Nearest { shape, voxels }, 0),
        LabelInterpolation::GenericLabel => fill(&path, onto, shape, &Vote { shape, voxels }, 0),
    };
    LabelVolume { grid: onto.clone(), voxels }
}

/// Two sums of trilinear weights count as equal if they differ by less than this number: such a difference is rounding
/// error.
const TIE: f64 = 1e-9;

/// Interpolates a label map by the sums of the trilinear weights that each label has among the eight neighbours.
pub struct Vote<'a, T> {
    pub shape: [usize; 3],
    pub voxels: &'a [T],
}

impl<T: Copy + PartialOrd + Send + Sync> Sample for Vote<'_, T> {
    type Value = T;

    #[inline]
    fn at(&self, index: [f64; 3]) -> T {
        let cell = Cell::around(self.shape, index);
        let labels = cell.corners().map(|corner| self.voxels[corner]);
        // At nearly all points the eight neighbours have the same label, so no weights need to be added.
        if labels[1..].iter().all(|label| *label == labels[0]) {
            return labels[0];
        }
        elect(labels, cell.weights())
    }
}

/// The label with the largest sum of weights; of labels with equal sums, the smallest label.
fn elect<T: Copy + PartialOrd>(labels: [T; 8], weights: [f64; 8]) -> T {
    let (mut winner, mut most) = (labels[0], 0.0);
    for candidate in 0..8 {
        let label = labels[candidate];
        if labels[..candidate].contains(&label) {
            continue;
        }
        let mut votes = 0.0;
        for voter in candidate..8 {
            votes += if labels[voter] == label { weights[voter] } else { 0.0 };
        }
        if votes > most + TIE || (votes > most - TIE && label < winner) {
            (winner, most) = (label, votes);
        }
    }
    winner
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use antsreg_core::{AffineTransform, Transform};
    use nalgebra::{Matrix3, Vector3};

    use super::*;
    use crate::apply::test_scenes::{Noise, chains, oblique_grid, slow_indices, tent_weights};

    fn noise_labels(grid: Grid, kinds: f64, seed: u64) -> LabelVolume {
        let mut noise = Noise(seed);
        let voxels = (0..grid.len()).map(|_| (noise.next() * kinds) as i32 - 1).collect();
        LabelVolume { grid, voxels }
    }

    /// The expected labels: interpolates the indicator image of every label and takes the label with the largest value;
    /// of equal values, the smallest label.
    fn slow_vote(labels: &LabelVolume, index: [f64; 3]) -> i32 {
        let mut votes = BTreeMap::new();
        for (weight, label) in tent_weights(labels.grid.shape, index).zip(&labels.voxels) {
            *votes.entry(*label).or_insert(0.0) += weight;
        }
        let mut winner = (0, 0.0);
        for (label, vote) in votes {
            if vote > winner.1 + 1e-9 {
                winner = (label, vote);
            }
        }
        winner.0
    }

    #[test]
    fn generic_label_is_the_largest_interpolated_indicator() {
        for shape in [[9, 7, 5], [1, 8, 3]] {
            // The label map of the test contains the labels −1, 0, 1 and 2, because labels may be negative.
            let labels = noise_labels(oblique_grid(shape, 1), 4.0, 7);
            let onto = oblique_grid([7, 5, 9], 2);
            for chain in chains(&onto) {
                let moved = resample_labels(&labels, &onto, &chain, LabelInterpolation::GenericLabel);
                for (index, found) in slow_indices(&onto, &chain, &labels.grid).into_iter().zip(&moved.voxels) {
                    assert_eq!(index.map_or(0, |index| slow_vote(&labels, index)), *found, "at {index:?}");
                }
            }
        }
    }

    #[test]
    fn a_tie_goes_to_the_smallest_label() {
        // The index of this test is half-way between two voxels on each axis, so all eight weights are equal.
        let half = AffineTransform { matrix: Matrix3::identity(), translation: Vector3::repeat(0.5) };
        let chain = TransformChain::from(vec![Transform::Affine(half)]);
        let onto = Grid::axis_aligned([1, 1, 1], [1.0; 3]);
        let vote = |voxels: [i32; 8]| {
            let grid = Grid::axis_aligned([2, 2, 2], [1.0; 3]);
            let labels = LabelVolume { grid, voxels: voxels.to_vec() };
            resample_labels(&labels, &onto, &chain, LabelInterpolation::GenericLabel).voxels[0]
        };
        assert_eq!(vote([9, 8, 7, 6, 5, 4, 3, 2]), 2);
        assert_eq!(vote([2, 3, 4, 5, 6, 7, 8, 9]), 2);
        assert_eq!(vote([9, 9, 3, 3, 9, 9, 3, 3]), 3);
        assert_eq!(vote([9, 9, 3, 3, 9, 9, 9, 3]), 9);
        assert_eq!(vote([0, -4, 0, -4, 0, -4, 0, -4]), -4);
        assert_eq!(vote([5, 5, 5, 1, 1, 1, 7, 7]), 1);
    }

    #[test]
    fn nearest_invents_no_label_and_puts_background_outside() {
        let labels = noise_labels(oblique_grid([9, 7, 5], 1), 5.0, 9);
        let onto = oblique_grid([7, 5, 9], 2);
        for chain in chains(&onto) {
            let moved = resample_labels(&labels, &onto, &chain, LabelInterpolation::Nearest);
            for (index, found) in slow_indices(&onto, &chain, &labels.grid).into_iter().zip(&moved.voxels) {
                let expected = index.map_or(0, |index| {
                    let [i, j, k] = index.map(|x| (x + 0.5).floor() as usize);
                    labels.voxels[(k * 7 + j) * 9 + i]
                });
                assert_eq!(expected, *found);
            }
        }
    }
}
