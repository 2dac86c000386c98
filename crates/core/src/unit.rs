//! The unit of length that suits the object in an image.

use nalgebra::{Matrix3, Vector3};

use crate::{AffineTransform, Grid};

/// A unit of length: a power of two, mm. Searches measure lengths in the unit that suits the object, so that the lengths
/// they are tuned with, in mm of a human head, suit a head of any size.
///
/// Multiplication by a power of two is exact. So images whose headers differ by such a factor give the same numbers in
/// their units, to the bit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    mm: f64,
}

/// The smallest extent of an object whose unit is 1 mm ([`Unit::of_extent`]), mm; the largest is less than twice as
/// long. Measured: whole human brains 38 to 41 mm, slabs of 60 mm the same, whole heads 42 to 53 mm, a marmoset's brain
/// 10 mm, a mouse's 3.3 mm. A smaller unit costs time, a larger one detail, so the range reaches farther up than down.
const LEAST_EXTENT_MM: f64 = 32.0;

/// The shortest longest side of a field of view whose unit is probably 1 mm, mm.
const LEAST_FIELD_MM: f64 = 160.0;

/// Most voxels along an axis from which an extent is measured.
const MOST_SAMPLES: usize = 64;

/// Extent of the object in an image, mm: the standard deviation of its mass along its longest principal axis. The mass of
/// a voxel is its intensity above `nothing`. If all lengths of the grid are multiplied by a power of two, so is the
/// extent, exactly.
pub fn extent_mm(grid: &Grid, voxels: &[f32], nothing: f32) -> f64 {
    let [nx, ny, nz] = grid.shape;
    let step = grid.shape.map(|count| count.div_ceil(MOST_SAMPLES));
    // Lengths are counted in parts of the field of view, so that their unit does not matter.
    let whole = grid.longest_side_mm();
    let axes = grid.spacing / whole;
    let (mut mass, mut first, mut second) = (0.0, Vector3::zeros(), Matrix3::zeros());
    for k in (0..nz).step_by(step[2]) {
        for j in (0..ny).step_by(step[1]) {
            for i in (0..nx).step_by(step[0]) {
                let own = f64::from(voxels[(k * ny + j) * nx + i] - nothing);
                if own > 0.0 && own.is_finite() {
                    let at = Vector3::new(i as f64, j as f64, k as f64).component_mul(&axes);
                    mass += own;
                    first += own * at;
                    second += own * at * at.transpose();
                }
            }
        }
    }
    if mass <= 0.0 {
        return 0.0;
    }
    let mean = first / mass;
    whole * (second / mass - mean * mean.transpose()).symmetric_eigenvalues().max().max(0.0).sqrt()
}

impl Unit {
    /// The unit of a human head.
    pub const MILLIMETRE: Unit = Unit { mm: 1.0 };

    /// The unit for an object of this extent, mm: the standard deviation of its mass along its longest principal axis.
    /// It is 1 mm for human heads and brains. If all spacings are multiplied by a power of two, so is the unit.
    pub fn of_extent(extent_mm: f64) -> Unit {
        Unit::of_ratio(extent_mm / LEAST_EXTENT_MM)
    }

    /// The unit that an object probably has that fills most of a field of view. It serves for estimates without the
    /// voxels of the image.
    pub fn of_field(grid: &Grid) -> Unit {
        Unit::of_ratio(grid.longest_side_mm() / LEAST_FIELD_MM)
    }

    /// The largest power of two, mm, that is not larger than a ratio; 1 mm for a ratio that is no positive number.
    pub fn of_ratio(ratio: f64) -> Unit {
        if !(ratio >= f64::MIN_POSITIVE && ratio.is_finite()) {
            return Unit::MILLIMETRE;
        }
        // Without the fraction, a positive number is a power of two. A logarithm would round.
        const FRACTION: u64 = (1 << (f64::MANTISSA_DIGITS - 1)) - 1;
        Unit { mm: f64::from_bits(ratio.to_bits() & !FRACTION) }
    }

    /// This unit, measured in another one instead of in mm.
    pub fn per(self, other: Unit) -> Unit {
        Unit { mm: self.mm / other.mm }
    }

    /// Length of the unit, mm.
    pub fn mm(self) -> f64 {
        self.mm
    }

    /// A grid in mm, with its lengths in this unit.
    pub fn grid(self, grid: &Grid) -> Grid {
        Grid { spacing: grid.spacing / self.mm, origin: grid.origin / self.mm, ..grid.clone() }
    }

    /// A transform between worlds in mm, as a transform between worlds in this unit.
    pub fn transform(self, transform: &AffineTransform) -> AffineTransform {
        AffineTransform { translation: transform.translation / self.mm, ..*transform }
    }

    /// A transform between worlds in this unit, as a transform between worlds in mm.
    pub fn transform_in_mm(self, transform: &AffineTransform) -> AffineTransform {
        AffineTransform { translation: transform.translation * self.mm, ..*transform }
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::{Matrix3, Vector3};

    use super::*;

    #[test]
    fn units_are_powers_of_two_that_follow_the_extent() {
        for (extent_mm, expected) in [
            (32.0, 1.0),
            (38.0, 1.0),
            (53.0, 1.0),
            (63.9, 1.0),
            (64.0, 2.0),
            (31.9, 0.5),
            (10.2, 0.25),
            (3.3, 0.0625),
        ] {
            assert_eq!(Unit::of_extent(extent_mm).mm(), expected, "{extent_mm} mm");
            for power in [-40, -4, -1, 1, 4, 40] {
                let factor = 2f64.powi(power);
                assert_eq!(Unit::of_extent(factor * extent_mm).mm(), factor * expected, "{extent_mm} mm × 2^{power}");
            }
        }
        for nothing in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Unit::of_extent(nothing), Unit::MILLIMETRE);
        }
        let field = |mm: f64| Unit::of_field(&Grid::axis_aligned([100; 3], [mm / 100.0, 0.01, 0.01])).mm();
        assert_eq!([256.0, 160.0, 40.0, 16.0].map(field), [1.0, 1.0, 0.25, 0.0625]);
    }

    #[test]
    fn the_extent_is_that_of_the_longest_axis() {
        // A box of 40 by 20 by 10 mm: the standard deviation along a side is its length over √12.
        let grid = Grid::axis_aligned([130, 40, 20], [0.5, 1.0, 2.0]);
        let inside = |n: usize| (10..90).contains(&(n % 130)) && (5..25).contains(&(n / 130 % 40)) && n / 5200 < 5;
        let mut voxels: Vec<f32> = (0..grid.len()).map(|n| if inside(n) { 9.0 } else { 2.0 }).collect();
        voxels[0] = f32::NAN;
        let found = extent_mm(&grid, &voxels, 2.0);
        assert!((found - 40.0 / 12f64.sqrt()).abs() < 0.4, "{found}");
        for factor in [1.0 / 16.0, 16.0] {
            let scaled = Grid { spacing: grid.spacing * factor, ..grid.clone() };
            assert_eq!(extent_mm(&scaled, &voxels, 2.0), factor * found);
        }
        assert_eq!(extent_mm(&grid, &voxels, 9.0), 0.0);
    }

    #[test]
    fn lengths_come_back_exactly() {
        let unit = Unit::of_extent(3.3);
        let transform =
            AffineTransform { matrix: Matrix3::new_scaling(1.1), translation: Vector3::new(0.1, -3.7, 1e3) };
        assert_eq!(unit.transform_in_mm(&unit.transform(&transform)), transform);
        let grid = unit.grid(&Grid::axis_aligned([4, 5, 6], [0.05, 0.1, 0.3]));
        assert_eq!(grid.spacing, Vector3::new(0.05, 0.1, 0.3) * 16.0);
        let point = nalgebra::Point3::new(0.3, -0.7, 1.9);
        let found = unit.transform(&transform).apply(&(point * 16.0));
        assert_eq!(found, transform.apply(&point) * 16.0);
    }
}
