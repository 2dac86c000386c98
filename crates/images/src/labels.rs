//! Measures of labels: place, mass and volume. ANTs' `ImageMath` with `LabelStats`.

use antsreg_core::Volume;
use nalgebra::Point3;

use crate::dimensions;

/// Place, mass and volume of a label.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelStatistics {
    /// The label; not 0.
    pub label: f32,
    /// Mean position of the label's voxels in the world, mm, RAS.
    pub centre: Point3<f64>,
    /// Sum of the intensities of the label's voxels.
    pub mass: f32,
    /// Volume, mm³; for slices the area, mm².
    pub volume: f32,
    /// Number of voxels.
    pub count: f32,
}

/// Measures each label of a label map, in ascending order, with the intensities of an image on the same grid.
pub fn statistics(labels: &Volume, intensities: Option<&[f32]>) -> Vec<LabelStatistics> {
    let mut known: Vec<f32> = labels.voxels.iter().copied().filter(|label| label.abs() > 0.0).collect();
    known.sort_unstable_by(f32::total_cmp);
    known.dedup();
    let grid = &labels.grid;
    let [nx, ny, _] = grid.shape;
    let each = (0..dimensions(grid)).fold(1.0, |volume, axis| volume * grid.spacing[axis] as f32);
    let mut all = vec![(Point3::origin(), 0.0f32, 0.0f32); known.len()];
    for (voxel, label) in labels.voxels.iter().enumerate() {
        let Ok(place) = known.binary_search_by(|known| known.total_cmp(label)) else { continue };
        let (sum, mass, count): &mut (Point3<f64>, f32, f32) = &mut all[place];
        sum.coords +=
            nalgebra::Vector3::new((voxel % nx) as f64, (voxel / nx % ny) as f64, (voxel / (nx * ny)) as f64);
        *mass += intensities.map_or(0.0, |intensities| intensities[voxel]);
        *count += 1.0;
    }
    let map = grid.voxel_to_world();
    let measure = |(label, (sum, mass, count)): (f32, (Point3<f64>, f32, f32))| LabelStatistics {
        label,
        centre: map.apply(&Point3::from(sum.coords / f64::from(count))),
        mass,
        volume: each * count,
        count,
    };
    known.into_iter().zip(all).map(measure).collect()
}

/// Gives each voxel the label that most maps have there. Of labels with equally many votes, the one that reached them
/// first in the order of the maps is taken. With `least`, the smallest share of votes, a label with fewer votes is
/// replaced by 0. Returns the labels, and which voxels have too few votes.
pub fn majority(maps: &[&[i32]], least: Option<f32>) -> (Vec<i32>, Vec<bool>) {
    let voxels = maps.iter().map(|map| map.len()).min().unwrap_or(0);
    let vote = |voxel: usize| {
        let mut votes: Vec<(i32, usize)> = Vec::new();
        let mut best = (0, 0);
        for map in maps {
            let label = map[voxel];
            let count = match votes.iter_mut().find(|(known, _)| *known == label) {
                Some((_, count)) => {
                    *count += 1;
                    *count
                }
                None => {
                    votes.push((label, 1));
                    1
                }
            };
            if count > best.1 {
                best = (label, count);
            }
        }
        let too_few = least.is_some_and(|least| (best.1 as f32 / maps.len() as f32) < least);
        (if too_few { 0 } else { best.0 }, too_few)
    };
    (0..voxels).map(vote).unzip()
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::*;

    #[test]
    fn labels_are_measured_in_order() {
        let grid = Grid::axis_aligned([4, 2, 1], [1.0, 2.0, 5.0]);
        let labels = Volume { grid, voxels: vec![3.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0] };
        let found = statistics(&labels, Some(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]));
        let of = |label, centre: [f64; 3], mass, count| LabelStatistics {
            label,
            centre: centre.into(),
            mass,
            volume: 2.0 * count,
            count,
        };
        assert_eq!(found, [of(1.0, [3.0, 2.0, 0.0], 128.0, 1.0), of(3.0, [0.5, 0.0, 0.0], 3.0, 2.0)]);
    }

    #[test]
    fn the_most_frequent_label_wins_and_then_the_first() {
        let maps: [&[i32]; 3] = [&[1, 5, 2], &[2, 4, 2], &[2, 3, 2]];
        assert_eq!(majority(&maps, None).0, [2, 5, 2]);
        assert_eq!(majority(&maps, Some(0.6)), (vec![2, 0, 2], vec![false, true, false]));
    }
}
