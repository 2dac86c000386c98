//! Shapes of labels: volume, surface, moments and box. ANTs' `LabelGeometryMeasures`.

use antsreg_core::{Grid, Volume};
use nalgebra::{Matrix3, Point3, SymmetricEigen, Vector3};

use crate::dimensions;

/// The shape of a label. For slices, volumes are areas and surfaces are lengths.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelShape {
    /// The label; not 0.
    pub label: u32,
    /// Number of voxels.
    pub count: usize,
    /// Volume, mm³.
    pub volume: f64,
    /// Surface by Crofton's formula, mm².
    pub surface: f64,
    /// Mean position of the voxels in the world, mm, RAS.
    pub centre: Point3<f64>,
    /// Variances of the positions along their principal axes in ascending order, mm²; two for slices.
    pub moments: Vec<f64>,
    /// First and last voxel of the label along each axis.
    pub bounds: [[usize; 3]; 2],
}

impl LabelShape {
    /// √(1 − (m/M)²) with the largest moment M and the second largest m; 0 if m is 0.
    pub fn eccentricity(&self) -> f64 {
        let [second, largest] = self.largest();
        if second > 0.0 { (1.0 - (second / largest).powi(2)).sqrt() } else { 0.0 }
    }

    /// √(M/m) with the largest moment M and the second largest m; 0 if m is 0.
    pub fn elongation(&self) -> f64 {
        let [second, largest] = self.largest();
        if second > 0.0 { (largest / second).sqrt() } else { 0.0 }
    }

    /// √(m₂/m₁) with the two smallest moments m₁ ≤ m₂; 0 if m₁ is 0.
    pub fn flatness(&self) -> f64 {
        if self.moments[0] > 0.0 { (self.moments[1] / self.moments[0]).sqrt() } else { 0.0 }
    }

    /// The surface of the ball of this volume, divided by the surface.
    pub fn roundness(&self) -> f64 {
        use std::f64::consts::PI;
        let of_ball = match self.moments.len() {
            2 => 2.0 * (PI * self.volume).sqrt(),
            _ => (36.0 * PI * self.volume * self.volume).cbrt(),
        };
        of_ball / self.surface
    }

    /// Lengths of the principal axes in ascending order, mm: four standard deviations.
    pub fn axes(&self) -> impl Iterator<Item = f64> {
        self.moments.iter().map(|moment| 4.0 * moment.max(0.0).sqrt())
    }

    fn largest(&self) -> [f64; 2] {
        let count = self.moments.len();
        [self.moments[count - 2], self.moments[count - 1]]
    }
}

/// Sums over the voxels of a label.
#[derive(Clone)]
struct Sums {
    count: usize,
    /// Sums of the indices along each axis, and of their products, which are exact.
    places: [i128; 3],
    products: [[i128; 3]; 3],
    /// How often lines of voxels enter or leave the label, by the axes along which the lines run: bit n for axis n.
    crossings: [usize; 8],
    bounds: [[usize; 3]; 2],
}

/// Measures the shape of each label of a label map, in ascending order. Labels are whole numbers; 0 is the background.
pub fn shapes(labels: &Volume) -> Vec<LabelShape> {
    let grid = &labels.grid;
    let map: Vec<u32> = labels.voxels.iter().map(|value| *value as u32).collect();
    let mut known: Vec<u32> = map.iter().copied().filter(|label| *label != 0).collect();
    known.sort_unstable();
    known.dedup();
    let none = Sums {
        count: 0,
        places: [0; 3],
        products: [[0; 3]; 3],
        crossings: [0; 8],
        bounds: [[usize::MAX; 3], [0; 3]],
    };
    let mut all = vec![none; known.len()];
    let (axes, [nx, ny, _]) = (dimensions(grid), grid.shape);
    let offsets = offsets(axes);
    for (voxel, label) in map.iter().enumerate() {
        let Ok(number) = known.binary_search(label) else { continue };
        let sums = &mut all[number];
        let place = [voxel % nx, voxel / nx % ny, voxel / (nx * ny)];
        sums.count += 1;
        for axis in 0..3 {
            sums.places[axis] += place[axis] as i128;
            (0..3).for_each(|other| sums.products[axis][other] += (place[axis] * place[other]) as i128);
            sums.bounds[0][axis] = sums.bounds[0][axis].min(place[axis]);
            sums.bounds[1][axis] = sums.bounds[1][axis].max(place[axis]);
        }
        for (offset, line) in &offsets {
            let neighbour = (0..3).rev().try_fold(0, |index, axis| {
                let at = place[axis].checked_add_signed(offset[axis]).filter(|at| *at < grid.shape[axis])?;
                Some(index * grid.shape[axis] + at)
            });
            if neighbour.is_none_or(|neighbour| map[neighbour] != *label) {
                sums.crossings[*line] += 1;
            }
        }
    }
    known.into_iter().zip(all).map(|(label, sums)| shape(grid, axes, label, &sums)).collect()
}

/// The offsets to all neighbours of a voxel, and the axes along which they lie: bit n for axis n.
fn offsets(axes: usize) -> Vec<([isize; 3], usize)> {
    let depth = if axes == 3 { -1..=1 } else { 0..=0 };
    let all = depth.flat_map(|z| (-1..=1).flat_map(move |y| (-1..=1).map(move |x| [x, y, z])));
    let line = |offset: [isize; 3]| (0..3).filter(|axis| offset[*axis] != 0).map(|axis| 1 << axis).sum();
    all.map(|offset| (offset, line(offset))).filter(|(_, line)| *line != 0).collect()
}

fn shape(grid: &Grid, axes: usize, label: u32, sums: &Sums) -> LabelShape {
    let count = sums.count as f64;
    // The variances are differences of whole numbers: that of a flat label across its plane is exactly 0.
    let variances = Matrix3::from_fn(|a, b| {
        let difference = sums.count as i128 * sums.products[a][b] - sums.places[a] * sums.places[b];
        difference as f64 / (count * count) * grid.spacing[a] * grid.spacing[b]
    });
    let mut moments: Vec<f64> = match axes {
        2 => variances.fixed_view::<2, 2>(0, 0).into_owned().symmetric_eigenvalues().iter().copied().collect(),
        _ => SymmetricEigen::new(variances).eigenvalues.iter().copied().collect(),
    };
    moments.sort_unstable_by(f64::total_cmp);
    // What remains of a moment that is 0 after the rounding of the eigenvalues.
    let rounding = f64::EPSILON * moments[moments.len() - 1];
    moments.iter_mut().filter(|moment| **moment <= rounding).for_each(|moment| *moment = 0.0);
    let each: f64 = (0..axes).map(|axis| grid.spacing[axis]).product();
    LabelShape {
        label,
        count: sums.count,
        volume: count * each,
        surface: surface(grid, axes, each, &sums.crossings),
        centre: grid.voxel_to_world().apply(&Vector3::from(sums.places.map(|sum| sum as f64 / count)).into()),
        moments,
        bounds: sums.bounds,
    }
}

/// Crofton's formula: the surface is proportional to the number of crossings of lines in all directions, weighted by the
/// distances of the lines and the solid angles around the directions (Legland, Kiêu & Devaux 2007), as in ITK.
fn surface(grid: &Grid, axes: usize, each: f64, crossings: &[usize; 8]) -> f64 {
    use std::f64::consts::PI;
    /// Share of the sphere that is nearest to a direction and its opposite: along one axis, two and three.
    const OF_SPHERE: [f64; 3] = [2.0 * 0.04577789120476, 2.0 * 0.03698062787608, 2.0 * 0.03519563978232];
    let lines = (1..1 << axes).map(|line: usize| {
        let square: f64 = (0..axes).filter(|axis| line >> axis & 1 == 1).map(|axis| grid.spacing[axis].powi(2)).sum();
        let weight = if axes == 2 { PI / 4.0 } else { 4.0 * OF_SPHERE[line.count_ones() as usize - 1] };
        weight * each / square.sqrt() * crossings[line] as f64 / 2.0
    });
    lines.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ball of radius 20 mm on voxels of 1 × 2 × 1 mm.
    fn ball() -> Volume {
        let grid = Grid::axis_aligned([50, 25, 50], [1.0, 2.0, 1.0]);
        let inside = |voxel: usize| {
            let at = [voxel % 50, 2 * (voxel / 50 % 25), voxel / 1250].map(|n| (n as f64 - 24.0).powi(2));
            if at.iter().sum::<f64>() <= 400.0 { 7.0 } else { 0.0 }
        };
        Volume { voxels: (0..grid.len()).map(inside).collect(), grid }
    }

    #[test]
    fn a_ball_is_measured() {
        use std::f64::consts::PI;
        let found = &shapes(&ball())[..];
        let [ball] = found else { panic!("{found:?}") };
        assert_eq!((ball.label, ball.bounds), (7, [[4, 2, 4], [44, 22, 44]]));
        let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
        near(ball.volume, 4.0 / 3.0 * PI * 8000.0);
        near(ball.surface, 4.0 * PI * 400.0);
        near(ball.roundness(), 1.0);
        // The variance along each axis of a ball of radius r is r²/5.
        ball.axes().for_each(|length| near(length, 4.0 * 80f64.sqrt()));
        assert!(ball.eccentricity() < 0.1 && ball.elongation() < 1.01 && ball.flatness() < 1.01);
    }
}
