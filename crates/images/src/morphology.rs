//! Morphology with balls of voxels, as by ITK's filters with `BinaryBallStructuringElement`.
//!
//! The ball of radius r holds the voxels whose centres are at most r + ½ voxels from its centre, regardless of the
//! spacing.

use antsreg_core::{Grid, Volume};
use rayon::prelude::*;

use crate::Error;
use crate::distance::squared_distances;
use crate::grids::{cropped, padded};

/// A morphological operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Removes voxels near the border.
    Erode,
    /// Adds voxels near the border.
    Dilate,
    /// Erodes, then dilates.
    Open,
    /// Dilates, then erodes.
    Close,
}

/// Largest squared distance of a voxel of the ball from its centre, with room for rounding: squared distances are whole
/// numbers, and (r + ½)² = r² + r + ¼.
fn reach(radius: usize) -> f64 {
    (radius * radius + radius) as f64 + 0.5
}

/// Adds to the set all voxels in the ball around a voxel of the set.
pub fn dilate(shape: [usize; 3], set: &[bool], radius: usize) -> Vec<bool> {
    squared_distances(shape, [1.0; 3], set).into_iter().map(|square| square <= reach(radius)).collect()
}

/// Removes from the set all voxels in the ball around a voxel of the image that is not in the set. Beyond the image,
/// voxels count as in the set.
pub fn erode(shape: [usize; 3], set: &[bool], radius: usize) -> Vec<bool> {
    let outside: Vec<bool> = set.iter().map(|inside| !inside).collect();
    squared_distances(shape, [1.0; 3], &outside).into_iter().map(|square| square > reach(radius)).collect()
}

/// Applies an operation to the voxels of an image that equal `foreground`. ANTs' `ImageMath` with `ME`, `MD`, `MO` and
/// `MC`.
///
/// Erosion gives 1 where a voxel above ½ remains, else 0. The other operations give the foreground; voxels of other
/// values are kept, and removed ones become 0.
///
/// # Errors
/// A margin of this radius around the image, which closing needs, does not fit into the available memory.
pub fn binary(image: &mut Volume, operation: Operation, radius: usize, foreground: f32) -> Result<(), Error> {
    let set: Vec<bool> = image.voxels.iter().map(|value| *value == foreground).collect();
    let shape = image.grid.shape;
    let result = match operation {
        Operation::Erode => {
            let kept = erode(shape, &set, radius);
            let voxels = image.voxels.iter_mut().zip(&set).zip(kept);
            voxels.for_each(|((value, was), is)| {
                *value = if *value > 0.5 && (is || !was) { 1.0 } else { 0.0 };
            });
            return Ok(());
        }
        Operation::Dilate => dilate(shape, &set, radius),
        Operation::Open => dilate(shape, &erode(shape, &set, radius), radius),
        Operation::Close => {
            // A margin of background keeps the border of the image out of the result.
            let wide = padded(&Volume { grid: image.grid.clone(), voxels: from_set(&set) }, radius, 0.0)?;
            let around =
                dilate(wide.grid.shape, &wide.voxels.iter().map(|value| *value > 0.5).collect::<Vec<_>>(), radius);
            let voxels = from_set(&erode(wide.grid.shape, &around, radius));
            let narrow = cropped(&Volume { grid: wide.grid, voxels }, radius);
            narrow.map(|volume| volume.voxels.iter().map(|value| *value > 0.5).collect()).unwrap_or(set.clone())
        }
    };
    for ((value, was), is) in image.voxels.iter_mut().zip(set).zip(result) {
        if is {
            *value = foreground;
        } else if was {
            *value = 0.0;
        }
    }
    Ok(())
}

fn from_set(set: &[bool]) -> Vec<f32> {
    set.iter().map(|inside| if *inside { 1.0 } else { 0.0 }).collect()
}

/// Applies an operation to the intensities of an image: dilation gives the largest intensity in the ball, erosion the
/// least. ANTs' `ImageMath` with `GE`, `GD`, `GO` and `GC`.
///
/// # Errors
/// A margin of this radius around the image, which opening and closing need, does not fit into the available memory.
pub fn grey(image: &mut Volume, operation: Operation, radius: usize) -> Result<(), Error> {
    let shape = image.grid.shape;
    let least = |voxels: &[f32], shape| extreme(shape, voxels, radius, f32::INFINITY, f32::min);
    let most = |voxels: &[f32], shape| extreme(shape, voxels, radius, f32::NEG_INFINITY, f32::max);
    match operation {
        Operation::Erode => image.voxels = least(&image.voxels, shape),
        Operation::Dilate => image.voxels = most(&image.voxels, shape),
        Operation::Open | Operation::Close => {
            let opens = operation == Operation::Open;
            let outside = if opens { f32::MAX } else { f32::MIN };
            let mut wide = padded(image, radius, outside)?;
            let shape = wide.grid.shape;
            wide.voxels = match opens {
                true => most(&least(&wide.voxels, shape), shape),
                false => least(&most(&wide.voxels, shape), shape),
            };
            if let Ok(narrow) = cropped(&wide, radius) {
                image.voxels = narrow.voxels;
            }
        }
    }
    Ok(())
}

/// Folds the intensities in the ball around each voxel, without voxels beyond the image.
fn extreme(shape: [usize; 3], voxels: &[f32], radius: usize, start: f32, fold: fn(f32, f32) -> f32) -> Vec<f32> {
    let [nx, ny, nz] = shape;
    let rows = rows_of_ball(radius, nz == 1);
    let mut out = vec![0.0; voxels.len()];
    out.par_chunks_mut(nx).enumerate().for_each(|(row, out)| {
        let (y, z) = ((row % ny) as isize, (row / ny) as isize);
        out.fill(start);
        for &(dy, dz, half) in &rows {
            let (y, z) = (y + dy, z + dz);
            if y < 0 || z < 0 || y >= ny as isize || z >= nz as isize {
                continue;
            }
            let line = &voxels[(z as usize * ny + y as usize) * nx..][..nx];
            for (x, out) in out.iter_mut().enumerate() {
                let near = &line[x.saturating_sub(half)..(x + half + 1).min(nx)];
                *out = near.iter().copied().fold(*out, fold);
            }
        }
    });
    out
}

/// The rows of the ball: offsets along the second and third axis, and how far the row extends to both sides.
fn rows_of_ball(radius: usize, slice: bool) -> Vec<(isize, isize, usize)> {
    let whole = radius as isize;
    let depth = if slice { 0 } else { whole };
    let row = |dy: isize, dz: isize| {
        let rest = whole * whole + whole - dy * dy - dz * dz;
        (rest >= 0).then(|| (dy, dz, (rest as f64 + 0.5).sqrt() as usize))
    };
    (-depth..=depth).flat_map(|dz| (-whole..=whole).filter_map(move |dy| row(dy, dz))).collect()
}

/// Fills the holes of the voxels above ½, as ANTs' `ImageMath` with `FillHoles`: sets to 1 all voxels of regions of the
/// other voxels, connected through faces, except the largest region.
///
/// With `least_edge` (0 to 1), a region is filled only if a larger share of its neighbours outside the region (of 26
/// around each voxel) are above ½; with a number above 1, all are filled.
pub fn fill_holes(image: &mut Volume, least_edge: Option<f32>) {
    let object: Vec<bool> = image.voxels.iter().map(|value| *value >= 0.5).collect();
    let outside: Vec<bool> = object.iter().map(|inside| !inside).collect();
    let regions = crate::regions::by_size(image.grid.shape, &outside);
    let filled: Vec<bool> = match least_edge {
        Some(least) if least <= 1.0 => {
            let [edges, all] = edges(&image.grid, &object, &regions.of_voxels, regions.sizes.len());
            (0..regions.sizes.len()).map(|n| n > 0 && edges[n] as f32 / all[n] as f32 > least).collect()
        }
        Some(least) if least > 2.0 => vec![false; regions.sizes.len()],
        _ => (0..regions.sizes.len()).map(|n| n > 0).collect(),
    };
    for (value, region) in image.voxels.iter_mut().zip(&regions.of_voxels) {
        if region.is_some_and(|region| filled[region as usize]) {
            *value = 1.0;
        }
    }
}

/// For each region: how many of its voxels' neighbours lie in the object, and how many lie outside the region.
fn edges(grid: &Grid, object: &[bool], regions: &[Option<u32>], count: usize) -> [Vec<u64>; 2] {
    let [nx, ny, nz] = grid.shape;
    let (mut in_object, mut all) = (vec![0; count], vec![0; count]);
    for (voxel, region) in regions.iter().enumerate().filter_map(|(voxel, region)| Some((voxel, (*region)?))) {
        let (x, y, z) = (voxel % nx, voxel / nx % ny, voxel / (nx * ny));
        let near = |at: usize, size: usize| at.saturating_sub(1)..(at + 2).min(size);
        for z in near(z, nz) {
            for y in near(y, ny) {
                for other in near(x, nx).map(|x| (z * ny + y) * nx + x) {
                    if regions[other] != Some(region) {
                        all[region as usize] += 1;
                        in_object[region as usize] += u64::from(object[other]);
                    }
                }
            }
        }
    }
    [in_object, all]
}

/// Keeps the largest region of the voxels from ¼ to 10⁹ that are connected through faces: its voxels become 1, all
/// others 0. Equally large regions are all kept. Regions of fewer than `least` voxels do not count; if none counts, all
/// voxels become 1, as in ANTs.
pub fn keep_largest_region(image: &mut Volume, least: usize) {
    let set: Vec<bool> = image.voxels.iter().map(|value| (0.25..=1e9).contains(value)).collect();
    let regions = crate::regions::by_size(image.grid.shape, &set);
    let largest = regions.sizes.first().copied().filter(|size| *size >= least);
    let kept = |region: &Option<u32>| match (largest, region) {
        (None, _) => true,
        (Some(size), Some(region)) => regions.sizes[*region as usize] == size,
        (Some(_), None) => false,
    };
    for (value, region) in image.voxels.iter_mut().zip(&regions.of_voxels) {
        *value = if kept(region) { 1.0 } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(shape: [usize; 3], share: f32, seed: u64) -> Volume {
        let mut state = seed;
        let mut volume = Volume::filled(Grid::axis_aligned(shape, [1.0; 3]), 0.0);
        for value in &mut volume.voxels {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *value = if ((state >> 40) as f32 / (1 << 24) as f32) < share { 1.0 } else { 0.0 };
        }
        volume
    }

    /// Whether a condition holds for any voxel of the ball around a voxel, by trying all voxels.
    fn any_in_ball(volume: &Volume, voxel: usize, radius: i64, condition: impl Fn(f32) -> bool) -> bool {
        let [nx, ny, _] = volume.grid.shape;
        let place = |n: usize| [n % nx, n / nx % ny, n / (nx * ny)].map(|at| at as i64);
        let here = place(voxel);
        volume.voxels.iter().enumerate().any(|(other, value)| {
            let there = place(other);
            let square: i64 = (0..3).map(|axis| (here[axis] - there[axis]).pow(2)).sum();
            square * 4 <= (2 * radius + 1).pow(2) && condition(*value)
        })
    }

    #[test]
    fn binary_operations_are_those_of_all_pairs() {
        for (radius, seed) in [(1, 1), (2, 2), (3, 3)] {
            let image = random([9, 8, 7], 0.04 * radius as f32, seed);
            let [mut dilated, mut eroded] = [image.clone(), image.clone()];
            eroded.voxels.iter_mut().for_each(|value| *value = 1.0 - *value);
            let inverse = eroded.clone();
            binary(&mut dilated, Operation::Dilate, radius, 1.0).unwrap();
            binary(&mut eroded, Operation::Erode, radius, 1.0).unwrap();
            for voxel in 0..image.voxels.len() {
                let near = any_in_ball(&image, voxel, radius as i64, |value| value == 1.0);
                assert_eq!(dilated.voxels[voxel] == 1.0, near);
                let far = !any_in_ball(&inverse, voxel, radius as i64, |value| value == 0.0);
                assert_eq!(eroded.voxels[voxel] == 1.0, far);
            }
        }
    }

    #[test]
    fn grey_operations_of_two_values_are_the_binary_ones() {
        // The two differ at the faces of an image, where ITK's filters take other values for what lies outside.
        let inside = |[nx, ny, nz]: [usize; 3], voxel: usize| {
            let within = |at: usize, count: usize| count == 1 || (4..count - 4).contains(&at);
            within(voxel % nx, nx) && within(voxel / nx % ny, ny) && within(voxel / (nx * ny), nz)
        };
        for operation in [Operation::Erode, Operation::Dilate, Operation::Open, Operation::Close] {
            for shape in [[15, 14, 13], [19, 18, 1]] {
                let mut as_grey = random(shape, 0.5, 5);
                as_grey.voxels.iter_mut().enumerate().for_each(|(n, value)| *value *= f32::from(inside(shape, n)));
                let mut as_binary = as_grey.clone();
                grey(&mut as_grey, operation, 2).unwrap();
                binary(&mut as_binary, operation, 2, 1.0).unwrap();
                assert_eq!(as_grey.voxels, as_binary.voxels, "{operation:?} {shape:?}");
            }
        }
    }

    #[test]
    fn holes_are_filled_and_the_largest_region_is_kept() {
        let grid = Grid::axis_aligned([6, 5, 1], [1.0; 3]);
        let image = Volume {
            grid,
            voxels: vec![
                1., 1., 1., 0., 0., 0., //
                1., 0., 1., 0., 1., 0., //
                1., 1., 1., 0., 0., 0., //
                0., 0., 0., 0., 0., 0., //
                0., 0., 0., 0., 2., 2.,
            ],
        };
        let mut filled = image.clone();
        fill_holes(&mut filled, Some(2.0));
        assert_eq!(filled.voxels[7], 1.0);
        assert_eq!(filled.voxels.iter().sum::<f32>(), image.voxels.iter().sum::<f32>() + 1.0);
        let mut largest = image.clone();
        keep_largest_region(&mut largest, 1);
        assert_eq!(largest.voxels.iter().sum::<f32>(), 8.0);
        keep_largest_region(&mut largest, 50);
        assert!(largest.voxels.iter().all(|value| *value == 1.0), "ANTs gives 1 everywhere if no region counts");
    }
}
