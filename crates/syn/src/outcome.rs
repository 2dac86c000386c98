//! The results of a deformable stage: the warps, on the device or in main memory, with energies and scores.

use antsreg_core::jacobian::JacobianSummary;
use antsreg_core::schedule::Level;
use antsreg_core::{DisplacementField, Grid};
use antsreg_kernels::{Backend, InverseConsistency};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The result of the deformable stage. Both fields lie on the fixed grid, RAS mm.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The warp: fixed points → points that the affine maps to the moving image. ANTs' `1Warp`.
    pub warp: DisplacementField,
    /// The inverse of the warp. ANTs' `1InverseWarp`.
    pub inverse_warp: DisplacementField,
    /// Energies of the levels and rounds of relaxation.
    pub course: Course,
    /// Scores of both warps, inside the fixed mask or everywhere.
    pub scores: Scores,
}

/// Energies of the levels of a deformable stage, and its rounds of relaxation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// The levels, coarsest first.
    pub levels: Vec<LevelOutcome>,
    /// The relaxation that made the warps inverse to each other.
    pub relaxed: Relaxed,
}

/// The outcome of a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelOutcome {
    /// Shrink factor of the level.
    pub shrink: usize,
    /// Energy of each iteration.
    pub energies: Vec<f64>,
    /// Whether the level ended because the energy no longer fell.
    pub converged: bool,
    /// Whether the level was undone, because it had not made the images more similar.
    pub undone: bool,
}

impl LevelOutcome {
    /// The outcome of a level before its first iteration.
    pub(crate) fn of_nothing(level: &Level) -> LevelOutcome {
        LevelOutcome { shrink: level.shrink, energies: Vec::new(), converged: false, undone: false }
    }
}

/// The warps on a device, in voxels of the fixed grid.
pub struct Warps<B: Backend> {
    /// The fixed grid.
    pub grid: Grid,
    /// The warp of [`Outcome`].
    pub warp: B::Field,
    /// The inverse warp of [`Outcome`].
    pub inverse_warp: B::Field,
}

impl<B: Backend> Warps<B> {
    /// The warp in main memory, RAS mm.
    pub fn download_warp(&self, backend: &B) -> Result<DisplacementField, Error> {
        self.download(backend, &self.warp)
    }

    /// The inverse warp in main memory, RAS mm.
    pub fn download_inverse_warp(&self, backend: &B) -> Result<DisplacementField, Error> {
        self.download(backend, &self.inverse_warp)
    }

    fn download(&self, backend: &B, field: &B::Field) -> Result<DisplacementField, Error> {
        // No other operation detects such a warp: images resampled through it are 0, as outside the field of view.
        if !backend.magnitude(field)?.is_finite() {
            return Err(Error::NotFinite);
        }
        let to_world = self.grid.voxel_to_world().matrix;
        let vectors = backend.download_field_in(field, &to_world.cast())?;
        Ok(DisplacementField { grid: self.grid.clone(), vectors })
    }

    /// Scores inside a mask (> ½) on the grid of the warps.
    pub(crate) fn scores(&self, backend: &B, mask: Option<&B::Image>) -> Result<Scores, Error> {
        let Warps { warp, inverse_warp, .. } = self;
        Ok(Scores {
            warp: backend.jacobian_summary(warp, mask)?,
            inverse_warp: backend.jacobian_summary(inverse_warp, mask)?,
            warp_then_inverse: backend.inverse_consistency(warp, inverse_warp, mask)?,
            inverse_then_warp: backend.inverse_consistency(inverse_warp, warp, mask)?,
        })
    }
}

/// Scores of a warp and its inverse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scores {
    /// Jacobian determinants of the warp.
    pub warp: JacobianSummary,
    /// Jacobian determinants of the inverse warp.
    pub inverse_warp: JacobianSummary,
    /// Distance of each point from its image under the warp, then the inverse warp.
    pub warp_then_inverse: InverseConsistency,
    /// Distance of each point from its image under the inverse warp, then the warp.
    pub inverse_then_warp: InverseConsistency,
}

/// Relaxation of the warps where they folded (by one-sided differences), or where warp and inverse differed by more
/// than [`largest_residual_voxels`](crate::Options::largest_residual_voxels).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relaxed {
    /// Number of rounds.
    pub rounds: usize,
    /// Number of smoothings of both whole warps, done when rounds do not help; 0 except for fields that are far from
    /// a warp.
    pub whole: usize,
    /// Voxels of both warps that the last round found beyond the limits; 0 unless relaxation failed.
    pub beyond: usize,
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::Cpu;

    use super::*;

    #[test]
    fn a_warp_that_is_no_numbers_is_refused() {
        let shape = [5, 4, 3];
        let grid = Grid::axis_aligned(shape, [1.0; 3]);
        let warps_with = |value: f32| {
            let mut vectors = vec![[0.5, -0.25, 1.0]; 60];
            vectors[37][1] = value;
            let field = |vectors: &[[f32; 3]]| Cpu.upload_field(shape, vectors).expect("as many as there are voxels");
            Warps::<Cpu> { grid: grid.clone(), warp: field(&vectors), inverse_warp: field(&vectors[..1].repeat(60)) }
        };
        assert!(warps_with(f32::MAX / 2.0).download_warp(&Cpu).is_ok());
        for value in [f32::NAN, f32::INFINITY] {
            assert!(matches!(warps_with(value).download_warp(&Cpu), Err(Error::NotFinite)));
            assert!(warps_with(value).download_inverse_warp(&Cpu).is_ok());
        }
    }
}
