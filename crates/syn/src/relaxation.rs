//! Makes the two warps of a registration: composes them of the four fields, and relaxes them where they fold or are not
//! inverse to each other. Relaxation smooths or moves the displacements of single voxels and their surroundings.

use antsreg_core::report::Observer;
use antsreg_core::{Grid, Unit};
use antsreg_kernels::{Backend, InversionLimits, RelaxLimits, RelaxRound};

use crate::error::go_on;
use crate::fields::Side;
use crate::{Error, Options, Relaxed, Warps, restriction};

/// Smallest Jacobian determinant that relaxation (the correction of both warps) accepts, at every corner of every
/// trilinear cell. So a warp is invertible between voxels, too. [`Relaxed::beyond`](crate::Relaxed::beyond) counts the
/// voxels where relaxation failed.
const SMALLEST_JACOBIAN: f32 = 0.01;
/// Rounds of relaxation (corrections of the warps), in order of increasing strength. Each entry has the number of
/// rounds, the variance of the smoothing (voxels²), and a distance (voxels). Up to this distance along each axis, the
/// neighbours of a voxel that folds or has too large a residual are smoothed too. The first, weakest rounds correct
/// nearly all voxels. The other rounds smooth the remaining voxels over growing distances.
/// On fine grids, weaker rounds are raised to [`WEAKEST_MM`] ([`rounds_on`]).
const ROUNDS: [(usize, f64, usize); 5] = [(150, 1.0, 1), (100, 2.0, 2), (100, 4.0, 3), (50, 4.0, 6), (150, 4.0, 12)];
/// Standard deviation of the weakest smoothing, and smallest distance up to which neighbours are smoothed, mm in a human
/// head; elsewhere in the unit of the field of view. On a grid of 0.25 mm, folds extend over several voxels, and weaker
/// rounds would correct their border only.
const WEAKEST_MM: f64 = 0.5;
/// Largest number of voxels to which [`WEAKEST_MM`] raises a round. At 0.25 mm wider rounds took longer and were no
/// better.
const MOST_RAISED: f64 = 2.0;
/// Folds of a warp are removed in rounds. In this many first rounds, the folded voxels and their neighbours are
/// displaced by the smallest displacements that remove the fold. After that, one round in every `SMOOTHING_EVERY`
/// smooths instead, because the displacements for neighbouring folds may contradict each other.
const UNFOLDING_FIRST: usize = 10;
const SMOOTHING_EVERY: usize = 3;
/// Single folds may come back every few rounds without end, where each displacement undoes another. So from this round
/// on, as long as the smoothing is the weakest, a round smooths if the round before found at most `FEW` voxels.
const SMOOTHING_FEW: std::ops::Range<usize> = 60..ROUNDS[0].0;
const FEW: usize = 20;
/// If folds or too large residuals remain after all local corrections, both warps are smoothed at all voxels by a
/// Gaussian of this variance, voxels². This is tried at most `WHOLE_ATTEMPTS` times. Each attempt smooths twice as
/// often as the attempt before.
const WHOLE_VARIANCE: f64 = 4.0;
const WHOLE_ATTEMPTS: u32 = 14;

/// Limits of an inversion during relaxation. After one of the two warps has changed, the other is computed again as its
/// inverse, at voxels where the residual of both is above `untouched_voxels`, or above [`UNTOUCHED_SHARE`] of the largest
/// allowed residual if this is less.
const FOLLOW: InversionLimits = InversionLimits { steps: 50, tolerance_voxels: 0.005, untouched_voxels: 0.3 };
const UNTOUCHED_SHARE: f32 = 0.7;

/// The warp φm⁻¹ ∘ φf and the inverse warp φf⁻¹ ∘ φm, composed of fields on `grid`. φf and φm map points of the fixed
/// and of the moving image to the middle space.
///
/// Both warps are relaxed where one of them folds, or is so steep that the other cannot be its inverse between voxels.
pub(crate) fn warps<B: Backend>(
    backend: &B,
    grid: &Grid,
    [fixed, moving]: [Side<B>; 2],
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<(Warps<B>, Relaxed), Error> {
    let [mut warp, mut inverse_warp] = [fixed.to_middle, moving.to_middle];
    backend.compose(&mut warp, &moving.from_middle)?;
    go_on(observer.poll())?;
    backend.compose(&mut inverse_warp, &fixed.from_middle)?;
    // Relaxation needs the memory of these fields.
    drop((fixed.from_middle, moving.from_middle));
    let largest_residual_voxels = options.largest_residual_voxels as f32;
    let limits = RelaxLimits { smallest_jacobian: SMALLEST_JACOBIAN, largest_residual_voxels };
    let relaxation = backend.relax_workspace(grid.shape)?;
    let mut rounds = OnDevice { backend, shape: grid.shape, fields: [&mut warp, &mut inverse_warp], relaxation };
    let allowed = restriction::allowed(grid, options.restrict);
    let relaxed = relax(&mut rounds, &rounds_on(grid), limits, allowed, observer)?;
    let mut warps = Warps { grid: grid.clone(), warp, inverse_warp, step_mm: None, jacobians: None };
    if !options.exact {
        warps.round(backend, Options::step_mm(grid))?;
    }
    Ok((warps, relaxed))
}

/// The rounds of relaxation on a grid: those of [`ROUNDS`], raised to [`WEAKEST_MM`] on fine grids. Entries that become
/// equal are one entry, with the number of rounds of the first.
fn rounds_on(grid: &Grid) -> Vec<(usize, f64, usize)> {
    let spacing = if grid.is_slice() { grid.spacing.xy().max() } else { grid.spacing.max() };
    let weakest = (WEAKEST_MM * Unit::of_field(grid).mm() / spacing).min(MOST_RAISED);
    let raised = |(count, variance, reach): (usize, f64, usize)| {
        (count, variance.max(weakest * weakest), reach.max(weakest as usize))
    };
    let mut rounds = ROUNDS.map(raised).to_vec();
    rounds.dedup_by_key(|(_, variance, reach)| (*variance, *reach));
    rounds
}

/// The operations of relaxation, which corrects a warp and its inverse warp where they fold or are not inverse to each
/// other. A test replaces these operations.
trait Rounds {
    /// Runs a round of relaxation, which corrects voxels of a warp and its inverse. Returns how many of the examined
    /// voxels fold or have too large a residual of warp and inverse.
    fn run(&mut self, round: &RelaxRound) -> Result<usize, Error>;
    /// Makes the next round of corrections examine all voxels of both warps, not only those near the last changes; the
    /// first round does so anyway.
    fn examine_all(&mut self) -> Result<(), Error>;
    /// Smooths both warps at all voxels, `times` times. Then computes the second warp again as the inverse of the
    /// first.
    fn smooth_whole(&mut self, times: usize, observer: &mut dyn Observer) -> Result<(), Error>;
}

/// The operations of relaxation (the correction of a warp and its inverse), executed by a backend.
struct OnDevice<'a, B: Backend> {
    backend: &'a B,
    shape: [usize; 3],
    fields: [&'a mut B::Field; 2],
    relaxation: B::RelaxWorkspace,
}

impl<B: Backend> Rounds for OnDevice<'_, B> {
    fn run(&mut self, round: &RelaxRound) -> Result<usize, Error> {
        let [there, back] = &mut self.fields;
        Ok(self.backend.relax([there, back], round, &mut self.relaxation)?.iter().sum())
    }

    fn examine_all(&mut self) -> Result<(), Error> {
        Ok(self.backend.examine_all(&mut self.relaxation)?)
    }

    fn smooth_whole(&mut self, times: usize, observer: &mut dyn Observer) -> Result<(), Error> {
        let [there, back] = &mut self.fields;
        let [mut one, mut other] = self.backend.field_pair(self.shape)?;
        for _ in 0..times {
            go_on(observer.poll())?;
            self.backend.smooth_both_fields([there, back], WHOLE_VARIANCE, [&mut one, &mut other])?;
        }
        let limits = InversionLimits { untouched_voxels: 0.0, ..FOLLOW };
        Ok(self.backend.invert(there, back, &limits)?)
    }
}

/// Relaxes (corrects locally) a warp and its inverse until no voxel folds and no residual of warp and inverse is too
/// large (`limits`). `strengths` are the rounds, in the form of [`ROUNDS`]. A round examines only voxels near the last
/// changes. So after a round that finds no voxel outside the limits, all voxels are examined once more.
///
/// The relaxation always ends: if the rounds do not help, the whole warps are smoothed, twice as often in each attempt.
/// The displacements at the border of the grid are zero, so smoothing brings the warps closer to zero, and warps close
/// to zero are within the limits.
fn relax(
    rounds: &mut impl Rounds,
    strengths: &[(usize, f64, usize)],
    limits: RelaxLimits,
    allowed: [[f32; 3]; 3],
    observer: &mut dyn Observer,
) -> Result<Relaxed, Error> {
    let mut relaxed = Relaxed { rounds: 0, whole: 0, beyond: 0 };
    for attempt in 0..=WHOLE_ATTEMPTS {
        if attempt > 0 {
            let times = 1 << (attempt - 1);
            rounds.smooth_whole(times, observer)?;
            rounds.examine_all()?;
            relaxed.whole += times;
        }
        attempt_to_relax(rounds, strengths, limits, allowed, &mut relaxed, observer)?;
        if relaxed.beyond == 0 {
            break;
        }
    }
    Ok(relaxed)
}

/// Relaxes the two warps in rounds, until no voxel folds or has too large a residual of warp and inverse, or until all
/// rounds in `strengths` are done. A round corrects the voxels that fold or have too large a residual. The caller must
/// have marked all voxels for examination.
fn attempt_to_relax(
    rounds: &mut impl Rounds,
    strengths: &[(usize, f64, usize)],
    limits: RelaxLimits,
    allowed: [[f32; 3]; 3],
    relaxed: &mut Relaxed,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let untouched_voxels = FOLLOW.untouched_voxels.min(UNTOUCHED_SHARE * limits.largest_residual_voxels);
    let follow = InversionLimits { untouched_voxels, ..FOLLOW };
    let (mut everywhere, mut done) = (true, 0);
    for &(count, variance_voxels, reach_voxels) in strengths {
        for _ in 0..count {
            go_on(observer.poll())?;
            let few = SMOOTHING_FEW.contains(&done) && relaxed.beyond <= FEW;
            let unfolds = done < UNFOLDING_FIRST || !(few || done % SMOOTHING_EVERY == 0);
            let round = RelaxRound { limits, variance_voxels, reach_voxels, unfolds, allowed, follow };
            relaxed.beyond = rounds.run(&round)?;
            if relaxed.beyond == 0 && everywhere {
                return Ok(());
            }
            done += 1;
            relaxed.rounds += 1;
            everywhere = relaxed.beyond == 0;
            if everywhere {
                rounds.examine_all()?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::Cpu;
    use antsreg_kernels::ops::{Fields as _, Memory as _, Relaxation};

    use super::*;
    use crate::Fields;

    const LIMITS: RelaxLimits = RelaxLimits { smallest_jacobian: 0.03, largest_residual_voxels: 0.45 };

    const FREE: [[f32; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

    /// A replacement, in tests, for the operations that relax (correct) warps. Each round of corrections returns the
    /// given number of bad voxels, and then repeats the last number until the warps have been smoothed often enough.
    /// All calls are recorded.
    struct Script {
        finds: Vec<usize>,
        enough: usize,
        rounds: Vec<RelaxRound>,
        /// For each call of `examine_all`, which makes the next round examine all voxels: the number of rounds that ran
        /// before the call.
        examined_after: Vec<usize>,
        /// For each call of `smooth_whole`: how many times in succession this call smooths the warps.
        smoothed: Vec<usize>,
    }

    impl Script {
        fn run(finds: &[usize], enough: usize) -> (Relaxed, Script) {
            let (rounds, examined_after, smoothed) = Default::default();
            let mut script = Script { finds: finds.to_vec(), enough, rounds, examined_after, smoothed };
            let relaxed = relax(&mut script, &ROUNDS, LIMITS, FREE, &mut ()).expect("nothing fails");
            (relaxed, script)
        }
    }

    impl Rounds for Script {
        fn run(&mut self, round: &RelaxRound) -> Result<usize, Error> {
            let at = self.rounds.len().min(self.finds.len() - 1);
            self.rounds.push(*round);
            Ok(if self.smoothed.iter().sum::<usize>() < self.enough { self.finds[at] } else { 0 })
        }

        fn examine_all(&mut self) -> Result<(), Error> {
            self.examined_after.push(self.rounds.len());
            Ok(())
        }

        fn smooth_whole(&mut self, times: usize, _: &mut dyn Observer) -> Result<(), Error> {
            self.smoothed.push(times);
            Ok(())
        }
    }

    #[test]
    fn weak_rounds_are_for_grids_that_are_not_fine_along_every_axis() {
        let on = |spacing: [f64; 3]| {
            rounds_on(&Grid::axis_aligned(spacing.map(|spacing| (200.0 / spacing) as usize), spacing))
        };
        for spacing in [[1.0; 3], [0.5; 3], [0.25, 0.25, 3.0]] {
            assert_eq!(on(spacing), ROUNDS, "{spacing:?}");
        }
        // 0.5 mm are two voxels, a variance of four.
        let fine = [(150, 4.0, 2), (100, 4.0, 3), (50, 4.0, 6), (150, 4.0, 12)];
        assert_eq!(on([0.25, 0.2, 0.25]), fine);
        assert_eq!(on([0.001; 3]), fine);
        let slice = Grid::axis_aligned([800, 700, 1], [0.25, 0.25, 1.0]);
        assert_eq!(rounds_on(&slice), fine, "the third axis of a slice does not count");
    }

    #[test]
    fn the_last_round_examines_all_voxels() {
        let (relaxed, script) = Script::run(&[0], 1);
        assert_eq!(
            (relaxed, script.rounds.len()),
            (Relaxed { rounds: 0, whole: 0, beyond: 0 }, 1),
            "the first examines all"
        );
        let (relaxed, script) = Script::run(&[5, 2, 0, 3, 0, 0], 1);
        assert_eq!(relaxed, Relaxed { rounds: 5, whole: 0, beyond: 0 });
        assert_eq!((script.rounds.len(), script.examined_after), (6, vec![3, 5]));
    }

    #[test]
    fn voxels_that_stay_beyond_the_limits_are_smoothed_more_then_everything_is() {
        let (relaxed, script) = Script::run(&[21], 6);
        assert_eq!(relaxed, Relaxed { rounds: 3 * 550, whole: 7, beyond: 0 });
        assert_eq!((script.smoothed, script.examined_after), (vec![1, 2, 4], vec![550, 1100, 1650]));
        let first = &script.rounds[..550];
        assert!(first.is_sorted_by_key(|round| (round.variance_voxels, round.reach_voxels)));
        assert!(first[..UNFOLDING_FIRST].iter().all(|round| round.unfolds));
        assert!((10..550).all(|n| first[n].unfolds == (n % 3 != 0)));
    }

    #[test]
    fn the_last_few_folds_are_smoothed_away() {
        let smoothing = |found: usize| {
            let (_, script) = Script::run(&[found], 1);
            script.rounds[60..150].iter().filter(|round| !round.unfolds).count()
        };
        assert_eq!([smoothing(21), smoothing(20)], [30, 90]);
    }

    #[test]
    fn what_nothing_helps_is_counted() {
        let (relaxed, script) = Script::run(&[7], usize::MAX);
        assert_eq!((relaxed.beyond, relaxed.whole), (7, (1 << 14) - 1));
        assert_eq!(script.smoothed.len(), 14);
    }

    #[test]
    fn whole_warps_are_smoothed_as_often_as_asked_and_inverted_again() {
        let shape = [16, 14, 12];
        let bumps = (0..16 * 14 * 12).map(|n| {
            let inside = [n % 16, n / 16 % 14, n / 224].iter().zip(shape).all(|(at, n)| *at > 2 && *at < n - 3);
            if inside { [0.2 + 0.1 * (n % 3) as f32, -0.2, 0.1] } else { [0.0; 3] }
        });
        let bumps: Vec<[f32; 3]> = bumps.collect();
        let field = || Cpu.upload_field(shape, &bumps).expect("a field");
        let (mut there, mut back) = (field(), Cpu.field(shape).expect("a field"));
        let relaxation = Cpu.relax_workspace(shape).expect("memory");
        let mut rounds = OnDevice { backend: &Cpu, shape, fields: [&mut there, &mut back], relaxation };
        rounds.smooth_whole(2, &mut ()).expect("no device fails");
        let [mut expected, mut other, mut one, mut two] = [field(), field(), field(), field()];
        for _ in 0..2 {
            let scratch = [&mut one, &mut two];
            Cpu.smooth_both_fields([&mut expected, &mut other], WHOLE_VARIANCE, scratch).expect("one shape");
        }
        assert_eq!(Cpu.download_field(&there).ok(), Cpu.download_field(&expected).ok());
        let missed = Cpu.inverse_consistency(&back, &there, None).expect("one shape");
        assert!(missed.largest_voxels < f64::from(FOLLOW.tolerance_voxels), "{missed:?}");
        assert!(Cpu.magnitude(&there).expect("a field") > 0.5, "this test needs displacements");
    }

    #[test]
    fn warps_are_rounded_unless_exact_ones_are_asked_for() {
        let grid = Grid::axis_aligned([9, 8, 7], [1.0, 2.0, 0.5]);
        for (exact, expected) in [(false, Some(Options::STEP_MM / 2.0)), (true, None)] {
            let options = Options { exact, ..Options::default() };
            let fields = Fields::<Cpu>::identities(&Cpu, &grid, 1).expect("fields");
            let (warps, _) = warps(&Cpu, &grid, fields.sides, &options, &mut ()).expect("warps");
            assert_eq!(warps.step_mm, expected);
        }
    }

    #[test]
    fn folds_far_from_the_last_changes_are_found_when_all_voxels_are_examined() {
        let shape = [16, 14, 12];
        let (mut there, mut back) = (Cpu.field(shape).expect("a field"), Cpu.field(shape).expect("a field"));
        let relaxation = Cpu.relax_workspace(shape).expect("memory");
        let mut rounds = OnDevice { backend: &Cpu, shape, fields: [&mut there, &mut back], relaxation };
        let (variance_voxels, reach_voxels, unfolds) = (1.0, 1, true);
        let round =
            RelaxRound { limits: LIMITS, variance_voxels, reach_voxels, unfolds, allowed: FREE, follow: FOLLOW };
        assert_eq!(rounds.run(&round).expect("no device fails"), 0);
        // One voxel is moved beyond its neighbour.
        let mut vectors = vec![[0.0; 3]; 16 * 14 * 12];
        vectors[8 + 16 * (7 + 14 * 6)] = [1.5, 0.0, 0.0];
        *rounds.fields[0] = Cpu.upload_field(shape, &vectors).expect("a field");
        rounds.examine_all().expect("no device fails");
        assert!(rounds.run(&round).expect("no device fails") > 0);
    }
}
