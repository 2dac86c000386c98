//! The three axes of N4's B-spline mesh, copied to GPU memory for the kernels.

use std::sync::Arc;

use crate::Error;
use crate::bias::{MeshAxis, Reach};
use crate::cuda::buffer::Buffer;
use crate::cuda::device::Device;
use crate::cuda::launch::Argument;

/// Kernel argument with the layout of the structure `Axis` in `cu/bias.cu`: one axis of N4's B-spline mesh.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    first: u64,
    weights: u64,
    places: u64,
    pub(super) length: u32,
    points: u32,
}
impl Argument for Axis {}

impl Axis {
    /// Makes the kernel argument for a mesh axis with `length` positions (samples or voxels) and without control
    /// points, for kernels that do not evaluate the bias field.
    pub(super) fn without_points(length: usize) -> Axis {
        Axis { first: 0, weights: 0, places: 0, length: length as u32, points: 0 }
    }
}

/// Indices of the three sets of weights of a mesh axis: the B-spline weights, those for the numerators of the weighted
/// means (`MeshAxis::asked`), and the squared B-spline weights.
pub(super) const REACHED: usize = 0;
pub(super) const ASKED: usize = 1;
pub(super) const SQUARED: usize = 2;

/// The axes of a B-spline mesh in device memory, with the B-spline weights and with sets of weights computed from them.
pub(super) struct Axes {
    first: Buffer<u32>,
    /// For each set of weights, each axis, and each position (sample or voxel) along the axis: the weights of the four
    /// control points that influence the position.
    weights: Buffer<f64>,
    places: Buffer<[u32; 2]>,
    pub(super) lengths: [usize; 3],
    pub(super) points: [usize; 3],
}

impl Axes {
    /// Copies the axes of N4's B-spline mesh to the GPU. Each axis has several sets of weights: first the B-spline
    /// weights, then those in `further`.
    pub(super) fn new(
        device: &Arc<Device>,
        axes: &[MeshAxis; 3],
        further: &[[Vec<Reach>; 3]],
    ) -> Result<Axes, Error> {
        let reaches = axes.each_ref().map(MeshAxis::reaches);
        let first: Vec<u32> = reaches.iter().copied().flatten().map(|reach| reach.first as u32).collect();
        let further = further.iter().flatten().flatten();
        let weights: Vec<f64> =
            reaches.iter().copied().flatten().chain(further).flat_map(|reach| reach.weights).collect();
        let places: Vec<[u32; 2]> =
            axes.iter().flat_map(MeshAxis::places).map(|places| [places.start as u32, places.end as u32]).collect();
        Ok(Axes {
            first: Buffer::from_slice(device, &first)?,
            weights: Buffer::from_slice(device, &weights)?,
            places: Buffer::from_slice(device, &places)?,
            lengths: reaches.map(<[Reach]>::len),
            points: axes.each_ref().map(MeshAxis::points),
        })
    }

    /// Returns one axis of N4's B-spline mesh as a kernel argument: axis number `axis`, with its set of weights number
    /// `kind`.
    pub(super) fn axis(&self, axis: usize, kind: usize) -> Axis {
        let before: usize = self.lengths[..axis].iter().sum();
        let points_before: usize = self.points[..axis].iter().sum();
        let weight = 4 * (kind * self.lengths.iter().sum::<usize>() + before);
        Axis {
            first: self.first.pointer() + (size_of::<u32>() * before) as u64,
            weights: self.weights.pointer() + (size_of::<f64>() * weight) as u64,
            places: self.places.pointer() + (size_of::<[u32; 2]>() * points_before) as u64,
            length: self.lengths[axis] as u32,
            points: self.points[axis] as u32,
        }
    }

    /// Samples are summed over one axis after the other. Returns the number of sums after the first axis, after the
    /// first two, and after all three axes (then one sum for each control point).
    ///
    /// # Errors
    /// [`Error::TooLarge`]: there are too many sums for the kernels.
    pub(super) fn sizes(&self) -> Result<[usize; 3], Error> {
        let ([_, ny, nz], [px, py, pz]) = (self.lengths, self.points);
        let size = |factors: [usize; 3]| {
            let size = factors.into_iter().try_fold(1_usize, |size, factor| size.checked_mul(factor));
            size.filter(|size| *size <= i32::MAX as usize)
                .ok_or(Error::TooLarge { shape: factors, most: i32::MAX as usize })
        };
        Ok([size([px, ny, nz])?, size([px, py, nz])?, size([px, py, pz])?])
    }
}
