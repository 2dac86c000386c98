//! The voxels from which a bias field is estimated (samples): every n-th voxel along each axis of a box that the
//! B-spline mesh covers.

use antsreg_core::{Grid, Volume};
use antsreg_kernels::bias::Reach;
use rayon::prelude::*;

use super::spline;
use super::{Error, Mesh, Options};

/// One axis of an image, and its position in the B-spline mesh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    /// Number of voxels of the image along this axis.
    pub voxels: usize,
    /// Number of voxels, along this axis, of the box that the B-spline mesh covers; at least that of the image.
    pub padded: usize,
    /// Number of voxels, along this axis, by which the box that the B-spline mesh covers begins before the image.
    pub before: usize,
    /// Number of elements of the B-spline mesh of the coarsest level along this axis.
    pub elements: usize,
}

impl Axis {
    /// Places an axis of an image grid in the B-spline mesh.
    pub fn of(grid: &Grid, axis: usize, mesh: Mesh) -> Axis {
        let voxels = grid.shape[axis];
        match mesh {
            Mesh::Elements(elements) => Axis { voxels, padded: voxels, before: 0, elements: elements[axis] },
            Mesh::DistanceMm(distance) => {
                let extent = (voxels - 1) as f64 * grid.spacing[axis];
                let elements = ((extent / distance).ceil() as usize).max(1);
                // The B-spline mesh does not extend beyond the image along an axis of one voxel, the third axis of a
                // slice.
                let further = if voxels == 1 { 0.0 } else { elements as f64 * distance - extent };
                let padding = (further / grid.spacing[axis] + 0.5) as usize;
                Axis { voxels, padded: voxels + padding, before: padding / 2, elements }
            }
        }
    }

    /// Returns the B-spline control points that influence a voxel of the image along this axis. The mesh has `elements`
    /// elements over its box of voxels, which may extend beyond the image.
    pub fn reach(&self, voxel: usize, elements: usize) -> Reach {
        reach(voxel + self.before, self.padded, elements)
    }

    /// Returns the samples of this axis that lie in the image: every `shrink`th voxel of the box that the mesh covers.
    /// The samples are centred in the box, as in ITK's shrink filter.
    fn samples(&self, shrink: usize) -> AxisSamples {
        let count = (self.padded / shrink).max(1);
        let first = ((self.padded - 1) as f64 - (shrink * (count - 1)) as f64) / 2.0;
        // N4 in ITK counts voxels from the first voxel of the image, so that a box that extends before the image begins
        // at a negative index. ITK takes no sample before the first index in this box that is a multiple of the shrink
        // factor.
        let first = ((first + 0.5).floor() as usize).max(self.before % shrink);
        let voxel = |n: usize| (first + shrink * n).checked_sub(self.before).filter(|voxel| *voxel < self.voxels);
        let (numbers, voxels) = (0..count).filter_map(|n| Some((n, voxel(n)?))).unzip();
        AxisSamples { count, numbers, voxels }
    }
}

/// Positions, along one axis of an image, of the voxels from which a bias field is estimated (samples).
#[derive(Debug)]
pub struct AxisSamples {
    /// Number of samples along this axis in the whole box of voxels that the B-spline mesh covers.
    count: usize,
    /// Numbers of those samples that lie in the image. They are counted along this axis from the first sample of the
    /// box of voxels that the B-spline mesh covers.
    numbers: Vec<usize>,
    /// Voxel indices, along this axis of the image, of the samples that lie in the image.
    voxels: Vec<usize>,
}

impl AxisSamples {
    /// Returns the control points that influence each sample, for a mesh with this number of elements. As in ITK, the
    /// mesh of the fit spans the first to the last sample of the box, but the mesh of the evaluation spans the first to
    /// the last voxel. The field is therefore stretched by up to `shrink` − 1 voxels over the whole box.
    pub fn reaches(&self, elements: usize) -> Vec<Reach> {
        self.numbers.iter().map(|n| reach(*n, self.count, elements)).collect()
    }
}

/// Returns the control points that influence position `number` of `count` evenly spaced positions. The first and the
/// last position are the ends of the mesh.
fn reach(number: usize, count: usize, elements: usize) -> Reach {
    let last = (count - 1).max(1) as f64;
    spline::reach(elements as f64 * number as f64 / last, elements)
}

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
    /// taken without logarithm.
    pub fn of(
        image: &Volume,
        mask: Option<&Volume>,
        weights: Option<&Volume>,
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
        let along = axes.map(|axis| axis.samples(if axis.voxels == 1 { 1 } else { options.shrink }));
        let [nx, ny, _] = image.grid.shape;
        let sample = |at: usize| {
            let value = image.voxels[at];
            let weight = weights.map_or(1.0, |weights| weights.voxels[at]);
            let counts = mask.is_none_or(|mask| mask.voxels[at] > 0.0) && weight > 0.0;
            let counts = counts && value.is_finite() && weight.is_finite();
            (if value > 0.0 { value.ln() } else { value }, if counts { weight } else { 0.0 })
        };
        let [along_x, along_y, along_z] = along.each_ref().map(|axis| &axis.voxels);
        let rows = along_z.par_iter().flat_map_iter(|z| along_y.iter().map(move |y| (z * ny + y) * nx));
        let (logarithms, kept): (Vec<f32>, Vec<f32>) =
            rows.flat_map_iter(|row| along_x.iter().map(move |x| sample(row + x))).unzip();
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
