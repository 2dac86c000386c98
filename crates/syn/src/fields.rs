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
    /// Both sides: nothing moves.
    pub(crate) fn identities(backend: &B, grid: &Grid) -> Result<[Self; 2], Error> {
        let [fixed, moving] = backend.field_pair(grid.shape)?;
        let [from_fixed, from_moving] = backend.field_pair(grid.shape)?;
        let side = |to_middle, from_middle| Side { to_middle, from_middle };
        Ok([side(fixed, from_fixed), side(moving, from_moving)])
    }

    /// The same displacements of both sides on another grid of the same space.
    pub(crate) fn on(both: &[Self; 2], backend: &B, from: &Grid, to: &Grid) -> Result<[Self; 2], Error> {
        let map = from.world_to_voxel().after(&to.voxel_to_world());
        let scale = Matrix3::from_diagonal(&from.spacing.component_div(&to.spacing));
        let mut sides = Side::identities(backend, to)?;
        for (side, out) in both.iter().zip(&mut sides) {
            backend.resize_field(&side.to_middle, &map, &scale, &mut out.to_middle)?;
            backend.resize_field(&side.from_middle, &map, &scale, &mut out.from_middle)?;
        }
        Ok(sides)
    }
}

/// Warp = φm⁻¹ after φf, inverse warp = φf⁻¹ after φm.
///
/// Where one of them folds, or is too steep for the other to be its inverse between voxels as well, both are relaxed.
pub(crate) fn warps<B: Backend>(
    backend: &B,
    grid: &Grid,
    [fixed, moving]: &[Side<B>; 2],
    largest_residual_voxels: f64,
) -> Result<(Warps<B>, Relaxed), Error> {
    let mut warp = backend.field(grid.shape)?;
    backend.compose(&fixed.to_middle, &moving.from_middle, &mut warp)?;
    let mut inverse_warp = backend.field(grid.shape)?;
    backend.compose(&moving.to_middle, &fixed.from_middle, &mut inverse_warp)?;
    let largest_residual_voxels = largest_residual_voxels as f32;
    let limits = RelaxLimits { smallest_jacobian: SMALLEST_JACOBIAN, largest_residual_voxels };
    let relaxation = backend.relaxation(grid.shape)?;
    let relaxed = relax(&mut Drawing { backend, fields: [&mut warp, &mut inverse_warp], relaxation }, limits)?;
    Ok((Warps { grid: grid.clone(), warp, inverse_warp }, relaxed))
}

/// Two fields that are drawn together, round by round.
trait Rounds {
    /// One round. Returns how many voxels were beyond the limits, of those that it examined.
    fn draw(&mut self, round: &RelaxRound) -> Result<usize, Error>;
    /// Has the next round examine all voxels, as the first one does.
    fn examine_all(&mut self) -> Result<(), Error>;
}

/// On a device.
struct Drawing<'a, B: Backend> {
    backend: &'a B,
    fields: [&'a mut B::Field; 2],
    relaxation: B::Relaxation,
}

impl<B: Backend> Rounds for Drawing<'_, B> {
    fn draw(&mut self, round: &RelaxRound) -> Result<usize, Error> {
        let [there, back] = &mut self.fields;
        Ok(self.backend.relax([there, back], round, &mut self.relaxation)?.iter().sum())
    }

    fn examine_all(&mut self) -> Result<(), Error> {
        self.backend.examine_all(&mut self.relaxation)
    }
}

/// Draws two fields together until no voxel of either is beyond the limits, or until it is hopeless. A round that finds
/// nothing has looked near changes alone, so that all is examined once more before it is believed.
fn relax(drawing: &mut impl Rounds, limits: RelaxLimits) -> Result<Relaxed, Error> {
    let mut relaxed = Relaxed { rounds: 0, beyond: 0 };
    let mut everywhere = true;
    for (rounds, variance_voxels, reach_voxels) in ROUNDS {
        let round = RelaxRound { limits, variance_voxels, reach_voxels, follow: FOLLOW };
        for _ in 0..rounds {
            relaxed.beyond = drawing.draw(&round)?;
            if relaxed.beyond == 0 && everywhere {
                return Ok(relaxed);
            }
            relaxed.rounds += 1;
            everywhere = relaxed.beyond == 0;
            if everywhere {
                drawing.examine_all()?;
            }
        }
    }
    Ok(relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: RelaxLimits = RelaxLimits { smallest_jacobian: 0.03, largest_residual_voxels: 0.45 };

    /// Finds what it is told to, over and over at the end, and remembers what it was asked for.
    struct Script {
        finds: Vec<usize>,
        variances: Vec<f64>,
        /// Rounds that had passed whenever all was to be examined.
        examined_after: Vec<usize>,
    }

    impl Script {
        fn run(finds: &[usize]) -> (Relaxed, Script) {
            let mut script = Script { finds: finds.to_vec(), variances: Vec::new(), examined_after: Vec::new() };
            let relaxed = relax(&mut script, LIMITS).expect("nothing fails");
            (relaxed, script)
        }
    }

    impl Rounds for Script {
        fn draw(&mut self, round: &RelaxRound) -> Result<usize, Error> {
            let at = self.variances.len().min(self.finds.len() - 1);
            self.variances.push(round.variance_voxels);
            Ok(self.finds[at])
        }

        fn examine_all(&mut self) -> Result<(), Error> {
            self.examined_after.push(self.variances.len());
            Ok(())
        }
    }

    #[test]
    fn nothing_is_believed_before_all_was_examined() {
        let (relaxed, script) = Script::run(&[0]);
        assert_eq!(
            (relaxed, script.variances.len()),
            (Relaxed { rounds: 0, beyond: 0 }, 1),
            "the first examines all"
        );
        let (relaxed, script) = Script::run(&[5, 2, 0, 3, 0, 0]);
        assert_eq!(relaxed, Relaxed { rounds: 5, beyond: 0 });
        assert_eq!((script.variances.len(), script.examined_after), (6, vec![3, 5]));
    }

    #[test]
    fn what_resists_is_smoothed_more_and_told_in_the_end() {
        let (relaxed, script) = Script::run(&[7]);
        assert_eq!(relaxed, Relaxed { rounds: 400, beyond: 7 });
        assert!(script.variances.is_sorted() && script.examined_after.is_empty());
        let rounds_of = |variance| script.variances.iter().filter(|asked| **asked == variance).count();
        assert_eq!([1.0, 2.0, 4.0].map(rounds_of), [150, 100, 150]);
    }
}
