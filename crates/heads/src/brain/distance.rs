//! Distances in mm to the nearest voxel of a set: the exact Euclidean transform of Felzenszwalb and Huttenlocher 2012.

use antsreg_core::Grid;
use rayon::prelude::*;

/// The distance of each voxel's centre to the nearest centre of the set, mm; infinite where the set is empty.
pub fn distance_mm(grid: &Grid, set: &[bool]) -> Vec<f32> {
    let mut squares: Vec<f32> = set.iter().map(|inside| if *inside { 0.0 } else { f32::INFINITY }).collect();
    for axis in 0..3 {
        along(grid.shape, axis, grid.spacing[axis] as f32, &mut squares);
    }
    squares.into_par_iter().map(f32::sqrt).collect()
}

/// The distance to the edge of a set, mm: positive inside. The edge lies halfway between voxels on either side.
pub fn signed_distance_mm(grid: &Grid, set: &[bool]) -> Vec<f32> {
    let half = grid.spacing.min() as f32 / 2.0;
    let outside: Vec<bool> = set.iter().map(|inside| !inside).collect();
    let (to_set, to_rest) = (distance_mm(grid, set), distance_mm(grid, &outside));
    set.iter()
        .zip(to_set.into_iter().zip(to_rest))
        .map(|(inside, (out, within))| if *inside { within - half } else { half - out })
        .collect()
}

/// For every line of voxels along an axis: the lower envelope of the parabolas over its voxels.
fn along(shape: [usize; 3], axis: usize, spacing: f32, squares: &mut [f32]) {
    let length = shape[axis];
    let stride: usize = shape[..axis].iter().product();
    let line = |values: &[f32], out: &mut [f32]| {
        let mut tops: Vec<usize> = Vec::with_capacity(length);
        let mut from: Vec<f32> = Vec::with_capacity(length);
        for n in (0..length).filter(|n| values[*n].is_finite()) {
            let mut begins = f32::NEG_INFINITY;
            while let Some(&top) = tops.last() {
                let (a, b) = (top as f32 * spacing, n as f32 * spacing);
                begins = ((values[n] + b * b) - (values[top] + a * a)) / (2.0 * (b - a));
                if begins > from[tops.len() - 1] {
                    break;
                }
                tops.pop();
                from.pop();
                begins = f32::NEG_INFINITY;
            }
            tops.push(n);
            from.push(begins);
        }
        let mut at = 0;
        for (n, out) in out.iter_mut().enumerate() {
            let place = n as f32 * spacing;
            while at + 1 < tops.len() && from[at + 1] < place {
                at += 1;
            }
            *out = tops.get(at).map_or(f32::INFINITY, |top| {
                let apart = place - *top as f32 * spacing;
                values[*top] + apart * apart
            });
        }
    };
    // Blocks in which the axis is the slowest.
    squares.par_chunks_mut(stride * length).for_each(|block| {
        let (mut values, mut out) = (vec![0.0; length], vec![0.0; length]);
        for inner in 0..stride {
            (0..length).for_each(|n| values[n] = block[n * stride + inner]);
            line(&values, &mut out);
            (0..length).for_each(|n| block[n * stride + inner] = out[n]);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_a_search_among_all() {
        let grid = Grid::axis_aligned([7, 6, 5], [1.0, 1.5, 3.0]);
        let set: Vec<bool> = (0..grid.len()).map(|n| (n * 31) % 37 == 5).collect();
        let place = |n: usize| [(n % 7) as f32, (n / 7 % 6) as f32 * 1.5, (n / 42) as f32 * 3.0];
        for (n, found) in distance_mm(&grid, &set).into_iter().enumerate() {
            let to = |m: usize| place(n).iter().zip(place(m)).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt();
            let expected = (0..grid.len()).filter(|m| set[*m]).map(to).fold(f32::INFINITY, f32::min);
            assert!((found - expected).abs() < 1e-4, "{n}: {found} and {expected}");
        }
        assert!(distance_mm(&grid, &vec![false; grid.len()]).iter().all(|mm| mm.is_infinite()));
    }
}
