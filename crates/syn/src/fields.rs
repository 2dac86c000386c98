//! The four fields of a symmetric registration, and the two warps they make.

use antsreg_core::Grid;
use antsreg_kernels::{Backend, Error, InversionLimits, RelaxLimits, RelaxRound};
use nalgebra::Matrix3;

use crate::{Relaxed, Warps};

/// While iterating, inverses are kept to a small fraction of a voxel: started from the last one, one or two steps do.
pub(crate) const INVERSION: InversionLimits =
    InversionLimits { steps: 20, tolerance_voxels: 0.03, untouched_voxels: 0.0 };

/// What relaxing aims at: nowhere a Jacobian determinant, by central differences, below this.
/// [`Relaxed::beyond`](crate::Relaxed::beyond) tells where it failed.
const SMALLEST_JACOBIAN: f32 = 0.03;
/// Rounds of relaxing by growing strength: variance, voxels², and reach, voxels. The first ones settle nearly everything as
/// gently as can be; what resists them is smoothed more.
const ROUNDS: [(usize, f64, usize); 3] = [(150, 1.0, 1), (100, 2.0, 2), (150, 4.0, 3)];

/// After a change in one warp the other follows where it must, and stays where it may.
const FOLLOW: InversionLimits = InversionLimits { steps: 50, tolerance_voxels: 0.005, untouched_voxels: 0.2 };

/// One side's way to the middle and back, in voxels of the level's grid.
pub(crate) struct Side<B: Backend> {
    /// φ: from the image to the middle.
    pub(crate) to_middle: B::Field,
    /// φ⁻¹: from the middle to the image.
    pub(crate) from_middle: B::Field,
}

impl<B: Backend> Side<B> {
    /// Nothing moves.
    pub(crate) fn identity(backend: &B, grid: &Grid) -> Result<Self, Error> {
        Ok(Side { to_middle: backend.field(grid.shape)?, from_middle: backend.field(grid.shape)? })
    }

    /// The same displacements on another grid of the same space.
    pub(crate) fn on(&self, backend: &B, from: &Grid, to: &Grid) -> Result<Self, Error> {
        let map = from.world_to_voxel().after(&to.voxel_to_world());
        let scale = Matrix3::from_diagonal(&from.spacing.component_div(&to.spacing));
        let mut side = Side::identity(backend, to)?;
        backend.resize_field(&self.to_middle, &map, &scale, &mut side.to_middle)?;
        backend.resize_field(&self.from_middle, &map, &scale, &mut side.from_middle)?;
        Ok(side)
    }
}

/// Warp = φm⁻¹ after φf, inverse warp = φf⁻¹ after φm.
///
/// Where one of them folds, or is too steep for the other to be its inverse between voxels as well, both are relaxed.
pub(crate) fn warps<B: Backend>(
    backend: &B,
    grid: &Grid,
    fixed: &Side<B>,
    moving: &Side<B>,
    largest_residual_voxels: f64,
) -> Result<(Warps<B>, Relaxed), Error> {
    let mut warp = backend.field(grid.shape)?;
    backend.compose(&fixed.to_middle, &moving.from_middle, &mut warp)?;
    let mut inverse_warp = backend.field(grid.shape)?;
    backend.compose(&moving.to_middle, &fixed.from_middle, &mut inverse_warp)?;
    let largest_residual_voxels = largest_residual_voxels as f32;
    let limits = RelaxLimits { smallest_jacobian: SMALLEST_JACOBIAN, largest_residual_voxels };
    let relaxed = relax(backend, [&mut warp, &mut inverse_warp], grid.shape, limits)?;
    Ok((Warps { grid: grid.clone(), warp, inverse_warp }, relaxed))
}

/// Relaxes two fields until no voxel of either is beyond the limits, or until it is hopeless.
fn relax<B: Backend>(
    backend: &B,
    [there, back]: [&mut B::Field; 2],
    shape: [usize; 3],
    limits: RelaxLimits,
) -> Result<Relaxed, Error> {
    let mut relaxation = backend.relaxation(shape)?;
    let mut relaxed = Relaxed { rounds: 0, beyond: 0 };
    let mut everywhere = true;
    for (rounds, variance_voxels, reach_voxels) in ROUNDS {
        let round = RelaxRound { limits, variance_voxels, reach_voxels, follow: FOLLOW };
        for _ in 0..rounds {
            relaxed.beyond = backend.relax([&mut *there, &mut *back], &round, &mut relaxation)?.iter().sum();
            if relaxed.beyond == 0 && everywhere {
                return Ok(relaxed);
            }
            relaxed.rounds += 1;
            everywhere = relaxed.beyond == 0;
            if everywhere {
                backend.examine_all(&mut relaxation)?;
            }
        }
    }
    Ok(relaxed)
}
