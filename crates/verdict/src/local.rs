//! Squared correlation of two images in small windows, which no contrast and no shading changes much.

use antsreg_core::Grid;
use rayon::prelude::*;

/// Half the width of a window, voxels: a window has 5 voxels along each axis.
const RADIUS: usize = 2;

/// The mean of the squared correlation in windows around the voxels that count. A window is weighted by how much the
/// fixed image varies in it. Only voxels that have data are in a window. 0 if no window counts.
pub(crate) fn local_correlation(
    grid: &Grid,
    [fixed, moving]: [&[f32]; 2],
    counts: &[bool],
    has_data: &[bool],
) -> f64 {
    let Some([first, last]) = grid.bounds_of(counts, |counts| *counts) else { return 0.0 };
    // The windows around the voxels that count lie in this box.
    let first = first.map(|index| index.saturating_sub(RADIUS));
    let shape: [usize; 3] = std::array::from_fn(|axis| (last[axis] + RADIUS + 1).min(grid.shape[axis]) - first[axis]);
    let [nx, ny, _] = grid.shape;
    let rows = (0..shape[2]).flat_map(|z| (0..shape[1]).map(move |y| (y, z)));
    let voxels: Vec<usize> = rows
        .map(|(y, z)| first[0] + nx * (first[1] + y + ny * (first[2] + z)))
        .flat_map(|start| start..start + shape[0])
        .collect();
    let term = |term: usize| {
        let value = |n: &usize| {
            let [a, b] = [f64::from(fixed[*n]), f64::from(moving[*n])];
            if has_data[*n] { [1.0, a, b, a * a, b * b, a * b][term] } else { 0.0 }
        };
        box_sums(voxels.iter().map(value).collect(), shape)
    };
    let sums: Vec<Vec<f64>> = (0..6).into_par_iter().map(term).collect();
    let (mut sum, mut weights) = (0.0, 0.0);
    for (at, _) in voxels.iter().enumerate().filter(|(_, n)| counts[**n] && has_data[**n]) {
        let count = sums[0][at];
        let [a, b, aa, bb, ab] = std::array::from_fn(|term| sums[term + 1][at] / count);
        let [of_fixed, of_moving] = [aa - a * a, bb - b * b];
        if count < 10.0 || of_fixed <= 1e-9 {
            continue;
        }
        weights += of_fixed;
        if of_moving > 1e-9 {
            sum += (ab - a * b).powi(2) / of_moving;
        }
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// Sums over the window around each voxel; the window ends at the border of the image.
fn box_sums(values: Vec<f64>, shape: [usize; 3]) -> Vec<f64> {
    let strides = [1, shape[0], shape[0] * shape[1]];
    (0..3).filter(|axis| shape[*axis] > 1).fold(values, |values, axis| {
        let (length, stride) = (shape[axis], strides[axis]);
        let mut sums = vec![0.0; values.len()];
        for (from, to) in values.chunks(length * stride).zip(sums.chunks_mut(length * stride)) {
            for n in 0..length {
                let to = &mut to[n * stride..][..stride];
                for m in n.saturating_sub(RADIUS)..(n + RADIUS + 1).min(length) {
                    to.iter_mut().zip(&from[m * stride..]).for_each(|(sum, value)| *sum += value);
                }
            }
        }
        sums
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn box_sums_are_those_of_a_naive_loop() {
        let shape = [7usize, 5, 4];
        let values: Vec<f64> = (0..140).map(|n| ((n * n) % 17) as f64).collect();
        let found = box_sums(values.clone(), shape);
        let near = |a: usize, b: usize| a.abs_diff(b) <= RADIUS;
        for n in 0..140 {
            let at = |n: usize| [n % 7, n / 7 % 5, n / 35];
            let inside = (0..140).filter(|m| (0..3).all(|axis| near(at(n)[axis], at(*m)[axis])));
            assert!((inside.map(|m| values[m]).sum::<f64>() - found[n]).abs() < 1e-9, "{n}");
        }
    }

    #[test]
    fn it_is_one_for_a_linear_map_and_low_for_noise() {
        let grid = Grid::axis_aligned([12, 11, 10], [2.0; 3]);
        let mut random = 1u32;
        let mut noise = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) as f32 / (1 << 24) as f32
        };
        let [first, second]: [Vec<f32>; 2] = std::array::from_fn(|_| (0..grid.len()).map(|_| noise()).collect());
        let (all, inverted) =
            (vec![true; grid.len()], first.iter().map(|value| 3.0 - 2.0 * value).collect::<Vec<_>>());
        assert!((local_correlation(&grid, [&first, &inverted], &all, &all) - 1.0).abs() < 1e-4);
        assert!(local_correlation(&grid, [&first, &second], &all, &all) < 0.05);
    }
}
