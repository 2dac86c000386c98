//! The first voxel along each axis from which the bias field is estimated, as in ITK's shrink filter.
//!
//! The samples are centred in a box of voxels. The first sample is therefore at a voxel, or half-way between two
//! voxels. ITK computes its position in mm, and from it the voxel, so that rounding errors decide between the two. Here
//! the operations have ITK's order, so that the errors are the same.

use antsreg_core::io::itk::ItkGeometry;
use nalgebra::{Matrix3, Vector3};

use super::axis::Axis;

/// Geometries of the image, the mask and the weights from which a bias field is estimated, as ITK reads them. A mask or
/// weights without a file have the geometry of the image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Geometries {
    /// The geometry of the image.
    pub image: ItkGeometry,
    /// The geometry of the mask.
    pub mask: ItkGeometry,
    /// The geometry of the weights.
    pub weights: ItkGeometry,
}

/// Returns the first sample along each axis, counted from the first voxel of the box that the mesh covers. Half a voxel
/// is rounded as by ITK for an image of this geometry, or up if there is none.
pub fn first(axes: &[Axis; 3], shrink: [usize; 3], geometry: Option<&ItkGeometry>) -> [usize; 3] {
    let by_itk = geometry.and_then(|geometry| first_by_itk(axes, shrink, geometry));
    [0, 1, 2].map(|n| {
        let (axis, shrink) = (&axes[n], shrink[n]);
        // Twice the position of the first sample. An odd number means half a voxel.
        let twice = axis.padded - 1 - shrink * (axis.count(shrink) - 1);
        let down = by_itk.is_some_and(|by_itk| by_itk[n] < twice as f64 / 2.0);
        let first = if down { twice / 2 } else { twice.div_ceil(2) };
        // N4 in ITK counts voxels from the first voxel of the image, so that a box that extends before the image begins
        // at a negative index. ITK takes no sample before the first index in this box that is a multiple of the shrink
        // factor.
        first.max(axis.before % shrink)
    })
}

/// Returns the voxel of the first sample along each axis that ITK finds, counted from the first voxel of the box;
/// `None` if the geometry is not usable.
fn first_by_itk(axes: &[Axis; 3], shrink: [usize; 3], geometry: &ItkGeometry) -> Option<[f64; 3]> {
    let mm_to_index = geometry.mm_to_index()?;
    let fine = geometry.index_to_mm([1.0; 3]);
    let coarse = geometry.index_to_mm(shrink.map(|n| n as f64));
    let start = Vector3::from_fn(|n, _| -(axes[n].before as f64));
    let coarse_start = Vector3::from_fn(|n, _| -((axes[n].before / shrink[n]) as f64));
    let centre =
        |start: &Vector3<f64>, voxels: [usize; 3]| Vector3::from_fn(|n, _| start[n] + (voxels[n] - 1) as f64 / 2.0);
    let fine_centre = times(&fine, &centre(&start, axes.map(|axis| axis.padded))) + geometry.origin;
    let counts = [0, 1, 2].map(|n| axes[n].count(shrink[n]));
    let coarse_centre = times(&coarse, &centre(&coarse_start, counts)) + geometry.origin;
    // The coarse grid has the same centre as the fine grid.
    let coarse_origin = geometry.origin + (fine_centre - coarse_centre);
    let first = (0..3).fold(coarse_origin, |sum, n| sum + coarse.column(n) * coarse_start[n]);
    let index = times(&mm_to_index, &(first - geometry.origin));
    index.iter().all(|value| value.is_finite()).then(|| [0, 1, 2].map(|n| round(index[n]) - start[n]))
}

/// The product of a matrix and a vector. The terms of each element are added in the order of their index.
fn times(matrix: &Matrix3<f64>, vector: &Vector3<f64>) -> Vector3<f64> {
    Vector3::from_fn(|row, _| (0..3).fold(0.0, |sum, n| sum + matrix[(row, n)] * vector[n]))
}

/// Rounds to the nearest integer and half-integers up, as `RoundHalfIntegerUp` of ITK. Its operations on x86 are those
/// here. For numbers just below a half-integer, the sum may already be rounded up.
fn round(value: f64) -> f64 {
    ((2.0 * value + 0.5).round_ties_even() / 2.0).floor()
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;

    use super::super::Mesh;
    use super::*;

    /// For 200 images with random oblique headers, the axes along which ITK 5.4.5 rounds the first sample down, a bit
    /// for each axis. They were recorded from `itk.ShrinkImageFilter` with the factor 4, for the boxes of a mesh of
    /// 200 mm: the requested region of the filter's input begins at the first sample.
    const DOWN: &str = "\
        0100100014004006600000200000000200402000011000010120040000010000042000200400004000111024304200510020\
        0000220024000504000200004104060000000220000460006012003400014031002400000000002010030010020104244010";

    /// Random images. The same numbers as in the recording, operation by operation.
    struct Images {
        state: u32,
    }

    impl Images {
        fn number(&mut self, below: u32) -> f64 {
            self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from((self.state >> 16) % below)
        }

        fn next(&mut self) -> ([Axis; 3], ItkGeometry) {
            let [b, c, d] = [(); 3].map(|()| (self.number(2001) - 1000.0) / 1000.0);
            let norm = 1.0 + b * b + c * c + d * d;
            let rotation = Matrix3::new(
                1.0 + b * b - c * c - d * d,
                2.0 * (b * c - d),
                2.0 * (b * d + c),
                2.0 * (b * c + d),
                1.0 + c * c - b * b - d * d,
                2.0 * (c * d - b),
                2.0 * (b * d - c),
                2.0 * (c * d + b),
                1.0 + d * d - c * c - b * b,
            )
            .map(|value| value / norm);
            let single = |value: f64| f64::from(value as f32);
            let spacing = Vector3::from_fn(|_, _| single((500.0 + self.number(2500)) / 1000.0));
            let axes = Matrix3::from_fn(|row, column| single(rotation[(row, column)] * spacing[column]));
            let direction = Matrix3::from_fn(|row, column| {
                let length = axes.column(column).iter().fold(0.0, |sum, value| sum + value * value).sqrt();
                axes[(row, column)] / length
            });
            let origin = Vector3::from_fn(|_, _| single((self.number(40_001) - 20_000.0) / 100.0));
            let shape = [(); 3].map(|()| 20 + self.number(280) as usize);
            let grid = Grid::axis_aligned(shape, spacing.into());
            let axes = [0, 1, 2].map(|axis| Axis::of(&grid, axis, Mesh::DistanceMm(200.0)));
            (axes, ItkGeometry { direction, spacing, origin })
        }
    }

    #[test]
    fn half_a_voxel_is_rounded_as_by_itk() {
        let mut images = Images { state: 1 };
        for (case, down) in DOWN.bytes().enumerate() {
            let (axes, geometry) = images.next();
            let up = first(&axes, [4; 3], None);
            let found = first(&axes, [4; 3], Some(&geometry));
            let expected = [0, 1, 2].map(|axis| up[axis] - usize::from(down >> axis & 1));
            assert_eq!(found, expected, "image {case}");
        }
    }

    #[test]
    fn an_unusable_geometry_rounds_up() {
        let (axes, geometry) = Images { state: 1 }.next();
        for spacing in [0.0, f64::NAN] {
            let geometry = ItkGeometry { spacing: Vector3::repeat(spacing), ..geometry };
            assert_eq!(first(&axes, [4; 3], Some(&geometry)), first(&axes, [4; 3], None));
        }
    }

    #[test]
    fn sums_without_rounding_errors_round_up() {
        let mut images = Images { state: 7 };
        for _ in 0..500 {
            let (axes, geometry) = images.next();
            let direction = Matrix3::from_diagonal(&[-1.0, -1.0, 1.0].into());
            let upright =
                ItkGeometry { direction, spacing: Vector3::repeat(1.0), origin: geometry.origin.map(f64::round) };
            assert_eq!(first(&axes, [4; 3], Some(&upright)), first(&axes, [4; 3], None));
        }
    }
}
