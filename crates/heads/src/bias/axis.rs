//! An axis of an image in the B-spline mesh of a bias field, and the positions of the samples along it.

use antsreg_core::Grid;
use antsreg_kernels::bias::Reach;

use super::{Mesh, spline};

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
                // In single precision, as in ANTs: 250 steps of 0.8 mm, which no header stores exactly, are one element
                // of 200 mm.
                let (extent, distance) = (((voxels - 1) as f64 * grid.spacing[axis]) as f32, distance as f32);
                let elements = ((extent / distance).ceil() as usize).max(1);
                // The B-spline mesh does not extend beyond the image along an axis of one voxel, the third axis of a
                // slice.
                let further = if voxels == 1 { 0.0 } else { elements as f32 * distance - extent };
                let padding = (f64::from(further) / grid.spacing[axis] + 0.5) as usize;
                Axis { voxels, padded: voxels + padding, before: padding / 2, elements }
            }
        }
    }

    /// Returns the B-spline control points that influence a voxel of the image along this axis. The mesh has `elements`
    /// elements over its box of voxels, which may extend beyond the image.
    pub fn reach(&self, voxel: usize, elements: usize) -> Reach {
        reach(voxel + self.before, self.padded, elements)
    }

    /// Number of samples along this axis in the box that the mesh covers.
    pub fn count(&self, shrink: usize) -> usize {
        (self.padded / shrink).max(1)
    }

    /// Returns the samples of this axis that lie in the image: every `shrink`th voxel from the voxel `first` of the box
    /// that the mesh covers.
    pub fn samples(&self, shrink: usize, first: usize) -> AxisSamples {
        let count = self.count(shrink);
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
    pub voxels: Vec<usize>,
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
