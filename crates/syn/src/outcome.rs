//! The results of a deformable stage: warps on the device or in main memory, energies of the iterations, and quality
//! scores.

use antsreg_core::io::{Deflated, itk};
use antsreg_core::jacobian::JacobianSummary;
use antsreg_core::schedule::Level;
use antsreg_core::{DisplacementField, Grid};
use antsreg_kernels::{Backend, InverseConsistency, Lent};
use nalgebra::Matrix3;
use serde::{Deserialize, Serialize};

use crate::Error;

/// The displacements of a warp may be rounded only if the Jacobian determinants at all corners of the grid's cells are
/// at least this. The value is larger than the rounding error of a determinant of zero in single precision.
const SMALLEST_ROUNDED: f64 = 1e-4;
/// Steps to which displacements are rounded, as parts of the usual step, coarse to fine. All are powers of two. At 0.5 mm
/// a few almost flat cells fold by the usual step, for which the whole warps would stay as they are.
const PARTS: [f32; 3] = [1.0, 1.0 / 4.0, 1.0 / 16.0];

/// The result of the deformable stage. Both displacement fields lie on the fixed grid, RAS mm.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The warp, which maps fixed points to the points that the affine transform maps to the moving image. ANTs names
    /// its file `1Warp`.
    pub warp: DisplacementField,
    /// The inverse of the warp. ANTs names its file `1InverseWarp`.
    pub inverse_warp: DisplacementField,
    /// Energies of the iterations on each level, and the relaxation of the warps.
    pub iterations: Iterations,
    /// Quality scores of both warps, inside the fixed mask or, without a mask, everywhere.
    pub scores: Scores,
}

/// The course of a deformable stage: the energies of the iterations on each level, and the correction (relaxation) of
/// the warps at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Iterations {
    /// Outcomes of the iterations on the resolution levels, coarsest level first.
    pub levels: Vec<LevelOutcome>,
    /// Statistics of the relaxation (the local correction of the two warps), which made them invertible and inverse to
    /// each other.
    pub relaxed: Relaxed,
}

/// Outcome of the iterations on one level of a deformable stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelOutcome {
    /// Shrink factor of the resolution level: the factor by which its grid is coarser than the fixed image's grid.
    pub shrink: usize,
    /// Energy of the similarity metrics in each iteration.
    pub energies: Vec<f64>,
    /// Whether the level ended early because the energy no longer fell.
    pub converged: bool,
    /// Whether the displacement fields of the level were discarded because the images had not become more similar.
    pub undone: bool,
}

impl LevelOutcome {
    /// Returns the outcome of a resolution level on which no iterations were made.
    pub(crate) fn of_nothing(level: &Level) -> LevelOutcome {
        LevelOutcome { shrink: level.shrink, energies: Vec::new(), converged: false, undone: false }
    }
}

/// The warp and its inverse on a device, displacements in voxels of the fixed grid.
pub struct Warps<B: Backend> {
    /// Grid of the first fixed image.
    pub grid: Grid,
    /// Displacement field of the warp, which [`Outcome::warp`] describes, on the device.
    pub warp: B::Field,
    /// Displacement field of the inverse warp, which [`Outcome::inverse_warp`] describes, on the device.
    pub inverse_warp: B::Field,
    /// The displacements of both warps are rounded to multiples of this step, mm; `None` if they are not rounded.
    pub step_mm: Option<f32>,
    /// Statistics of the Jacobian determinants of the warp and of the inverse warp over all voxels, if they are known.
    pub jacobians: Option<[JacobianSummary; 2]>,
}

impl<B: Backend> Warps<B> {
    /// Copies the warp to main memory, in RAS mm.
    pub fn download_warp(&self, backend: &B) -> Result<DisplacementField, Error> {
        self.download(backend, &self.warp)
    }

    /// Copies the inverse warp to main memory, in RAS mm.
    pub fn download_inverse_warp(&self, backend: &B) -> Result<DisplacementField, Error> {
        self.download(backend, &self.inverse_warp)
    }

    /// Compresses the warp on the device, as [`itk::write_deflated_warp`] expects it.
    pub fn deflate_warp(&self, backend: &B) -> Result<Deflated, Error> {
        self.deflate(backend, &self.warp)
    }

    /// Compresses the inverse warp on the device, as [`itk::write_deflated_warp`] expects it.
    pub fn deflate_inverse_warp(&self, backend: &B) -> Result<Deflated, Error> {
        self.deflate(backend, &self.inverse_warp)
    }

    /// Returns a copy of the warp in the device's memory, for other libraries. Its displacements are in RAS mm.
    pub fn lend_warp(&self, backend: &B) -> Result<Lent, Error> {
        Ok(backend.lend_field(&self.warp, &self.to_world(backend, &self.warp)?, self.step_mm)?)
    }

    /// Returns a copy of the inverse warp in the device's memory, for other libraries. Its displacements are in RAS mm.
    pub fn lend_inverse_warp(&self, backend: &B) -> Result<Lent, Error> {
        let to_world = self.to_world(backend, &self.inverse_warp)?;
        Ok(backend.lend_field(&self.inverse_warp, &to_world, self.step_mm)?)
    }

    fn deflate(&self, backend: &B, field: &B::Field) -> Result<Deflated, Error> {
        let (to_world, factors) = (self.to_world(backend, field)?, itk::stored_factors(&self.grid));
        Ok(backend.deflate_field_in(field, &to_world, self.step_mm, factors)?)
    }

    fn download(&self, backend: &B, field: &B::Field) -> Result<DisplacementField, Error> {
        let vectors = backend.download_field_in(field, &self.to_world(backend, field)?, self.step_mm)?;
        Ok(DisplacementField { grid: self.grid.clone(), vectors })
    }

    /// The matrix that converts displacements from voxels to mm. Returns an error if the field has values that are not
    /// finite.
    fn to_world(&self, backend: &B, field: &B::Field) -> Result<Matrix3<f32>, Error> {
        // No other operation detects a field that is not finite: images resampled through it are 0, as outside the
        // field of view.
        if !backend.magnitude(field)?.is_finite() {
            return Err(Error::NotFinite);
        }
        Ok(self.grid.voxel_to_world().matrix.cast())
    }

    /// Rounds both warps to multiples of `step_mm` or, if a cell of either warp would fold, of the first of some finer
    /// steps for which none folds. If there is no such step, the warps are not rounded.
    pub(crate) fn round(&mut self, backend: &B, step_mm: f32) -> Result<(), Error> {
        for part in PARTS {
            if self.round_to(backend, part * step_mm)? {
                break;
            }
        }
        Ok(())
    }

    /// Rounds both warps to multiples of `step_mm`, unless a cell of either warp would fold. Returns whether they are
    /// rounded.
    fn round_to(&mut self, backend: &B, step_mm: f32) -> Result<bool, Error> {
        let maps = [self.grid.voxel_to_world(), self.grid.world_to_voxel()].map(|map| map.matrix.cast());
        let rounded = |field| -> Result<Option<(B::Field, JacobianSummary)>, Error> {
            let rounded = backend.round_field(field, maps.each_ref(), step_mm)?;
            let found = backend.jacobian_summary(&rounded, None)?;
            let open = found.corner_folded == 0 && found.corner_minimum >= SMALLEST_ROUNDED;
            Ok(open.then_some((rounded, found)))
        };
        if let Some((warp, of_warp)) = rounded(&self.warp)?
            && let Some((inverse_warp, of_inverse)) = rounded(&self.inverse_warp)?
        {
            (self.warp, self.inverse_warp, self.step_mm) = (warp, inverse_warp, Some(step_mm));
            self.jacobians = Some([of_warp, of_inverse]);
            return Ok(true);
        }
        Ok(false)
    }

    /// Quality scores of both warps inside a mask (voxels above ½ on the grid of the warps) or, without a mask,
    /// everywhere.
    pub(crate) fn scores(&self, backend: &B, mask: Option<&B::Image>) -> Result<Scores, Error> {
        let Warps { warp, inverse_warp, .. } = self;
        let jacobians = match self.jacobians.filter(|_| mask.is_none()) {
            Some(known) => known,
            None => [backend.jacobian_summary(warp, mask)?, backend.jacobian_summary(inverse_warp, mask)?],
        };
        Ok(Scores {
            warp: jacobians[0],
            inverse_warp: jacobians[1],
            warp_then_inverse: backend.inverse_consistency(warp, inverse_warp, mask)?,
            inverse_then_warp: backend.inverse_consistency(inverse_warp, warp, mask)?,
        })
    }
}

/// Scores of the quality of a warp and its inverse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scores {
    /// Statistics of the warp's Jacobian determinants.
    pub warp: JacobianSummary,
    /// Statistics of the inverse warp's Jacobian determinants.
    pub inverse_warp: JacobianSummary,
    /// Statistics of the distance between each point and its position after the warp and then the inverse warp.
    pub warp_then_inverse: InverseConsistency,
    /// Statistics of the distance between each point and its position after the inverse warp and then the warp.
    pub inverse_then_warp: InverseConsistency,
}

/// Statistics of the relaxation: the correction of both warps where one of them folded (by one-sided differences), or
/// where the residual of warp and inverse was larger than
/// [`largest_residual_voxels`](crate::Options::largest_residual_voxels).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relaxed {
    /// Number of rounds of corrections. A round corrects the voxels that fold or have too large a residual of warp and
    /// inverse.
    pub rounds: usize,
    /// Number of times that both warps were smoothed at all voxels. This happens only if the local corrections do not
    /// help. The number is 0 except for fields that are far from invertible.
    pub whole: usize,
    /// Number of voxels of both warps that still folded, or had too large a residual of warp and inverse, after the
    /// last correction; 0 unless the correction failed.
    pub beyond: usize,
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::Cpu;
    use antsreg_kernels::ops::Memory;

    use super::*;
    use crate::Options;

    /// A test warp whose displacement is zero except at its middle voxel, with an inverse warp of zeros.
    fn moved(spacing: f64, moved_mm: [f32; 3]) -> Warps<Cpu> {
        let shape = [21, 5, 5];
        let mut vectors = vec![[0.0; 3]; 525];
        vectors[262] = moved_mm.map(|mm| mm / spacing as f32);
        let field = |vectors: &[[f32; 3]]| Cpu.upload_field(shape, vectors).expect("as many as there are voxels");
        Warps {
            grid: Grid::axis_aligned(shape, [spacing; 3]),
            warp: field(&vectors),
            inverse_warp: field(&[[0.0; 3]; 525]),
            step_mm: None,
            jacobians: None,
        }
    }

    #[test]
    fn warps_are_rounded_to_a_step_by_which_none_folds() {
        let rounds = |mut warps: Warps<Cpu>, other_way: bool| {
            if other_way {
                std::mem::swap(&mut warps.warp, &mut warps.inverse_warp);
            }
            let before = [&warps.warp, &warps.inverse_warp].map(|field| Cpu.download_field(field).expect("vectors"));
            warps.round(&Cpu, Options::STEP_MM).expect("no device fails");
            let after = [&warps.warp, &warps.inverse_warp].map(|field| Cpu.download_field(field).expect("vectors"));
            let in_mm = warps.download_warp(&Cpu).expect("finite").vectors;
            assert!(match warps.step_mm {
                Some(step_mm) => in_mm.as_flattened().iter().all(|mm| (mm / step_mm).fract() == 0.0),
                None => before == after,
            });
            warps.step_mm.map_or(0.0, |step_mm| step_mm / Options::STEP_MM)
        };
        for other_way in [false, true] {
            assert_eq!(rounds(moved(1.0, [0.0; 3]), other_way), 1.0);
            assert_eq!(rounds(moved(1.3, [0.6003, 0.3, 0.0]), other_way), 1.0);
            // In this test warp, one voxel moves almost to its neighbour. The remaining distance of 0.0006 mm is
            // rounded to one step, 0.0004 mm to zero, or to two quarters of a step. 0.00002 mm is always rounded to zero.
            let near = |left: f32| moved(1.0, [1.0 - left, 0.0, 0.0]);
            let found = [0.0006, 0.0004, 0.000_11, 0.000_02].map(|left| rounds(near(left), other_way));
            assert_eq!(found, [1.0, 0.25, 0.0625, 0.0]);
            // If a voxel is smaller than the step, rounding can move its mapped point past that of its neighbour. Then
            // the warp would fold.
            assert_eq!(rounds(moved(0.0007, [0.0006, 0.0, 0.0]), other_way), 0.25);
        }
        // The smallest determinant of this warp is 0.05/1331.05, which is positive, but may be a rounding error.
        assert_eq!(rounds(moved(1331.05 / 1024.0, [1331.0 / 1024.0, 0.0, 0.0]), false), 0.0);
        let mut folded = moved(1.0, [0.0, -1.2, 0.0]);
        folded.round(&Cpu, Options::STEP_MM).expect("no device fails");
        assert_eq!(folded.step_mm, None);
    }

    #[test]
    fn a_warp_that_is_no_numbers_is_refused() {
        let shape = [5, 4, 3];
        let grid = Grid::axis_aligned(shape, [1.0; 3]);
        let warps_with = |value: f32| {
            let mut vectors = vec![[0.5, -0.25, 1.0]; 60];
            vectors[37][1] = value;
            let field = |vectors: &[[f32; 3]]| Cpu.upload_field(shape, vectors).expect("as many as there are voxels");
            Warps::<Cpu> {
                grid: grid.clone(),
                warp: field(&vectors),
                inverse_warp: field(&vectors[..1].repeat(60)),
                step_mm: None,
                jacobians: None,
            }
        };
        assert!(warps_with(f32::MAX / 2.0).download_warp(&Cpu).is_ok());
        for value in [f32::NAN, f32::INFINITY] {
            assert!(matches!(warps_with(value).download_warp(&Cpu), Err(Error::NotFinite)));
            assert!(warps_with(value).download_inverse_warp(&Cpu).is_ok());
        }
    }
}
