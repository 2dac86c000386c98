//! Distances in mm to the nearest voxel of a set: the exact Euclidean transform of Felzenszwalb and Huttenlocher 2012.

use antsreg_core::Grid;
use rayon::prelude::*;

/// Lines that a thread does at a time: neighbours in memory.
const LINES: usize = 64;

/// The distance of each voxel's centre to the nearest centre of the set, mm; infinite where the set is empty.
pub fn distance_mm(grid: &Grid, set: &[bool]) -> Vec<f32> {
    let mut squares: Vec<f32> = set.par_iter().map(|inside| if *inside { 0.0 } else { f32::INFINITY }).collect();
    // Each pass goes along the slowest axis and leaves it as the fastest: after three, the order is that of the start.
    for axis in [2, 1, 0] {
        squares = along_slowest(&squares, grid.shape[axis], grid.spacing[axis] as f32);
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

/// For every line of voxels along the slowest axis: the least of the squares plus the squared distance along the line. The axis
/// is the fastest of the result.
fn along_slowest(squares: &[f32], length: usize, spacing: f32) -> Vec<f32> {
    let lines = squares.len() / length;
    let mut all = vec![0.0; squares.len()];
    all.par_chunks_mut(length * LINES).enumerate().for_each(|(block, block_out)| {
        let mut values = vec![0.0; length];
        let (mut tops, mut from) = (Vec::with_capacity(length), Vec::with_capacity(length));
        for (n, out) in block_out.chunks_mut(length).enumerate() {
            let line = block * LINES + n;
            values.iter_mut().enumerate().for_each(|(at, value)| *value = squares[at * lines + line]);
            lower_envelope(&values, spacing, (&mut tops, &mut from), out);
        }
    });
    all
}

/// The lower envelope of the parabolas over the voxels of a line. `tops` are the voxels whose parabolas it has, `from` where
/// each of these begins, mm.
fn lower_envelope(values: &[f32], spacing: f32, (tops, from): (&mut Vec<usize>, &mut Vec<f32>), out: &mut [f32]) {
    tops.clear();
    from.clear();
    for n in (0..values.len()).filter(|n| values[*n].is_finite()) {
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
