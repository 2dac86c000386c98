//! Computes distances in mm to the border of a set of voxels, up to a limit: the exact Euclidean transform, one axis
//! after the other (Saito and Toriwaki 1994).

use antsreg_core::Grid;
use rayon::prelude::*;

/// The largest computed distances from the border of the set, mm. Voxels farther from the border get this largest
/// distance.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Largest computed distance of a voxel in the set from the set's border, mm.
    pub inside_mm: f32,
    /// Largest computed distance of a voxel outside the set from the set's border, mm.
    pub outside_mm: f32,
}

/// Signed distances: for each voxel of a set, the distance of its centre to the nearest centre of a voxel outside, mm;
/// for other voxels, minus the distance to the nearest centre of a voxel of the set.
pub fn signed_distance_mm(grid: &Grid, set: &[bool], limits: Limits) -> Vec<f32> {
    let [nx, ny, nz] = grid.shape;
    let steps = [0, 1, 2].map(|axis| grid.spacing[axis] as f32);
    let squares = [limits.outside_mm, limits.inside_mm].map(|mm| mm * mm);
    let mut first = vec![0.0; set.len()];
    first.par_chunks_mut(nx).zip(set.par_chunks(nx)).with_min_len(64).for_each(|(out, set)| {
        out.iter_mut().zip(set).for_each(|(out, inside)| *out = squares[usize::from(*inside)]);
        sweep(out.iter_mut().zip(set), steps[0]);
        sweep(out.iter_mut().zip(set).rev(), steps[0]);
        out.iter_mut().zip(set).filter(|(_, inside)| !**inside).for_each(|(out, _)| *out = -*out);
    });
    let mut second = vec![0.0; set.len()];
    across_rows(&first, &mut second, nx, [1, ny], steps[1]);
    across_rows(&second, &mut first, nx, [ny, nz], steps[2]);
    first.par_iter_mut().for_each(|square| *square = square.abs().sqrt().copysign(*square));
    first
}

/// For each voxel in a row, computes the squared distance to the nearest earlier voxel on the other side of the set's
/// border. Stores this squared distance if it is smaller than the stored one.
fn sweep<'a>(row: impl Iterator<Item = (&'a mut f32, &'a bool)>, step: f32) {
    // Number of steps since the last voxel outside the set, and since the last voxel in the set.
    let mut since = [f32::INFINITY; 2];
    for (square, inside) in row {
        since = since.map(|count| count + 1.0);
        since[usize::from(*inside)] = 0.0;
        let mm = since[usize::from(!*inside)] * step;
        *square = square.min(mm * mm);
    }
}

/// Extends the squared distances to the border of a set of voxels by one more axis. The distances are positive in the
/// set and negative outside. Along this axis there are `length` rows of `width` voxels; two neighbouring rows are
/// `stride` rows apart in memory.
fn across_rows(squares: &[f32], out: &mut [f32], width: usize, [stride, length]: [usize; 2], step: f32) {
    out.par_chunks_mut(width).enumerate().with_min_len(16).for_each_init(Vec::new, |sides, (row, out)| {
        let at = row / stride % length;
        let line = row - at * stride;
        let along = |place: usize| &squares[(line + place * stride) * width..][..width];
        sides.clear();
        sides.extend(along(at).iter().map(|square| 1.0_f32.copysign(*square)));
        out.iter_mut().zip(along(at)).for_each(|(out, square)| *out = square.abs());
        let mut largest = maximum(out);
        for apart in 1..=at.max(length - 1 - at) {
            let mm = apart as f32 * step;
            if mm * mm >= largest {
                break;
            }
            let before = at.checked_sub(apart);
            for place in before.into_iter().chain((at + apart < length).then_some(at + apart)) {
                lower(out, along(place), sides, mm * mm);
            }
            largest = maximum(out);
        }
        out.iter_mut().zip(&*sides).for_each(|(out, side)| *out *= side);
    });
}

/// Compares the voxels of a row with those of another row, and lowers the squared distances to the set's border where
/// the other row gives a smaller value. The squared distance between the rows is `apart`. If two compared voxels are on
/// the same side of the border, this value is the squared distance of the other voxel plus `apart`. If not, the border
/// lies between the voxels, and the value is `apart`.
fn lower(out: &mut [f32], row: &[f32], sides: &[f32], apart: f32) {
    for ((out, square), side) in out.iter_mut().zip(row).zip(sides) {
        let beyond = square * side;
        let through = if beyond > 0.0 { beyond + apart } else { apart };
        *out = if through < *out { through } else { *out };
    }
}

/// Returns the largest of the values, at least 0. Eight values are compared at a time, so that the compiler uses vector
/// instructions.
fn maximum(values: &[f32]) -> f32 {
    let greater = |a: f32, b: f32| if b > a { b } else { a };
    let (eights, rest) = values.as_chunks::<8>();
    let largest = eights.iter().fold([0.0; 8], |most, eight| std::array::from_fn(|n| greater(most[n], eight[n])));
    largest.iter().chain(rest).copied().fold(0.0, greater)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_a_search_among_all() {
        let grid = Grid::axis_aligned([7, 6, 5], [1.0, 1.5, 3.0]);
        let place = |n: usize| [(n % 7) as f32, (n / 7 % 6) as f32 * 1.5, (n / 42) as f32 * 3.0];
        for (far, limits) in [
            (100.0, Limits { inside_mm: 100.0, outside_mm: 100.0 }),
            (2.0, Limits { inside_mm: 2.0, outside_mm: 2.5 }),
        ] {
            let set: Vec<bool> = (0..grid.len()).map(|n| (n * 31) % 37 < 9 || n % 7 > 4).collect();
            for (n, found) in signed_distance_mm(&grid, &set, limits).into_iter().enumerate() {
                let to = |m: usize| place(n).iter().zip(place(m)).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt();
                let others = (0..grid.len()).filter(|m| set[*m] != set[n]);
                let expected = others.map(to).fold(f32::INFINITY, f32::min);
                let expected = if set[n] { expected.min(limits.inside_mm) } else { -expected.min(limits.outside_mm) };
                assert!((found - expected).abs() < 1e-4, "{n}: {found} and {expected}, at most {far}");
            }
        }
        let limits = Limits { inside_mm: 5.0, outside_mm: 7.0 };
        assert!(signed_distance_mm(&grid, &vec![false; grid.len()], limits).iter().all(|mm| *mm == -7.0));
        assert!(signed_distance_mm(&grid, &vec![true; grid.len()], limits).iter().all(|mm| *mm == 5.0));
    }
}
