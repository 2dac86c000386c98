//! The two warps of a registration: composed of the four fields, and relaxed where they fold or are not inverse to each other.

use antsreg_core::Grid;
use antsreg_core::report::Observer;
use antsreg_kernels::{Backend, InversionLimits, RelaxLimits, RelaxRound};

use crate::error::go_on;
use crate::fields::Side;
use crate::{Error, Relaxed, Warps};

/// Relaxing aims at Jacobian determinants, by central differences, of at least this everywhere.
/// [`Relaxed::beyond`](crate::Relaxed::beyond) counts where it failed.
const SMALLEST_JACOBIAN: f32 = 0.03;
/// Rounds of relaxing by growing strength: variance, voxels², and reach, voxels. The first, weakest ones correct nearly
/// all voxels; those that remain are smoothed more.
const ROUNDS: [(usize, f64, usize); 3] = [(150, 1.0, 1), (100, 2.0, 2), (150, 4.0, 3)];

/// After a change of one warp the other one is inverted anew where it misses by more than `untouched_voxels`.
const FOLLOW: InversionLimits = InversionLimits { steps: 50, tolerance_voxels: 0.005, untouched_voxels: 0.2 };

/// Warp = φm⁻¹ after φf, inverse warp = φf⁻¹ after φm, of fields on `grid`.
///
/// Where one of them folds, or is so steep that the other one cannot be its inverse between voxels as well, both are relaxed.
pub(crate) fn warps<B: Backend>(
    backend: &B,
    grid: &Grid,
    [fixed, moving]: &[Side<B>; 2],
    largest_residual_voxels: f64,
    observer: &mut dyn Observer,
) -> Result<(Warps<B>, Relaxed), Error> {
    let mut warp = backend.field(grid.shape)?;
    backend.compose(&fixed.to_middle, &moving.from_middle, &mut warp)?;
    go_on(observer.poll())?;
    let mut inverse_warp = backend.field(grid.shape)?;
    backend.compose(&moving.to_middle, &fixed.from_middle, &mut inverse_warp)?;
    let largest_residual_voxels = largest_residual_voxels as f32;
    let limits = RelaxLimits { smallest_jacobian: SMALLEST_JACOBIAN, largest_residual_voxels };
    let relaxation = backend.relaxation(grid.shape)?;
    let mut rounds = OnDevice { backend, fields: [&mut warp, &mut inverse_warp], relaxation };
    let relaxed = relax(&mut rounds, limits, observer)?;
    Ok((Warps { grid: grid.clone(), warp, inverse_warp }, relaxed))
}

/// Rounds of relaxing two fields.
trait Rounds {
    /// Runs a round. Returns how many of the voxels that it examined were beyond the limits.
    fn run(&mut self, round: &RelaxRound) -> Result<usize, Error>;
    /// Makes the next round examine all voxels, as the first one does.
    fn examine_all(&mut self) -> Result<(), Error>;
}

/// Rounds on a device.
struct OnDevice<'a, B: Backend> {
    backend: &'a B,
    fields: [&'a mut B::Field; 2],
    relaxation: B::Relaxation,
}

impl<B: Backend> Rounds for OnDevice<'_, B> {
    fn run(&mut self, round: &RelaxRound) -> Result<usize, Error> {
        let [there, back] = &mut self.fields;
        Ok(self.backend.relax([there, back], round, &mut self.relaxation)?.iter().sum())
    }

    fn examine_all(&mut self) -> Result<(), Error> {
        Ok(self.backend.examine_all(&mut self.relaxation)?)
    }
}

/// Relaxes two fields until no voxel of either is beyond the limits, or until the rounds are used up. A round examines only
/// voxels near the last changes; so after a round that finds none, all are examined once more.
fn relax(rounds: &mut impl Rounds, limits: RelaxLimits, observer: &mut dyn Observer) -> Result<Relaxed, Error> {
    let mut relaxed = Relaxed { rounds: 0, beyond: 0 };
    let mut everywhere = true;
    for (count, variance_voxels, reach_voxels) in ROUNDS {
        let round = RelaxRound { limits, variance_voxels, reach_voxels, follow: FOLLOW };
        for _ in 0..count {
            go_on(observer.poll())?;
            relaxed.beyond = rounds.run(&round)?;
            if relaxed.beyond == 0 && everywhere {
                return Ok(relaxed);
            }
            relaxed.rounds += 1;
            everywhere = relaxed.beyond == 0;
            if everywhere {
                rounds.examine_all()?;
            }
        }
    }
    Ok(relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: RelaxLimits = RelaxLimits { smallest_jacobian: 0.03, largest_residual_voxels: 0.45 };

    /// Returns given counts, the last one over and over, and records the calls.
    struct Script {
        finds: Vec<usize>,
        variances: Vec<f64>,
        /// Number of rounds before each call of `examine_all`.
        examined_after: Vec<usize>,
    }

    impl Script {
        fn run(finds: &[usize]) -> (Relaxed, Script) {
            let mut script = Script { finds: finds.to_vec(), variances: Vec::new(), examined_after: Vec::new() };
            let relaxed = relax(&mut script, LIMITS, &mut ()).expect("nothing fails");
            (relaxed, script)
        }
    }

    impl Rounds for Script {
        fn run(&mut self, round: &RelaxRound) -> Result<usize, Error> {
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
    fn the_last_round_examines_all_voxels() {
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
    fn voxels_that_stay_beyond_the_limits_are_smoothed_more_and_counted() {
        let (relaxed, script) = Script::run(&[7]);
        assert_eq!(relaxed, Relaxed { rounds: 400, beyond: 7 });
        assert!(script.variances.is_sorted() && script.examined_after.is_empty());
        let rounds_of = |variance| script.variances.iter().filter(|asked| **asked == variance).count();
        assert_eq!([1.0, 2.0, 4.0].map(rounds_of), [150, 100, 150]);
    }
}
