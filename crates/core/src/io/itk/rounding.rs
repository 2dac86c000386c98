//! Warps rounded for files: little more than half as large when compressed, and folded nowhere by it.

use nalgebra::Matrix3;
use rayon::prelude::*;

use crate::DisplacementField;

/// Displacements are rounded to multiples of this, mm: each component by at most half of it, 0.0005 mm, where inverses miss by
/// hundredths. As a power of two it leaves zeros in the last bits.
pub const STEP_MM: f32 = 1.0 / 1024.0;

/// A number of this size has no bits below the step: added and taken away again, it rounds.
const SHIFT: f32 = 1.5 * (1 << 23) as f32 * STEP_MM;
/// Components that are not smaller stay as they are, mm.
const LARGEST: f32 = 4096.0;

/// Voxels of a row that are looked at together.
const CHUNK: usize = 8;

/// A component of a displacement, mm, rounded.
#[inline(always)]
pub(super) fn rounded(value: f32) -> f32 {
    if value.abs() < LARGEST { (value + SHIFT) - SHIFT } else { value }
}

/// Whether a field, RAS mm, may be rounded: whether no corner of its trilinear cells folds then.
///
/// Rounding moves an edge of a cell by at most δ = √3·2⁻¹⁰ mm, so a determinant of edges of at most ℓ mm by at most
/// 3ℓ²δ + 3ℓδ² + δ³. On voxels of 1 mm that is less than 0.01, the least that registrations leave, for edges of up to 1.4 mm. It
/// does not hold for longer edges and smaller voxels; so the determinants of the rounded field are computed, but where
/// displacements are so much alike that none can be near zero.
pub fn may_be_rounded(field: &DisplacementField) -> bool {
    let [nx, ny, nz] = field.grid.shape;
    let corners = Corners::of(field);
    (0..ny * nz).into_par_iter().with_min_len(16).all(|row| {
        let (j, k) = (row % ny, row / ny);
        let opens = |i: usize| corners.smallest_determinant([i, j, k]) > 0.0;
        let inside = |at: usize, n: usize| at > 0 && at + 1 < n;
        if !inside(j, ny) || !inside(k, nz) || nx < 3 {
            return (0..nx).all(opens);
        }
        let first = |chunk: usize| 1 + chunk * CHUNK;
        let chunks = (nx - 2) / CHUNK;
        let open = |chunk: usize| {
            let sums = corners.sums([first(chunk), j, k]);
            // What is no number is not below the limit.
            let open =
                |n: usize| sums[3 * n..3 * n + 3].iter().all(|sum| *sum < corners.alike) || opens(first(chunk) + n);
            sums.iter().all(|sum| *sum < corners.alike) || (0..CHUNK).all(open)
        };
        opens(0) && (0..chunks).all(open) && (first(chunks)..nx).all(opens)
    })
}

/// The corners of the trilinear cells of a rounded field.
struct Corners<'a> {
    vectors: &'a [[f32; 3]],
    shape: [usize; 3],
    strides: [usize; 3],
    /// The step from voxel to voxel along each axis, mm.
    steps: [[f32; 3]; 3],
    /// The sign of the determinant of the steps.
    sign: f32,
    /// Below this no sum of differences makes a fold, mm.
    alike: f32,
}

impl<'a> Corners<'a> {
    fn of(field: &'a DisplacementField) -> Corners<'a> {
        let shape @ [nx, ny, _] = field.grid.shape;
        let to_world: Matrix3<f64> = field.grid.voxel_to_world().matrix;
        let steps = std::array::from_fn(|axis| std::array::from_fn(|row| to_world[(row, axis)] as f32));
        let sign = to_world.determinant().signum() as f32;
        // With directions D, spacings H and differences U, one column for each axis, a cell is (I + U·H⁻¹·Dᵀ)·D·H. The first
        // factor is not singular where no row of |U·H⁻¹·Dᵀ| sums up to 1, and a row sums up to no more than that of |U·H⁻¹|
        // times the largest column of |D|. Each difference is rounded by a step at most.
        let column = field.grid.direction.column_iter().map(|column| column.abs().sum()).fold(1.0, f64::max);
        let alike = (0.99 * field.grid.spacing.min() / column) as f32 - 3.0 * STEP_MM;
        Corners { vectors: &field.vectors, shape, strides: [1, nx, nx * ny], steps, sign, alike }
    }

    /// For each component of the displacements of a chunk, which begins at a voxel and whose voxels have neighbours on all sides:
    /// the differences to neighbours, not rounded, the larger one along each axis, summed over the axes.
    fn sums(&self, at: [usize; 3]) -> [f32; 3 * CHUNK] {
        let first = (0..3).map(|axis| at[axis] * self.strides[axis]).sum::<usize>();
        let chunk = |first: usize| self.vectors[first..first + CHUNK].as_flattened();
        let here = chunk(first);
        let mut sums = [0.0; 3 * CHUNK];
        for stride in self.strides {
            let (below, above) = (chunk(first - stride), chunk(first + stride));
            for (n, sum) in sums.iter_mut().enumerate() {
                let (down, up) = ((here[n] - below[n]).abs(), (above[n] - here[n]).abs());
                *sum += if down > up { down } else { up };
            }
        }
        sums
    }

    /// The smallest determinant at a voxel, of an edge along each axis to either side, mm³; at the border there is one side, and
    /// along an axis of one voxel the step. Not a number where any is none.
    fn smallest_determinant(&self, at: [usize; 3]) -> f32 {
        let here = (0..3).map(|axis| at[axis] * self.strides[axis]).sum::<usize>();
        let vector = |n: usize| self.vectors[n].map(rounded);
        let edges: [[[f32; 3]; 2]; 3] = std::array::from_fn(|axis| {
            let edge = |low: usize, high: usize| {
                let (low, high) = (vector(low), vector(high));
                std::array::from_fn(|c| self.steps[axis][c] + (high[c] - low[c]))
            };
            let below = (at[axis] > 0).then(|| edge(here - self.strides[axis], here));
            let above = (at[axis] + 1 < self.shape[axis]).then(|| edge(here, here + self.strides[axis]));
            [below.or(above), above.or(below)].map(|edge| edge.unwrap_or(self.steps[axis]))
        });
        let [a, b, c] = edges;
        let mut smallest = f32::INFINITY;
        for (b, c) in b.iter().flat_map(|b| c.iter().map(move |c| (b, c))) {
            let normal = [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]];
            for a in a {
                let determinant = self.sign * (a[0] * normal[0] + a[1] * normal[1] + a[2] * normal[2]);
                smallest = if determinant < smallest || determinant.is_nan() { determinant } else { smallest };
            }
        }
        smallest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grid;

    /// A field of small displacements, in which the middle voxel has `moved` ones.
    fn field(spacing: f64, moved: [f32; 3]) -> DisplacementField {
        let mut field = DisplacementField::zeros(Grid::axis_aligned([21, 5, 5], [spacing; 3]));
        let middle = field.vectors.len() / 2;
        field.vectors[middle] = moved;
        field
    }

    #[test]
    fn rounding_keeps_multiples_and_moves_others_by_half_a_step_at_most() {
        for value in [0.0, 3.0 * STEP_MM, -1.5, 4095.5, 5000.123, f32::MAX, -1e30] {
            assert_eq!(rounded(value), value);
        }
        for n in -2000i16..2000 {
            let value = f32::from(n) * 0.000_123_4 * (1.0 + f32::from(n).abs());
            let found = rounded(value);
            assert!((f64::from(found) - f64::from(value)).abs() <= f64::from(STEP_MM) / 2.0, "{value}");
            assert_eq!((found / STEP_MM).fract(), 0.0, "{value}");
        }
        assert!(rounded(-0.0001).is_sign_positive(), "no two zeros");
    }

    #[test]
    fn a_determinant_of_a_hundredth_stays_positive_as_the_bound_says() {
        // Edges of up to 1.4 mm with a determinant of 0.01, turned to many sides, each moved to the worst side.
        let delta = 3f64.sqrt() / 1024.0;
        let (first, second) = (nalgebra::Vector3::new(1.4, 0.0, 0.0), nalgebra::Vector3::new(0.0, 1.4, 0.0));
        for n in 0..200 {
            let (azimuth, height) = (f64::from(n) * 0.7, 0.01 / (1.4 * 1.4));
            let flat = (1.4f64.powi(2) - height * height).sqrt();
            let third = nalgebra::Vector3::new(flat * azimuth.cos(), flat * azimuth.sin(), height);
            let edges = [first, second, third];
            let determinant = |e: [nalgebra::Vector3<f64>; 3]| e[0].dot(&e[1].cross(&e[2]));
            assert!((determinant(edges) - 0.01).abs() < 1e-12);
            let normals = [second.cross(&third), third.cross(&first), first.cross(&second)];
            let worst = std::array::from_fn(|e| edges[e] - normals[e].normalize() * delta);
            assert!(determinant(worst) > 0.0, "{}", determinant(worst));
        }
    }

    #[test]
    fn fields_that_rounding_folds_are_found() {
        assert!(may_be_rounded(&field(1.0, [0.0; 3])) && may_be_rounded(&field(1.0, [0.6, 0.3, 0.0])));
        // One voxel comes to the next one by 0.0004 mm, which is rounded to nothing; by 0.0006 mm, to a step.
        let near = |left: f32| [1.0 - left, 0.0, 0.0];
        assert!(!may_be_rounded(&field(1.0, near(0.0004))));
        assert!(may_be_rounded(&field(1.0, near(0.0006))));
        // A voxel smaller than a step is rounded past the next one.
        assert!(!may_be_rounded(&field(0.0007, [0.0006, 0.0, 0.0])));
        for other in [f32::NAN, f32::INFINITY, -1.2] {
            assert!(!may_be_rounded(&field(1.0, [0.0, other, 0.0])), "{other}");
        }
    }

    #[test]
    fn it_tells_what_determinants_of_all_voxels_tell() {
        // Oblique, left-handed and flat grids, with displacements about as large as what folds.
        for (n, shape) in [[19, 6, 5], [9, 4, 1], [1, 7, 5]].into_iter().cycle().take(60).enumerate() {
            let mut grid = Grid::axis_aligned(shape, [1.0, 0.8, 1.3]);
            grid.direction = *nalgebra::Rotation3::from_euler_angles(0.3, -0.2, 0.5).matrix();
            if n % 2 == 1 {
                grid.direction.column_mut(0).neg_mut();
            }
            let mut field = DisplacementField::zeros(grid);
            let (mut state, size) = (n as u32 + 1, 0.1 + 0.02 * n as f32);
            for vector in &mut field.vectors {
                *vector = std::array::from_fn(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    size * ((state >> 8) as f32 / (1 << 24) as f32 - 0.5)
                });
            }
            let corners = Corners::of(&field);
            let [nx, ny, nz] = shape;
            let all = (0..nx * ny * nz).map(|n| [n % nx, n / nx % ny, n / (nx * ny)]);
            let expected = all.into_iter().all(|at| corners.smallest_determinant(at) > 0.0);
            assert_eq!(may_be_rounded(&field), expected, "case {n}");
        }
    }
}
