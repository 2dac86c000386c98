//! Samples of the moving image under rows of fixed voxels, for joint histograms and moments.
//!
//! The arithmetic is in single precision and in an order that `cu/points.cuh` and `cu/samples.cuh` repeat, so that both
//! devices get the same numbers: a coordinate is m₀·i + (m₁·j + (m₂·k + m₃)) with fused multiply-add, where i, j, k are
//! the indices of the fixed voxel and m₀ … m₃ a row of the map. Interpolation is along y, then z, then x.

use std::ops::Range;

use antsreg_core::AffineTransform;
use nalgebra::Vector3;

use crate::cpu::backdrop::Backdrop;
use crate::cpu::cells::{Cells, LANES};
use crate::cpu::image::Image;
use crate::cpu::rows::Row;
use crate::cpu::whole::whole;

/// Distance outside the moving image, in voxels, up to which samples are still computed: larger than the rounding
/// errors of positions. A sample that is outside in single precision has weight 0.
const SLACK: f64 = 0.01;

/// One number for each sample of a block of consecutive samples, in groups of `LANES` samples.
pub(in crate::cpu) type Lanes = [[f32; LANES]; Cells::GROUPS];

/// The operands of sampling: the fixed voxels, the moving image and their weights.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Operands<'a> {
    /// Shape of the fixed image.
    pub shape: [usize; 3],
    /// Weight of each fixed voxel; `None` if all weights are 1.
    pub fixed_weight: Option<&'a [f32]>,
    /// The part of each row of fixed voxels with positive weight, `start..end`; `None` for whole rows.
    pub extents: Option<&'a [[u32; 2]]>,
    pub moving: &'a Image,
    pub moving_weight: Option<&'a Image>,
    pub edge_voxels: [f64; 3],
    pub backdrop: &'a Backdrop,
}

/// A block of consecutive samples, at the voxels of one row of the fixed image.
pub(in crate::cpu) struct Block<'b> {
    /// Index of the fixed voxel that belongs to the first sample of the block.
    pub first: usize,
    pub count: usize,
    pub weights: &'b Lanes,
    /// Moving values at the samples by trilinear interpolation, if these values were requested.
    pub values: &'b Lanes,
    /// For each sample: the surrounding voxels of the moving image, and the sample's position between them.
    pub cells: &'b Cells,
    /// The value of all voxels around all samples of the block, if they are in the backdrop of the moving image. Then
    /// the voxels of `cells` are not set.
    pub backdrop: Option<f32>,
}

/// Computes samples of the moving image block by block.
pub(in crate::cpu) struct Samples<'a> {
    operands: Operands<'a>,
    per_edge: [f32; 3],
    cells: Cells,
    weights: Lanes,
    values: Lanes,
}

/// A row of fixed voxels, mapped into the moving image, in single precision.
struct SingleRow {
    base: [f32; 3],
    step: [f32; 3],
}

impl<'a> Samples<'a> {
    pub fn new(operands: Operands<'a>) -> Self {
        let zeros = [[0.0; LANES]; Cells::GROUPS];
        let per_edge = operands.edge_voxels.map(|edge| (1.0 / edge) as f32);
        Samples { operands, per_edge, cells: Cells::new(), weights: zeros, values: zeros }
    }

    /// Computes the samples of the moving image at the mapped fixed voxels of `slices`, block by block. Calls `each`
    /// for each block, with or without interpolated values.
    #[inline(always)]
    pub fn visit<const INTERPOLATED: bool>(
        &mut self,
        slices: Range<usize>,
        fixed_to_moving: &AffineTransform,
        mut each: impl FnMut(&Block),
    ) {
        let [nx, ny, _] = self.operands.shape;
        let shape = self.operands.moving.shape;
        let finite = fixed_to_moving.matrix.iter().chain(&fixed_to_moving.translation).all(|v| v.is_finite());
        // The weight of a point is 0 at the border of the moving volume. If the volume has an axis of one voxel, every
        // point is at the border.
        if !finite || shape.iter().any(|n| *n < 2) {
            return;
        }
        let map = single(fixed_to_moving);
        let step = fixed_to_moving.matrix.column(0).into_owned();
        for k in slices {
            for j in 0..ny {
                let number = k * ny + j;
                let within = match self.operands.extents {
                    Some(extents) => extents[number][0] as usize..extents[number][1] as usize,
                    None => 0..nx,
                };
                let start = fixed_to_moving.matrix * Vector3::new(0.0, j as f64, k as f64);
                let row = Row { start: start + fixed_to_moving.translation, step };
                let range = row.inside(shape, [-SLACK; 3], within);
                let base = |axis: usize| map[axis][1].mul_add(j as f32, map[axis][2].mul_add(k as f32, map[axis][3]));
                let row =
                    SingleRow { base: std::array::from_fn(base), step: std::array::from_fn(|axis| map[axis][0]) };
                for first in range.clone().step_by(Cells::BLOCK) {
                    let count = (range.end - first).min(Cells::BLOCK);
                    let backdrop = self.fill::<INTERPOLATED>(&row, first, count, number * nx);
                    each(&Block {
                        first: number * nx + first,
                        count,
                        weights: &self.weights,
                        values: &self.values,
                        cells: &self.cells,
                        backdrop,
                    });
                }
            }
        }
    }

    /// Computes the weights of a block of consecutive samples, and either the interpolated moving values or the values
    /// of the eight voxels around each sample. Returns the value of the backdrop if all these voxels have it.
    #[inline(always)]
    fn fill<const INTERPOLATED: bool>(
        &mut self,
        row: &SingleRow,
        first: usize,
        count: usize,
        row_start: usize,
    ) -> Option<f32> {
        let Samples { operands, cells, weights, values, .. } = self;
        locate(row, first, count, operands.moving.shape, self.per_edge, cells);
        *weights = cells.edge_weight;
        if let Some(fixed_weight) = operands.fixed_weight {
            let own = &fixed_weight[row_start + first..][..count];
            weights.as_flattened_mut().iter_mut().zip(own).for_each(|(weight, own)| *weight *= own);
        }
        if let Some(moving_weight) = operands.moving_weight {
            cells.interpolate(moving_weight.shape, &moving_weight.voxels, count, values);
            let sampled = values.as_flattened();
            weights.as_flattened_mut().iter_mut().zip(sampled).for_each(|(weight, other)| *weight *= other);
        }
        let cell = |lane: usize| cell_of(row, first + lane, operands.moving.shape);
        let is_backdrop = operands.backdrop.covers_cells(cell(0), cell(count - 1));
        match (is_backdrop, INTERPOLATED) {
            (true, true) => values.as_flattened_mut().fill(operands.backdrop.value),
            (true, false) => {}
            (false, true) => cells.interpolate(operands.moving.shape, &operands.moving.voxels, count, values),
            (false, false) => cells.gather(operands.moving.shape, &operands.moving.voxels, count),
        }
        is_backdrop.then_some(operands.backdrop.value)
    }
}

/// Converts an affine map to single precision: three rows, each with its matrix elements and its translation.
fn single(map: &AffineTransform) -> [[f32; 4]; 3] {
    std::array::from_fn(|row| {
        std::array::from_fn(|column| match column {
            3 => map.translation[row] as f32,
            _ => map.matrix[(row, column)] as f32,
        })
    })
}

/// The lower corner of the cell of the moving image that contains a mapped voxel of a row, or of the nearest cell.
#[inline(always)]
fn cell_of(row: &SingleRow, x: usize, shape: [usize; 3]) -> [i32; 3] {
    std::array::from_fn(|axis| {
        let position = row.step[axis].mul_add(x as f32, row.base[axis]);
        cell(position.max(0.0), shape[axis]) as i32
    })
}

/// Along one axis: lower corner of the cell of a coordinate that is at least 0; beyond the image, of the last cell.
#[inline(always)]
fn cell(position: f32, n: usize) -> f32 {
    position.floor().min((n - 2) as f32)
}

/// Finds the cells of the moving image around the samples `first..first + count` of a row, and the weights of these
/// samples near the border of this image.
#[inline(always)]
fn locate(row: &SingleRow, first: usize, count: usize, shape: [usize; 3], per_edge: [f32; 3], cells: &mut Cells) {
    let strides = [1, shape[0] as u32, (shape[0] * shape[1]) as u32];
    for group in 0..count.div_ceil(LANES) {
        let mut offset = [0u32; LANES];
        let mut weight = [1.0f32; LANES];
        let start = (first + group * LANES) as f32;
        for axis in 0..3 {
            let last = (shape[axis] - 1) as f32;
            for lane in 0..LANES {
                let position = row.step[axis].mul_add(start + lane as f32, row.base[axis]);
                let distance = position.min(last - position);
                // If the band in which weights rise has a width of 0, `per_edge` is infinite. At a position exactly on
                // the border the product is then 0·∞ = NaN, which `min` turns into 1.
                weight[lane] *= if distance >= 0.0 { (distance * per_edge[axis]).min(1.0) } else { 0.0 };
                let clamped = position.max(0.0).min(last);
                let cell = cell(clamped, shape[axis]);
                cells.fraction[axis][group][lane] = clamped - cell;
                offset[lane] = offset[lane].wrapping_add(whole(cell).wrapping_mul(strides[axis]));
            }
        }
        cells.offset[group] = offset;
        cells.edge_weight[group] = weight;
    }
}
