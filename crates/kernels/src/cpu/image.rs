//! A scalar volume in memory and how to read between its voxels.

use crate::Error;

/// A scalar volume, x fastest.
#[derive(Debug, Clone)]
pub struct Image {
    pub(super) shape: [usize; 3],
    pub(super) voxels: Vec<f32>,
}

impl Image {
    pub(super) fn zeros(shape: [usize; 3]) -> Image {
        Image { shape, voxels: vec![0.0; shape.iter().product()] }
    }

    pub(super) fn from_voxels(shape: [usize; 3], voxels: &[f32]) -> Result<Image, Error> {
        Error::check_length("upload", shape, voxels.len())?;
        Ok(Image { shape, voxels: voxels.to_vec() })
    }
}

/// Reads an image at fractional voxel indices.
#[derive(Clone, Copy)]
pub(super) struct Sampler<'a> {
    voxels: &'a [f32],
    /// Distance in memory to the next voxel along each axis, 0 along an axis of one voxel.
    strides: [usize; 3],
    cell: Cell,
    outside: f32,
}

impl<'a> Sampler<'a> {
    /// Reads `outside` where a point lies more than half a voxel beyond the image.
    pub(super) fn new(image: &'a Image, outside: f32) -> Self {
        Sampler { voxels: &image.voxels, strides: strides(image.shape), cell: Cell::new(image.shape), outside }
    }

    /// Trilinear.
    #[inline(always)]
    pub(super) fn linear(&self, point: [f32; 3]) -> f32 {
        if !self.cell.contains(point) {
            return self.outside;
        }
        let ([i, j, k], [tx, ty, tz]) = self.cell.locate(point);
        let [sx, sy, sz] = self.strides;
        let near = i + j * self.cell.row + k * self.cell.slice;
        let far = near + sz;
        let v = self.voxels;
        let along_x = |at: usize| {
            let (a, b) = (v[at], v[at + sx]);
            a + tx * (b - a)
        };
        let (c00, c10, c01, c11) = (along_x(near), along_x(near + sy), along_x(far), along_x(far + sy));
        let (c0, c1) = (c00 + ty * (c10 - c00), c01 + ty * (c11 - c01));
        c0 + tz * (c1 - c0)
    }

    /// The nearest voxel; ties go up.
    #[inline(always)]
    pub(super) fn nearest(&self, point: [f32; 3]) -> f32 {
        if !self.cell.contains(point) {
            return self.outside;
        }
        let [i, j, k]: [usize; 3] =
            std::array::from_fn(|axis| (point[axis] + 0.5).clamp(0.0, self.cell.top[axis]) as i32 as usize);
        self.voxels[i + j * self.cell.row + k * self.cell.slice]
    }
}

/// Distance in memory to the next voxel along each axis, 0 along an axis of one voxel.
pub(super) fn strides(shape: [usize; 3]) -> [usize; 3] {
    let steps = [1, shape[0], shape[0] * shape[1]];
    std::array::from_fn(|axis| if shape[axis] > 1 { steps[axis] } else { 0 })
}

/// Finds the cell of eight voxels around a point.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    /// Largest index along each axis.
    top: [f32; 3],
    /// Largest index of a cell's low corner.
    last: [f32; 3],
    /// Voxels in a row and in a slice.
    pub(super) row: usize,
    pub(super) slice: usize,
}

impl Cell {
    pub(super) fn new(shape: [usize; 3]) -> Cell {
        Cell {
            top: shape.map(|n| n as f32 - 1.0),
            last: shape.map(|n| (n as f32 - 2.0).max(0.0)),
            row: shape[0],
            slice: shape[0] * shape[1],
        }
    }

    /// Whether the point is within half a voxel of the volume.
    #[inline(always)]
    pub(super) fn contains(&self, point: [f32; 3]) -> bool {
        (0..3).all(|axis| point[axis] >= -0.5 && point[axis] <= self.top[axis] + 0.5)
    }

    /// Low corner and position within the cell (0…1) of the point, clamped to the volume.
    #[inline(always)]
    pub(super) fn locate(&self, point: [f32; 3]) -> ([usize; 3], [f32; 3]) {
        let mut corner = [0; 3];
        let mut within = [0.0; 3];
        for axis in 0..3 {
            let clamped = point[axis].max(0.0).min(self.top[axis]);
            let low = clamped.min(self.last[axis]) as i32;
            corner[axis] = low as usize;
            within[axis] = clamped - low as f32;
        }
        (corner, within)
    }
}
