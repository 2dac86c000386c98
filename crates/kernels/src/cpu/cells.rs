//! Trilinear samples along a row, many at a time: the computation of coordinates and the interpolation are vectorised,
//! and voxels are read one by one.

use super::whole::{ROUNDER, whole};
use crate::cpu::rows::Row;

/// Number of samples that one step of a vectorised loop processes.
pub(in crate::cpu) const LANES: usize = 16;

/// The cells of the moving image that contain a block of samples, and the positions within the cells.
///
/// A block is so long that the values which one loop stores have reached memory before the next loop reads them as
/// vectors.
pub(in crate::cpu) struct Cells {
    pub offset: [[u32; LANES]; Cells::GROUPS],
    pub fraction: [[[f32; LANES]; Cells::GROUPS]; 3],
    /// Weight of each sample near the border of the moving image: the product over the axes of a weight that rises from
    /// 0 at the border to 1 at the inner edge of a band along the border.
    pub edge_weight: [[f32; LANES]; Cells::GROUPS],
    /// The values of the eight voxels around each sample: four pairs of neighbours along x.
    pub pairs: [[[[f32; 2]; LANES]; 4]; Cells::GROUPS],
}

impl Cells {
    pub const GROUPS: usize = 4;
    pub const BLOCK: usize = Cells::GROUPS * LANES;

    pub fn new() -> Cells {
        let zeros = [[0.0; LANES]; Cells::GROUPS];
        Cells {
            offset: [[0; LANES]; Cells::GROUPS],
            fraction: [zeros; 3],
            edge_weight: zeros,
            pairs: [[[[0.0; 2]; LANES]; 4]; Cells::GROUPS],
        }
    }

    /// Finds the cells of the samples `first..first + count` of a row. Lanes after the last sample get arbitrary cells
    /// inside the image, so that no voxel outside the image is read.
    #[inline(always)]
    pub fn locate<const WEIGHTED: bool>(
        &mut self,
        row: &Row,
        first: usize,
        count: usize,
        shape: [usize; 3],
        edge_voxels: [f64; 3],
    ) {
        let strides = [1, shape[0] as u32, (shape[0] * shape[1]) as u32];
        for group in 0..count.div_ceil(LANES) {
            let mut offset = [0u32; LANES];
            let mut weight = [1.0f32; LANES];
            for axis in 0..3 {
                let start = (row.start[axis] + (first + group * LANES) as f64 * row.step[axis]) as f32;
                let step = row.step[axis] as f32;
                let last = (shape[axis] - 1) as f32;
                let last_cell = last - 1.0;
                let edge = edge_voxels[axis] as f32;
                for lane in 0..LANES {
                    let position = start + lane as f32 * step;
                    let position = if position > 0.0 { position } else { 0.0 };
                    let position = if position < last { position } else { last };
                    let cell = (position - 0.5) + ROUNDER - ROUNDER;
                    let cell = if cell < last_cell { cell } else { last_cell };
                    let cell = if cell > 0.0 { cell } else { 0.0 };
                    self.fraction[axis][group][lane] = position - cell;
                    offset[lane] = offset[lane].wrapping_add(whole(cell).wrapping_mul(strides[axis]));
                    if WEIGHTED && edge > 0.0 {
                        let other = last - position;
                        let distance = if position < other { position } else { other };
                        let ramp = distance / edge;
                        weight[lane] *= if ramp < 1.0 { ramp } else { 1.0 };
                    }
                }
            }
            self.offset[group] = offset;
            self.edge_weight[group] = weight;
        }
    }

    /// Reads the eight voxels of the moving image around each of the first `count` samples.
    #[inline(always)]
    pub fn gather(&mut self, shape: [usize; 3], voxels: &[f32], count: usize) {
        let [nx, ny, _] = shape;
        let plane = nx * ny;
        let span = plane + nx + 2;
        for (pairs, offsets) in self.pairs.iter_mut().zip(&self.offset).take(count.div_ceil(LANES)) {
            for (lane, offset) in offsets.iter().enumerate() {
                let offset = *offset as usize;
                let cell = &voxels[offset..offset + span];
                pairs[0][lane] = [cell[0], cell[1]];
                pairs[1][lane] = [cell[nx], cell[nx + 1]];
                pairs[2][lane] = [cell[plane], cell[plane + 1]];
                pairs[3][lane] = [cell[plane + nx], cell[plane + nx + 1]];
            }
        }
    }

    /// Computes the trilinear values of the first `count` samples.
    #[inline(always)]
    pub fn interpolate(
        &mut self,
        shape: [usize; 3],
        voxels: &[f32],
        count: usize,
        values: &mut [[f32; LANES]; Cells::GROUPS],
    ) {
        self.gather(shape, voxels, count);
        for group in 0..count.div_ceil(LANES) {
            let pairs = &self.pairs[group];
            let (fx, fy, fz) = (&self.fraction[0][group], &self.fraction[1][group], &self.fraction[2][group]);
            let mut columns = [[0.0f32; 2]; LANES];
            for lane in 0..LANES {
                for end in 0..2 {
                    let near = pairs[0][lane][end] + fy[lane] * (pairs[1][lane][end] - pairs[0][lane][end]);
                    let far = pairs[2][lane][end] + fy[lane] * (pairs[3][lane][end] - pairs[2][lane][end]);
                    columns[lane][end] = near + fz[lane] * (far - near);
                }
            }
            for lane in 0..LANES {
                values[group][lane] = columns[lane][0] + fx[lane] * (columns[lane][1] - columns[lane][0]);
            }
        }
    }
}
