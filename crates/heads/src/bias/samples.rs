//! The voxels from which a bias field is estimated (samples): every n-th voxel along each axis of a box that the
//! B-spline mesh covers.

use antsreg_core::Volume;
use antsreg_core::io::itk::ItkGeometry;
use rayon::prelude::*;

use super::axis::{Axis, AxisSamples};
use super::shrink::{self, Geometries};
use super::{Error, Options};

/// The voxels of an image from which the bias field is estimated (samples), with the logarithms of their intensities
/// and their weights.
#[derive(Debug)]
pub struct Samples {
    /// For each axis of the image: its number of voxels, and its position in the B-spline mesh.
    pub axes: [Axis; 3],
    /// For each axis of the image: the positions of the samples (voxels from which the bias field is estimated).
    pub along: [AxisSamples; 3],
    /// Logarithms of the image's intensities at the samples, the first axis fastest.
    pub logarithms: Vec<f32>,
    /// Weights of the samples in the B-spline fit; 0 for samples that are not used.
    pub weights: Vec<f32>,
    /// Number of samples that are used in the B-spline fit: those with a weight above 0.
    pub count: usize,
}

impl Samples {
    /// Takes the samples of an image, with their weights. Samples outside the mask (mask value at most 0) get the
    /// weight 0. A sample normally has the logarithm of its intensity. As in ITK, an intensity that is not positive is
    /// taken without logarithm. `geometries` tells how ITK rounds the positions of the samples; without it, half a voxel
    /// is rounded up.
    pub fn of(
        image: &Volume,
        mask: Option<&Volume>,
        weights: Option<&Volume>,
        geometries: Option<&Geometries>,
        options: &Options,
    ) -> Result<Samples, Error> {
        for (what, other) in [("mask", mask), ("image of weights", weights)] {
            let expected = image.grid.shape;
            if let Some(found) = other.map(|volume| volume.grid.shape).filter(|shape| *shape != expected) {
                return Err(Error::Shape { what, found, expected });
            }
        }
        let axes: [Axis; 3] = std::array::from_fn(|axis| Axis::of(&image.grid, axis, options.mesh));
        // An axis of one voxel is not shrunk. An axis with fewer voxels than the shrink factor keeps one sample.
        let shrink = axes.map(|axis| if axis.voxels == 1 { 1 } else { options.shrink });
        // ITK assumes other axes of slices, and rounds up.
        let geometries = geometries.filter(|_| !image.grid.is_slice());
        let first = shrink::first(&axes, shrink, geometries.map(|all| &all.image));
        let along = [0, 1, 2].map(|axis| axes[axis].samples(shrink[axis], first[axis]));
        // ITK rounds the positions of an image, of its mask and of its weights separately. If their headers differ in
        // the last digits, a sample takes its weight from a voxel beside the voxel of its intensity.
        let shift = |geometry: fn(&Geometries) -> &ItkGeometry| {
            let own = shrink::first(&axes, shrink, geometries.map(geometry));
            [0, 1, 2].map(|axis| own[axis] as isize - first[axis] as isize)
        };
        let (mask_shift, weights_shift) = (shift(|all| &all.mask), shift(|all| &all.weights));
        let shape = image.grid.shape;
        let sample = |voxel: [usize; 3]| {
            let value = image.voxels[(voxel[2] * shape[1] + voxel[1]) * shape[0] + voxel[0]];
            let weight = weights.map_or(1.0, |weights| beside(weights, voxel, weights_shift));
            let counts = mask.is_none_or(|mask| beside(mask, voxel, mask_shift) > 0.0) && weight > 0.0;
            let counts = counts && value.is_finite() && weight.is_finite();
            (if value > 0.0 { value.ln() } else { value }, if counts { weight } else { 0.0 })
        };
        let [along_x, along_y, along_z] = along.each_ref().map(|axis| &axis.voxels);
        let rows = along_z.par_iter().flat_map_iter(|z| along_y.iter().map(move |y| [*y, *z]));
        let (logarithms, kept): (Vec<f32>, Vec<f32>) =
            rows.flat_map_iter(|[y, z]| along_x.iter().map(move |x| sample([*x, y, z]))).unzip();
        let count = kept.iter().filter(|weight| **weight > 0.0).count();
        if count == 0 {
            return Err(Error::NoVoxels { shrink: options.shrink });
        }
        Ok(Samples { axes, along, logarithms, weights: kept, count })
    }

    /// Number of samples (voxels from which the bias field is estimated) along each axis of the image.
    pub fn shape(&self) -> [usize; 3] {
        [0, 1, 2].map(|axis| self.along[axis].voxels.len())
    }
}

/// Value of the voxel that lies beside another voxel by this number of voxels along each axis; 0 outside the volume.
fn beside(volume: &Volume, voxel: [usize; 3], shift: [isize; 3]) -> f32 {
    let [nx, ny, nz] = volume.grid.shape;
    let [x, y, z] = [0, 1, 2].map(|axis| voxel[axis].wrapping_add_signed(shift[axis]));
    if x < nx && y < ny && z < nz { volume.voxels[(z * ny + y) * nx + x] } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;
    use nalgebra::{Matrix3, Vector3};

    use super::*;
    use crate::bias::Mesh;

    /// Geometry of a T1-weighted head, or of its mask in another file, as read by SimpleITK 2.5.7 (ITK 5.4). The
    /// directions differ in the ninth digit.
    fn geometry(direction: [f64; 9]) -> ItkGeometry {
        ItkGeometry {
            direction: Matrix3::from_row_slice(&direction),
            spacing: Vector3::new(0.9101566076278687, 0.9101564884185791, 2.9999969005584717),
            origin: Vector3::new(-111.71299743652344, -120.36699676513672, -41.060001373291016),
        }
    }

    #[test]
    fn an_image_and_its_mask_are_rounded_separately() {
        let image = geometry([
            0.9992818504527292,
            -0.001046440789911854,
            -0.03787728442360129,
            0.004084304334759145,
            0.9967692483865501,
            0.0802146152988365,
            0.03767096778515804,
            -0.08031170794214917,
            0.9960576925144211,
        ]);
        let mask = geometry([
            0.9992818502976077,
            -0.0010464406620050667,
            -0.037877281943634884,
            0.004084304589938951,
            0.9967692483866836,
            0.08021461530638224,
            0.03767097187233146,
            -0.08031170794215993,
            0.9960576926081197,
        ]);
        let geometries = Geometries { image, mask, weights: image };
        let grid = Grid::axis_aligned([256, 256, 48], image.spacing.into());
        // ITK's shrink filter samples the image from the voxel 4n + 1 and the mask from the voxel 4n + 2 along the first
        // axis. Samples of both are at 4n + 2 along the second axis and at 4n along the third axis.
        let only = |x: usize, inside: f32, outside: f32| {
            let value =
                |at: usize| if [at % 4, at / 256 % 4, at / 65_536 % 4] == [x, 2, 0] { inside } else { outside };
            Volume { grid: grid.clone(), voxels: (0..grid.len()).map(value).collect() }
        };
        let (bright, inside) = (only(1, 2.0, 5.0), only(2, 1.0, 0.0));
        let samples = Samples::of(&bright, Some(&inside), None, Some(&geometries), &Options::default()).unwrap();
        assert!(samples.logarithms.iter().all(|value| *value == 2.0_f32.ln()));
        assert_eq!(samples.count, samples.weights.len());
        // Without geometries, half a voxel is rounded up for both.
        let up = Samples::of(&only(2, 2.0, 5.0), Some(&inside), None, None, &Options::default()).unwrap();
        assert!(up.logarithms.iter().all(|value| *value == 2.0_f32.ln()));
        assert_eq!(up.count, up.weights.len());
    }

    #[test]
    fn an_extent_of_one_distance_is_one_element() {
        // 0.8 mm in single precision, as in a header, is slightly more.
        let grid = Grid::axis_aligned([251, 252, 1], [f64::from(0.8_f32); 3]);
        let axis = |axis| Axis::of(&grid, axis, Mesh::DistanceMm(200.0));
        assert_eq!(axis(0), Axis { voxels: 251, padded: 251, before: 0, elements: 1 });
        assert_eq!(axis(1), Axis { voxels: 252, padded: 501, before: 124, elements: 2 });
        assert_eq!(axis(2), Axis { voxels: 1, padded: 1, before: 0, elements: 1 });
    }

    #[test]
    fn values_outside_the_volume_are_zero() {
        let grid = Grid::axis_aligned([2, 2, 2], [1.0; 3]);
        let volume = Volume { grid, voxels: (1..9).map(|n| n as f32).collect() };
        assert_eq!(beside(&volume, [0, 0, 0], [1, 1, 1]), 8.0);
        assert_eq!(beside(&volume, [1, 0, 1], [-1, 0, 0]), 5.0);
        for (voxel, shift) in [([0, 1, 0], [-1, 0, 0]), ([0, 1, 0], [0, 1, 0]), ([0, 0, 1], [0, 0, 1])] {
            assert_eq!(beside(&volume, voxel, shift), 0.0);
        }
    }
}
