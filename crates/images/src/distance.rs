//! Exact Euclidean distances to sets of voxels (Felzenszwalb and Huttenlocher 2012), in mm or voxels.

use antsreg_core::Grid;
use rayon::prelude::*;

/// The squared distance of each voxel to the nearest voxel of the set; infinite if the set is empty. `steps` are the
/// distances of adjacent voxels along each axis.
pub fn squared_distances([nx, ny, nz]: [usize; 3], steps: [f64; 3], set: &[bool]) -> Vec<f64> {
    let mut squares: Vec<f64> = set.iter().map(|inside| if *inside { 0.0 } else { f64::INFINITY }).collect();
    squares.par_chunks_mut(nx).for_each_init(Line::default, |line, row| line.lower(row, steps[0]));
    squares.par_chunks_mut(nx * ny).for_each_init(Line::default, |line, slice| {
        for x in 0..nx {
            line.lower_strided(slice, x, nx, ny, steps[1]);
        }
    });
    if nz > 1 {
        // Columns along the third axis are not adjacent in memory: each row of columns is copied, lowered and returned.
        let rows: Vec<Vec<f64>> = (0..ny)
            .into_par_iter()
            .map_init(Line::default, |line, y| {
                let mut columns = vec![0.0; nx * nz];
                for z in 0..nz {
                    columns[z * nx..][..nx].copy_from_slice(&squares[(z * ny + y) * nx..][..nx]);
                }
                for x in 0..nx {
                    line.lower_strided(&mut columns, x, nx, nz, steps[2]);
                }
                columns
            })
            .collect();
        squares.par_chunks_mut(nx).enumerate().for_each(|(row, out)| {
            out.copy_from_slice(&rows[row % ny][row / ny * nx..][..nx]);
        });
    }
    squares
}

/// The signed distance of each voxel to the surface of a set, mm: the distance to the nearest voxel of the set that has
/// a neighbour outside, among 26 (8 in a slice); negative in the set. ITK's `SignedMaurerDistanceMapImageFilter`. If
/// the set or its complement is empty, distances are the square root of the largest number of single precision.
pub fn signed_distances(grid: &Grid, set: &[bool]) -> Vec<f32> {
    let [nx, ny, nz] = grid.shape;
    let is_surface = |voxel: usize| {
        let (x, y, z) = (voxel % nx, voxel / nx % ny, voxel / (nx * ny));
        let near = |at: usize, size: usize| at.saturating_sub(1)..(at + 2).min(size);
        set[voxel] && near(z, nz).any(|z| near(y, ny).any(|y| near(x, nx).any(|x| !set[(z * ny + y) * nx + x])))
    };
    let surface: Vec<bool> = (0..set.len()).into_par_iter().map(is_surface).collect();
    let squares = squared_distances(grid.shape, grid.spacing.into(), &surface);
    let distance = |(square, inside): (f64, &bool)| {
        let distance = square.min(f64::from(f32::MAX)).sqrt() as f32;
        if *inside { -distance } else { distance }
    };
    squares.into_iter().zip(set).map(distance).collect()
}

/// Work space for the lower envelope of the parabolas of a line of voxels.
#[derive(Default)]
struct Line {
    values: Vec<f64>,
    /// Positions of the voxels whose parabolas form the lower envelope, and where each begins.
    envelope: Vec<(usize, f64)>,
}

impl Line {
    /// Replaces each value of a line by the least of value + squared distance over the line.
    fn lower(&mut self, line: &mut [f64], step: f64) {
        let count = line.len();
        self.lower_strided(line, 0, 1, count, step);
    }

    /// Lowers the values at `first`, `first + stride`, …: `count` values.
    fn lower_strided(&mut self, all: &mut [f64], first: usize, stride: usize, count: usize, step: f64) {
        self.values.clear();
        self.values.extend((0..count).map(|n| all[first + n * stride]));
        self.envelope.clear();
        let at = |n: usize| n as f64 * step;
        for n in (0..count).filter(|n| self.values[*n].is_finite()) {
            let mut begin = f64::NEG_INFINITY;
            while let Some(&(last, from)) = self.envelope.last() {
                let (here, there) = (at(n), at(last));
                let cut =
                    ((self.values[n] + here * here) - (self.values[last] + there * there)) / (2.0 * (here - there));
                if cut > from {
                    begin = cut;
                    break;
                }
                self.envelope.pop();
            }
            self.envelope.push((n, begin));
        }
        let mut part = 0;
        for n in (0..count).filter(|_| !self.envelope.is_empty()) {
            while self.envelope.get(part + 1).is_some_and(|(_, from)| *from < at(n)) {
                part += 1;
            }
            let nearest = self.envelope[part].0;
            // The difference of whole numbers is exact, so that distances along an axis are.
            let apart = n.abs_diff(nearest) as f64 * step;
            all[first + n * stride] = self.values[nearest] + apart * apart;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_all_pairs() {
        let (shape, steps) = ([7, 6, 5], [1.0, 1.25, 2.0]);
        for every in [3, 17, 1000] {
            let set: Vec<bool> = (0..210).map(|n| (n * 7919) % every == 1).collect();
            let place = |n: usize| [n % 7, n / 7 % 6, n / 42];
            let squares = squared_distances(shape, steps, &set);
            for voxel in 0..210 {
                let to = |other: usize| {
                    let (a, b) = (place(voxel), place(other));
                    (0..3).map(|axis| (a[axis].abs_diff(b[axis]) as f64 * steps[axis]).powi(2)).sum::<f64>()
                };
                let least = (0..210).filter(|n| set[*n]).map(to).fold(f64::INFINITY, f64::min);
                assert!(squares[voxel] == least || (squares[voxel] - least).abs() < 1e-9, "{voxel}");
            }
        }
    }
}
