//! Displacement fields in memory: reading between voxels, composition, the longest vector, other grids.

use antsreg_core::AffineTransform;
use nalgebra::Matrix3;
use rayon::prelude::*;

use super::image::{Cell, strides};
use super::resample::Line;
use super::{slab, wide};
use crate::Error;

/// Displacements in voxels, the three components of a voxel side by side, x fastest.
#[derive(Debug, Clone)]
pub struct Field {
    pub(super) shape: [usize; 3],
    /// 3 per voxel, then [`PADDING`] zeros.
    components: Vec<f32>,
}

/// A vector is read as four floats, and two x neighbours as seven: the last ones must not end the memory.
const PADDING: usize = 4;

impl Field {
    pub(super) fn zeros(shape: [usize; 3]) -> Field {
        Field { shape, components: vec![0.0; 3 * shape.iter().product::<usize>() + PADDING] }
    }

    pub(super) fn from_vectors(shape: [usize; 3], vectors: &[[f32; 3]]) -> Result<Field, Error> {
        Error::check_length("upload_field", shape, vectors.len())?;
        let mut field = Field::zeros(shape);
        field.vectors_mut().copy_from_slice(vectors);
        Ok(field)
    }

    pub(super) fn vectors(&self) -> &[[f32; 3]] {
        self.components.as_chunks().0.split_at(self.len()).0
    }

    pub(super) fn vectors_mut(&mut self) -> &mut [[f32; 3]] {
        let len = self.len();
        self.components.as_chunks_mut().0.split_at_mut(len).0
    }

    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    pub(super) fn sampler(&self) -> FieldSampler<'_> {
        FieldSampler {
            components: &self.components,
            strides: strides(self.shape).map(|stride| 3 * stride),
            cell: Cell::new(self.shape),
        }
    }
}

/// Reads a field at fractional voxel indices.
#[derive(Clone, Copy)]
pub(super) struct FieldSampler<'a> {
    components: &'a [f32],
    strides: [usize; 3],
    cell: Cell,
}

impl FieldSampler<'_> {
    /// Trilinear, clamped to the edge. The fourth value has no meaning: four lanes are what the processor adds at once.
    #[inline(always)]
    pub(super) fn at(&self, point: [f32; 3]) -> [f32; 4] {
        let ([i, j, k], [tx, ty, tz]) = self.cell.locate(point);
        let [_, sy, sz] = self.strides;
        let near = 3 * (i + j * self.cell.row + k * self.cell.slice);
        let far = near + sz;
        // Along an axis of one voxel t is 0, so what stands next in memory does not matter.
        let along_x = |at: usize| {
            let pair = &self.components[at..at + 7];
            lerp([pair[0], pair[1], pair[2], pair[3]], [pair[3], pair[4], pair[5], pair[6]], tx)
        };
        let c0 = lerp(along_x(near), along_x(near + sy), ty);
        let c1 = lerp(along_x(far), along_x(far + sy), ty);
        lerp(c0, c1, tz)
    }

    /// ∂u/∂x, ∂u/∂y, ∂u/∂z of the trilinear interpolation in the cell of the point.
    pub(super) fn derivative(&self, point: [f32; 3]) -> [[f32; 4]; 3] {
        let ([i, j, k], [tx, ty, tz]) = self.cell.locate(point);
        let base = 3 * (i + j * self.cell.row + k * self.cell.slice);
        let corner = |bits: usize| {
            let at = base + (0..3).map(|axis| (bits >> axis & 1) * self.strides[axis]).sum::<usize>();
            [0, 1, 2, 3].map(|lane| self.components[at + lane])
        };
        let along = |axis: usize, (a, ta): (usize, f32), (b, tb): (usize, f32)| {
            let edge = |bits: usize| {
                let (low, high) = (corner(bits), corner(bits | 1 << axis));
                std::array::from_fn(|lane| high[lane] - low[lane])
            };
            lerp(lerp(edge(0), edge(1 << a), ta), lerp(edge(1 << b), edge(1 << a | 1 << b), ta), tb)
        };
        [along(0, (1, ty), (2, tz)), along(1, (0, tx), (2, tz)), along(2, (0, tx), (1, ty))]
    }
}

#[inline(always)]
fn lerp(a: [f32; 4], b: [f32; 4], t: f32) -> [f32; 4] {
    std::array::from_fn(|lane| a[lane] + t * (b[lane] - a[lane]))
}

/// out(x) = first(x) + scale·then(x + first(x)).
pub(super) fn compose(first: &Field, then: &Field, scale: f32, out: &mut Field) {
    let [nx, ny, nz] = first.shape;
    let sampler = then.sampler();
    let slices = slab(nz);
    let firsts = first.vectors().par_chunks(nx * ny * slices);
    out.vectors_mut().par_chunks_mut(nx * ny * slices).zip(firsts).enumerate().for_each(|(chunk, (out, first))| {
        wide(|| {
            for (row, (out, first)) in out.chunks_exact_mut(nx).zip(first.chunks_exact(nx)).enumerate() {
                let (y, z) = ((row % ny) as f32, (chunk * slices + row / ny) as f32);
                for (i, (out, u)) in out.iter_mut().zip(first).enumerate() {
                    let v = sampler.at([i as f32 + u[0], y + u[1], z + u[2]]);
                    *out = std::array::from_fn(|axis| u[axis] + scale * v[axis]);
                }
            }
        })
    });
}

/// Length of the longest vector, voxels.
pub(super) fn max_norm(field: &Field) -> f32 {
    let [nx, ny, nz] = field.shape;
    let squared = field.vectors().par_chunks(nx * ny * slab(nz)).map(|vectors| {
        wide(|| vectors.iter().fold(0.0_f32, |longest, [x, y, z]| longest.max(x * x + y * y + z * z)))
    });
    squared.reduce(|| 0.0, f32::max).sqrt()
}

/// out(x) = matrix·field(m(x)).
pub(super) fn resize(field: &Field, out_to_field: &AffineTransform, matrix: &Matrix3<f64>, out: &mut Field) {
    let [nx, ny, nz] = out.shape;
    let sampler = field.sampler();
    let rows = [0, 1, 2].map(|row| [0, 1, 2].map(|column| matrix[(row, column)] as f32));
    let slices = slab(nz);
    out.vectors_mut().par_chunks_mut(nx * ny * slices).enumerate().for_each(|(chunk, out)| {
        for (row, out) in out.chunks_exact_mut(nx).enumerate() {
            let line = Line::new(out_to_field, row % ny, chunk * slices + row / ny);
            for (i, out) in out.iter_mut().enumerate() {
                let v = sampler.at(line.at(i as f32));
                *out = rows.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);
            }
        }
    });
}
