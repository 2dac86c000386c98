//! A scalar volume in main memory, and interpolation of its values.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use wide::f32x4;

use super::correlation_ratio::backdrop::Backdrop;
use crate::Error;

/// A scalar volume in main memory, x fastest.
#[derive(Debug, Clone)]
pub struct Image {
    pub(super) shape: [usize; 3],
    pub(super) voxels: Voxels,
}

/// The voxel values of a volume, and the volume's backdrop: the parts with only the background value.
#[derive(Debug, Clone, Default)]
pub(super) struct Voxels {
    values: Vec<f32>,
    /// The backdrop, the parts of the image with the value of its first voxel. It is computed when first needed and
    /// dropped when values are written.
    backdrop: OnceLock<Arc<Backdrop>>,
}

impl Image {
    pub(super) fn zeros(shape: [usize; 3]) -> Image {
        Image { shape, voxels: vec![0.0; shape.iter().product()].into() }
    }

    pub(super) fn from_voxels(shape: [usize; 3], voxels: &[f32]) -> Result<Image, Error> {
        Error::check_length("upload", shape, voxels.len())?;
        let copied: Vec<f32> = voxels.par_iter().copied().collect();
        Ok(Image { shape, voxels: copied.into() })
    }

    /// The backdrop of the image: the parts where all voxels have the background value.
    pub(super) fn backdrop(&self) -> Arc<Backdrop> {
        self.voxels.backdrop.get_or_init(|| Arc::new(Backdrop::of(self))).clone()
    }
}

impl From<Vec<f32>> for Voxels {
    fn from(values: Vec<f32>) -> Voxels {
        Voxels { values, backdrop: OnceLock::new() }
    }
}

impl Deref for Voxels {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values
    }
}

impl DerefMut for Voxels {
    fn deref_mut(&mut self) -> &mut [f32] {
        self.backdrop.take();
        &mut self.values
    }
}

/// Interpolates an image at fractional voxel indices.
#[derive(Clone, Copy)]
pub(super) struct Sampler<'a> {
    voxels: &'a [f32],
    /// Distance in memory to the next voxel along each axis, 0 along an axis of one voxel. With 32 bits the compiler
    /// knows that sums of them do not overflow, and checks fewer bounds.
    strides: [u32; 3],
    cell: Cell,
    outside: f32,
}

impl<'a> Sampler<'a> {
    /// A sampler that returns `outside` where a point is more than half a voxel outside the image.
    pub(super) fn new(image: &'a Image, outside: f32) -> Self {
        Sampler {
            voxels: &image.voxels,
            strides: strides(image.shape).map(|stride| stride as u32),
            cell: Cell::new(image.shape),
            outside,
        }
    }

    /// The trilinear value of the image at a fractional voxel index.
    #[inline(always)]
    pub(super) fn linear(&self, point: [f32; 3]) -> f32 {
        if !self.cell.contains(point) {
            return self.outside;
        }
        let (near, t) = self.cell.locate(f32x4::new([point[0], point[1], point[2], 0.0]));
        let [tx, ty, tz, _] = t.to_array();
        let [sx, sy, sz] = self.strides.map(|stride| stride as usize);
        // The bounds of all eight voxels are checked at once.
        let cell = &self.voxels[near..][..sz + sy + sx + 1];
        let along_x = |at: usize| {
            let (a, b) = (cell[at], cell[at + sx]);
            a + tx * (b - a)
        };
        let (c00, c10, c01, c11) = (along_x(0), along_x(sy), along_x(sz), along_x(sz + sy));
        let (c0, c1) = (c00 + ty * (c10 - c00), c01 + ty * (c11 - c01));
        c0 + tz * (c1 - c0)
    }

    /// The value of the voxel nearest to a point; half-way between two voxels, the value of the voxel with the higher
    /// index.
    #[inline(always)]
    pub(super) fn nearest(&self, point: [f32; 3]) -> f32 {
        if !self.cell.contains(point) {
            return self.outside;
        }
        self.voxels[self.cell.nearest(point)]
    }
}

/// Distance in memory to the next voxel along each axis, 0 along an axis of one voxel.
pub(super) fn strides(shape: [usize; 3]) -> [usize; 3] {
    let steps = [1, shape[0], shape[0] * shape[1]];
    std::array::from_fn(|axis| if shape[axis] > 1 { steps[axis] } else { 0 })
}

/// Finds the cell of eight voxels around a point. Vectors have four lanes: the first three are x, y and z; the fourth
/// is 0 or has no meaning.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    /// Largest voxel index along each axis.
    top: f32x4,
    /// Largest index, along each axis, of the lowest of the eight voxels between which a value is interpolated.
    last: f32x4,
    /// Number of voxels in a row and in a slice.
    row: usize,
    slice: usize,
}

impl Cell {
    pub(super) fn new(shape: [usize; 3]) -> Cell {
        let [x, y, z] = shape.map(|n| n as f32);
        let top = f32x4::new([x - 1.0, y - 1.0, z - 1.0, 0.0]);
        Cell { top, last: (top - 1.0).max(f32x4::ZERO), row: shape[0], slice: shape[0] * shape[1] }
    }

    /// Whether the point is at most half a voxel outside the volume.
    #[inline(always)]
    pub(super) fn contains(&self, point: [f32; 3]) -> bool {
        let top = self.top.as_array();
        (0..3).all(|axis| point[axis] >= -0.5 && point[axis] <= top[axis] + 0.5)
    }

    /// Index in memory of the lower corner of the point's cell, and the position within the cell (0…1), both for the
    /// point clamped to the volume.
    #[inline(always)]
    pub(super) fn locate(&self, point: f32x4) -> (usize, f32x4) {
        // The maximum of NaN and 0 is 0 with `fast_max`, so a NaN coordinate becomes 0.
        let clamped = point.fast_max(f32x4::ZERO).fast_min(self.top);
        let low = clamped.fast_min(self.last).fast_trunc_int();
        let [i, j, k, _] = low.to_array().map(|index| index as usize);
        (i + j * self.row + k * self.slice, clamped - low.round_float())
    }

    /// Index of the voxel nearest to a point, clamped to the volume; half-way between voxels, the voxel of higher index.
    #[inline(always)]
    fn nearest(&self, point: [f32; 3]) -> usize {
        let top = self.top.as_array();
        let [i, j, k]: [usize; 3] =
            std::array::from_fn(|axis| (point[axis] + 0.5).clamp(0.0, top[axis]) as i32 as usize);
        i + j * self.row + k * self.slice
    }
}
