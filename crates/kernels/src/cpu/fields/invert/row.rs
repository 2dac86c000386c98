//! The inversion of a displacement field at many voxels of a row at once. Where a step needs no decision for a single
//! voxel, it is vectorised.

use crate::InversionLimits;
use crate::cpu::field::{FieldSampler, vector};
use crate::cpu::fields::newton::{PLAIN_STEPS, newton};
use crate::cpu::points::Points;

/// Inverse displacements of successive voxels of a row, computed together. The arrays have one entry for each voxel
/// whose residual is not within the limits yet.
pub(in crate::cpu) struct Row {
    points: Points,
    /// Number of each voxel among the successive voxels.
    voxel: [usize; Points::MOST],
    /// Index of each voxel along x.
    x: [f32; Points::MOST],
    /// The inverse displacements v.
    v: [[f32; Points::MOST]; 3],
    /// The residuals u(x + v) + v, and their squared lengths.
    residual: [[f32; Points::MOST]; 3],
    squared: [f32; Points::MOST],
}

impl Row {
    pub(in crate::cpu) fn new() -> Row {
        let zeros = [0.0; Points::MOST];
        Row {
            points: Points::new(),
            voxel: [0; Points::MOST],
            x: zeros,
            v: [zeros; 3],
            residual: [zeros; 3],
            squared: zeros,
        }
    }

    /// Computes the inverse displacements `vectors` at successive voxels of a row, of which `first` is the first, by
    /// the same steps as [`invert_at`](super::invert_at). Each step is made for all voxels whose residual is not within
    /// the limits yet.
    #[inline(always)]
    pub(in crate::cpu) fn run(
        &mut self,
        sampler: &FieldSampler,
        first: [usize; 3],
        vectors: &mut [[f32; 3]],
        limits: &InversionLimits,
    ) {
        let [x, y, z] = first.map(|n| n as f32);
        for (n, vector) in vectors.iter().enumerate() {
            self.voxel[n] = n;
            self.x[n] = x + n as f32;
            for axis in 0..3 {
                self.v[axis][n] = vector[axis];
            }
        }
        let tolerance = limits.tolerance_voxels * limits.tolerance_voxels;
        let untouched = limits.untouched_voxels * limits.untouched_voxels;
        let mut count = vectors.len();
        for step in 0..limits.steps {
            if count == 0 {
                return;
            }
            self.find_residuals(sampler, [y, z], count);
            let mut left = 0;
            for n in 0..count {
                let (voxel, squared) = (self.voxel[n], self.squared[n]);
                let [v, residual] = [&self.v, &self.residual].map(|all| [all[0][n], all[1][n], all[2][n]]);
                let close = squared <= tolerance;
                let unchanged = step == 0 && squared <= untouched;
                let by = if close || step < PLAIN_STEPS {
                    residual
                } else {
                    let [x, y, z] = sampler.derivative_at_place(self.points.place(n));
                    newton([vector(x), vector(y), vector(z)], residual)
                };
                let v = if unchanged { v } else { std::array::from_fn(|axis| v[axis] - by[axis]) };
                vectors[voxel] = v;
                self.voxel[left] = voxel;
                self.x[left] = self.x[n];
                for axis in 0..3 {
                    self.v[axis][left] = v[axis];
                }
                left += usize::from(!(close || unchanged));
            }
            count = left;
        }
    }

    /// Computes the residuals of the first `count` voxels, whose indices along y and z are given.
    #[inline(always)]
    fn find_residuals(&mut self, sampler: &FieldSampler, [y, z]: [f32; 2], count: usize) {
        let Row { points, x, v, residual, squared, .. } = self;
        for n in 0..count {
            points.set(n, [x[n] + v[0][n], y + v[1][n], z + v[2][n]]);
        }
        points.locate(count, sampler.shape());
        for n in 0..count {
            let u = vector(sampler.at_place(points.place(n)));
            for axis in 0..3 {
                residual[axis][n] = u[axis];
            }
        }
        for n in 0..count {
            for axis in 0..3 {
                residual[axis][n] += v[axis][n];
            }
            let [x, y, z] = residual.each_ref().map(|residual| residual[n] * residual[n]);
            squared[n] = x + y + z;
        }
    }
}
