//! The voxels by which a field is found: every so manieth along each axis, padded as the splines want it.

use antsreg_core::{Grid, Volume};

use super::spline::{self, Reach};
use super::{Error, Mesh, Options};

/// Position of an axis of the image on the mesh of control points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    /// Voxels of the image.
    pub voxels: usize,
    /// Voxels of the box that the mesh covers; at least the voxels of the image.
    pub padded: usize,
    /// Voxels of the box before the first voxel of the image.
    pub before: usize,
    /// Mesh elements of the coarsest level.
    pub elements: usize,
}

impl Axis {
    /// The axis of a grid under this mesh.
    pub fn of(grid: &Grid, axis: usize, mesh: Mesh) -> Axis {
        let voxels = grid.shape[axis];
        match mesh {
            Mesh::Elements(elements) => Axis { voxels, padded: voxels, before: 0, elements: elements[axis] },
            Mesh::DistanceMm(distance) => {
                let extent = (voxels - 1) as f64 * grid.spacing[axis];
                let elements = ((extent / distance).ceil() as usize).max(1);
                // One voxel is all there is of an axis of slices.
                let further = if voxels == 1 { 0.0 } else { elements as f64 * distance - extent };
                let padding = (further / grid.spacing[axis] + 0.5) as usize;
                Axis { voxels, padded: voxels + padding, before: padding / 2, elements }
            }
        }
    }

    /// The control points that reach a voxel of the image, on a mesh of this number of elements over the box.
    pub fn reach(&self, voxel: usize, elements: usize) -> Reach {
        reach(voxel + self.before, self.padded, elements)
    }

    /// The samples that lie in the image: every `shrink`th voxel, centred in the box as ITK's shrink filter does.
    fn samples(&self, shrink: usize) -> AxisSamples {
        let count = (self.padded / shrink).max(1);
        let first = ((self.padded - 1) as f64 - (shrink * (count - 1)) as f64) / 2.0;
        // ITK counts from the image's first voxel, which has the box begin at a negative index, and takes no sample before
        // the first multiple of the factor.
        let first = ((first + 0.5).floor() as usize).max(self.before % shrink);
        let voxel = |n: usize| (first + shrink * n).checked_sub(self.before).filter(|voxel| *voxel < self.voxels);
        let (numbers, voxels) = (0..count).filter_map(|n| Some((n, voxel(n)?))).unzip();
        AxisSamples { count, numbers, voxels }
    }
}

/// The samples along an axis.
#[derive(Debug)]
pub struct AxisSamples {
    /// Number of samples along the whole box.
    count: usize,
    /// Numbers (within the box) of the samples that lie in the image.
    numbers: Vec<usize>,
    /// Voxel indices (within the image) of the samples that lie in the image.
    voxels: Vec<usize>,
}

impl AxisSamples {
    /// The control points that reach each sample, on a mesh of this number of elements. As in ITK, the mesh goes from the first to
    /// the last sample of the box, while the field is read on one from the first to the last voxel: so it is stretched by up
    /// to `shrink` − 1 voxels over the whole box.
    pub fn reaches(&self, elements: usize) -> Vec<Reach> {
        self.numbers.iter().map(|n| reach(*n, self.count, elements)).collect()
    }
}

/// The control points that reach one of `count` places, the outermost of which are the ends of the mesh.
fn reach(number: usize, count: usize, elements: usize) -> Reach {
    let last = (count - 1).max(1) as f64;
    spline::reach(elements as f64 * number as f64 / last, elements)
}

/// The samples of an image.
#[derive(Debug)]
pub struct Samples {
    /// Position of each axis of the image on the mesh.
    pub axes: [Axis; 3],
    /// Positions of the samples along each axis.
    pub along: [AxisSamples; 3],
    /// Logarithms of the intensities, the first axis fastest.
    pub logarithms: Vec<f32>,
    /// Weights; 0 where a sample does not count.
    pub weights: Vec<f32>,
    /// How many count.
    pub count: usize,
}

impl Samples {
    /// The samples of an image within a mask (above 0), weighted. As in ITK, an intensity that is not positive has no
    /// logarithm and stands for itself.
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
        // A slice stays as thick as it is, and an axis of fewer voxels than the factor keeps one.
        let along = axes.map(|axis| axis.samples(if axis.voxels == 1 { 1 } else { options.shrink }));
        let [nx, ny, _] = image.grid.shape;
        let mut logarithms = Vec::new();
        let mut kept = Vec::new();
        for z in &along[2].voxels {
            for y in &along[1].voxels {
                for x in &along[0].voxels {
                    let at = (z * ny + y) * nx + x;
                    let value = image.voxels[at];
                    let weight = weights.map_or(1.0, |weights| weights.voxels[at]);
                    let counts = mask.is_none_or(|mask| mask.voxels[at] > 0.0) && weight > 0.0;
                    let counts = counts && value.is_finite() && weight.is_finite();
                    logarithms.push(if value > 0.0 { value.ln() } else { value });
                    kept.push(if counts { weight } else { 0.0 });
                }
            }
        }
        let count = kept.iter().filter(|weight| **weight > 0.0).count();
        if count == 0 {
            return Err(Error::NoVoxels { shrink: options.shrink });
        }
        Ok(Samples { axes, along, logarithms, weights: kept, count })
    }

    /// Samples along each axis.
    pub fn shape(&self) -> [usize; 3] {
        [0, 1, 2].map(|axis| self.along[axis].voxels.len())
    }
}
