//! Labels that spread through a mask. ANTs' `ImageMath` with `PropagateLabelsThroughMask`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use antsreg_core::{Grid, Volume};

use crate::dimensions;

/// Speed from which a voxel belongs to the mask.
const INSIDE: f32 = 0.5;
/// Arrival time of what no label reaches.
const NEVER: f32 = 1e9;

/// Spreads labels from their voxels through the mask: each voxel of the mask without a label gets the label that arrives
/// first. Fronts have the speed of the mask's values in mm per unit of time, and end at the time `stop`. Returns the
/// labels, which are 0 outside the mask, and the times of arrival at the voxels that got a label, elsewhere 10⁹.
///
/// Each label spreads by Sethian's fast marching method, as in ITK.
pub fn through_mask(speed: &Volume, labels: &Volume, stop: f32) -> (Volume, Volume) {
    let grid = &labels.grid;
    let inside = |voxel: usize| speed.voxels[voxel] >= INSIDE;
    let mut out = labels.voxels.clone();
    (0..grid.len()).filter(|voxel| !inside(*voxel)).for_each(|voxel| out[voxel] = 0.0);
    let mut times = vec![NEVER; grid.len()];
    let in_mask = (0..grid.len()).filter(|voxel| inside(*voxel));
    let most = in_mask.map(|voxel| labels.voxels[voxel] as u32).max().unwrap_or(0);
    let mut all: Vec<u32> = labels.voxels.iter().map(|label| *label as u32).collect();
    all.sort_unstable();
    all.dedup();
    // Labels outside the mask spread too, if they are not larger than all in the mask.
    for label in all.into_iter().filter(|label| (1..=most).contains(label)) {
        let seeds: Vec<usize> = (0..grid.len()).filter(|voxel| labels.voxels[*voxel] == label as f32).collect();
        let arrival = arrival_times(grid, &speed.voxels, &seeds, stop);
        for (voxel, time) in arrival.into_iter().enumerate() {
            if inside(voxel) && crate::is_zero(labels.voxels[voxel]) && time < times[voxel] {
                (times[voxel], out[voxel]) = (time, label as f32);
            }
        }
    }
    let of = |voxels| Volume { grid: grid.clone(), voxels };
    (of(out), of(times))
}

/// Times at which a front from the seeds arrives at each voxel; infinite where it does not.
fn arrival_times(grid: &Grid, speed: &[f32], seeds: &[usize], stop: f32) -> Vec<f32> {
    let mut times = vec![f32::INFINITY; grid.len()];
    let mut fixed = vec![false; grid.len()];
    // Times are positive, so the order of their bits is that of the numbers.
    let mut front: BinaryHeap<Reverse<(u32, usize)>> = seeds.iter().map(|seed| Reverse((0, *seed))).collect();
    seeds.iter().for_each(|seed| times[*seed] = 0.0);
    while let Some(Reverse((bits, voxel))) = front.pop() {
        if fixed[voxel] || times[voxel].to_bits() != bits {
            continue;
        }
        if times[voxel] > stop {
            break;
        }
        fixed[voxel] = true;
        for neighbour in neighbours(grid, voxel).into_iter().flatten().flatten().filter(|voxel| !fixed[*voxel]) {
            let time = arrival(grid, speed, &times, &fixed, neighbour);
            if time.is_finite() {
                times[neighbour] = time;
                front.push(Reverse((time.to_bits(), neighbour)));
            }
        }
    }
    times
}

/// The neighbours before and after a voxel along each axis.
fn neighbours(grid: &Grid, voxel: usize) -> [[Option<usize>; 2]; 3] {
    let [nx, ny, nz] = grid.shape;
    let strides = [1, nx, nx * ny];
    let place = [voxel % nx, voxel / nx % ny, voxel / (nx * ny)];
    std::array::from_fn(|axis| {
        let before = (place[axis] > 0).then(|| voxel - strides[axis]);
        let after = (place[axis] + 1 < [nx, ny, nz][axis]).then(|| voxel + strides[axis]);
        [before, after]
    })
}

/// The time at which a front arrives at a voxel from its fixed neighbours: the larger solution t of
/// Σ ((t − tᵢ)/dᵢ)² = 1/v², with the earliest neighbour of each axis at distance dᵢ, as long as it is earlier than t.
fn arrival(grid: &Grid, speed: &[f32], times: &[f32], fixed: &[bool], voxel: usize) -> f32 {
    let mut earliest: Vec<(f64, f64)> = neighbours(grid, voxel)[..dimensions(grid)]
        .iter()
        .enumerate()
        .map(|(axis, sides)| {
            let known = sides.iter().flatten().filter(|side| fixed[**side]).map(|side| f64::from(times[*side]));
            (known.fold(f64::INFINITY, f64::min), grid.spacing[axis].powi(-2))
        })
        .collect();
    earliest.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut a, mut b, mut c) = (0.0, 0.0, -(1.0 / f64::from(speed[voxel])).powi(2));
    let mut time = f64::INFINITY;
    for (earlier, weight) in earliest.into_iter().take_while(|(earlier, _)| earlier.is_finite()) {
        if time < earlier {
            break;
        }
        a += weight;
        b += earlier * weight;
        c += earlier * earlier * weight;
        time = ((b * b - a * c).sqrt() + b) / a;
    }
    time as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_meet_in_the_middle_and_stay_in_the_mask() {
        // A bar of 9 voxels of 2 mm, and a second bar that is not connected.
        let grid = Grid::axis_aligned([9, 3, 3], [2.0; 3]);
        let mut speed = vec![0.0; 81];
        (36..45).chain(0..9).for_each(|voxel| speed[voxel] = 1.0);
        let mut labels = vec![0.0; 81];
        (labels[36], labels[44], labels[80]) = (4.0, 2.0, 1.0);
        let of = |voxels: &[f32]| Volume { grid: grid.clone(), voxels: voxels.to_vec() };
        let (found, times) = through_mask(&of(&speed), &of(&labels), 100.0);
        assert_eq!(found.voxels[36..45], [4.0, 4.0, 4.0, 4.0, 2.0, 2.0, 2.0, 2.0, 2.0]);
        assert_eq!(times.voxels[36..41], [NEVER, 2.0, 4.0, 6.0, 8.0]);
        assert!(found.voxels[..9].iter().all(|label| *label == 0.0) && found.voxels[80] == 0.0);
        let (found, _) = through_mask(&of(&speed), &of(&labels), 3.0);
        assert_eq!(found.voxels[36..45], [4.0, 4.0, 4.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0]);
    }
}
