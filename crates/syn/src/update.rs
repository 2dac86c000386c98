//! The update of the displacement fields of the fixed or of the moving image: the images in the middle space, the sum
//! of the updates of all channels (pairs of images), and the step along this sum.

use antsreg_core::report::Observer;
use antsreg_kernels::{Backend, Sampling};

use crate::error::go_on;
use crate::fields::{INVERSION, Side};
use crate::load::Sources;
use crate::{Error, Options};

/// Memory for the update of the fixed or of the moving displacement field, allocated once for each level.
pub(crate) struct SideUpdate<B: Backend> {
    /// The fixed or moving image of the channel (pair of images) that is being processed, resampled in the middle
    /// space.
    pub(crate) warped: B::Image,
    /// The mask of the fixed or moving image, resampled in the middle space; `None` without a mask.
    pub(crate) warped_mask: Option<B::Image>,
    pub(crate) updates: Updates<B>,
}

impl<B: Backend> SideUpdate<B> {
    /// Makes the memory for the updates of the fixed and of the moving image's displacement fields; `masked` says which
    /// of the two images has a mask.
    pub(crate) fn both(backend: &B, shape: [usize; 3], masked: [bool; 2]) -> Result<[Self; 2], Error> {
        let [sum, other_sum] = backend.field_pair(shape)?;
        let [next, other_next] = backend.field_pair(shape)?;
        let side = |masked: bool, sum, next| -> Result<Self, Error> {
            Ok(SideUpdate {
                warped: backend.image(shape)?,
                warped_mask: masked.then(|| backend.image(shape)).transpose()?,
                updates: Updates { sum, next, first_magnitude: 0.0 },
            })
        };
        Ok([side(masked[0], sum, next)?, side(masked[1], other_sum, other_next)?])
    }

    /// Resamples the mask of the fixed or moving image in the middle space of the deformable registration, if there is
    /// a mask.
    pub(crate) fn warp_mask(&mut self, backend: &B, sources: &Sources<B>, side: &Side<B>) -> Result<(), Error> {
        if let (Some(mask), Some(warped)) = (&sources.mask, &mut self.warped_mask) {
            backend.warp(mask.image, &side.from_middle, &mask.grid_to_image, Sampling::Nearest, warped)?;
        }
        Ok(())
    }
}

/// Moves the displacement fields of the fixed and of the moving image one step along their updates.
pub(crate) fn step_both<B: Backend>(
    backend: &B,
    options: &Options,
    reinvert: bool,
    [fixed, moving]: &mut [SideUpdate<B>; 2],
    [fixed_side, moving_side]: &mut [Side<B>; 2],
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    go_on(observer.poll())?;
    // The updates of all channels have been added to the sum, so the memory for the updates of single channels is free.
    let (fixed, moving) = (&mut fixed.updates, &mut moving.updates);
    let (variance, scratch) = (options.update_variance, [&mut fixed.next, &mut moving.next]);
    backend.smooth_both_fields([&mut fixed.sum, &mut moving.sum], variance, scratch)?;
    go_on(observer.poll())?;
    // The field φ maps points of the image to the middle space. Images are resampled through φ⁻¹, so φ moves against
    // the gradient of the metric.
    backend.advance_both(
        [&fixed_side.to_middle, &moving_side.to_middle],
        [&fixed.sum, &moving.sum],
        -options.gradient_step,
        [&mut fixed.next, &mut moving.next],
    )?;
    std::mem::swap(&mut fixed_side.to_middle, &mut fixed.next);
    std::mem::swap(&mut moving_side.to_middle, &mut moving.next);
    go_on(observer.poll())?;
    let (variance, scratch) = (options.total_variance, [&mut fixed.next, &mut moving.next]);
    backend.smooth_both_fields([&mut fixed_side.to_middle, &mut moving_side.to_middle], variance, scratch)?;
    go_on(observer.poll())?;
    let inverses = [&mut fixed_side.from_middle, &mut moving_side.from_middle];
    backend.invert_both([&fixed_side.to_middle, &moving_side.to_middle], inverses, &INVERSION)?;
    // The fields to the middle space are replaced by the inverses of their inverses. The interpolation between voxels
    // blurs the fields slightly, which regularises them. Without this blur, many iterations lead to folds.
    if reinvert {
        go_on(observer.poll())?;
        let inverses = [&mut fixed_side.to_middle, &mut moving_side.to_middle];
        backend.invert_both([&fixed_side.from_middle, &moving_side.from_middle], inverses, &INVERSION)?;
    }
    Ok(())
}

/// The weighted sum of the updates of all channels, for the fixed or the moving fields.
///
/// As in ITK's `ObjectToObjectMultiMetricv4`, each update is divided by its magnitude (root of the sum of squares over
/// all voxels) and multiplied by its weight before it is added. So a weight means the same for every metric and unit.
/// The sum is then multiplied by the magnitude of the first channel's update; ITK uses the mean of all magnitudes. The
/// difference does not matter, because the step is scaled to its length later. In this way, a channel that is given
/// twice has exactly the effect of a channel that is given once.
pub(crate) struct Updates<B: Backend> {
    pub(crate) sum: B::Field,
    /// The update of the second or a later channel, until it is added to the sum of all channels; then scratch memory.
    pub(crate) next: B::Field,
    first_magnitude: f64,
}

impl<B: Backend> Updates<B> {
    /// The memory into which the update of the displacement field by channel `n` (pair of images) is written, and the
    /// scratch memory that is free meanwhile.
    pub(crate) fn of_channel(&mut self, n: usize) -> (&mut B::Field, Option<&mut B::Field>) {
        if n == 0 { (&mut self.sum, Some(&mut self.next)) } else { (&mut self.next, None) }
    }

    /// Adds the update of the displacement field by channel `n` (pair of images) to the sum over the channels. Its
    /// weight is `weight_ratio` times the weight of the first channel.
    pub(crate) fn add(&mut self, backend: &B, n: usize, weight_ratio: f64) -> Result<(), Error> {
        if n == 0 {
            self.first_magnitude = backend.magnitude(&self.sum)?;
            return Ok(());
        }
        let magnitude = backend.magnitude(&self.next)?;
        if magnitude == 0.0 {
            return Ok(());
        }
        // The update by a channel (pair of images) after the first is scaled to the magnitude of the first channel's
        // update. If the first update is zero, the scaling is left out.
        let length = if self.first_magnitude > 0.0 { self.first_magnitude } else { 1.0 };
        Ok(backend.add_scaled(&mut self.sum, &self.next, weight_ratio * length / magnitude)?)
    }
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::Cpu;

    use super::*;

    const SHAPE: [usize; 3] = [18, 16, 14];

    fn waves() -> Vec<[f32; 3]> {
        let wave =
            |at: usize, n: usize, waves: f32| (waves * std::f32::consts::PI * at as f32 / (n - 1) as f32).sin();
        let [nx, ny, nz] = SHAPE;
        let voxels = (0..nx * ny * nz).map(|n| {
            let (x, y, z) = (n % nx, n / nx % ny, n / (nx * ny));
            let height = wave(x, nx, 1.0) * wave(y, ny, 1.0) * wave(z, nz, 1.0);
            [height * wave(y, ny, 4.0), height * wave(z, nz, 3.0), height * wave(x, nx, 5.0)]
        });
        voxels.collect()
    }

    /// Test fields of the fixed and of the moving image after one step along waves. The moving image's update has the
    /// opposite direction and twice the length.
    fn stepped(total_variance: f64, reinvert: bool) -> [Side<Cpu>; 2] {
        let field = || Cpu.field(SHAPE).expect("a field");
        let update = |scale: f32| {
            let scaled: Vec<[f32; 3]> = waves().iter().map(|vector| vector.map(|value| scale * value)).collect();
            let sum = Cpu.upload_field(SHAPE, &scaled).expect("as many as there are voxels");
            SideUpdate {
                warped: Cpu.image(SHAPE).expect("an image"),
                warped_mask: None,
                updates: Updates { sum, next: field(), first_magnitude: 0.0 },
            }
        };
        let side = || Side { to_middle: field(), from_middle: field() };
        let (mut updates, mut sides): ([SideUpdate<Cpu>; 2], _) = ([update(1.0), update(-2.0)], [side(), side()]);
        let options = Options { gradient_step: 0.9, update_variance: 1.0, total_variance, ..Options::default() };
        step_both(&Cpu, &options, reinvert, &mut updates, &mut sides, &mut ()).expect("a step");
        sides
    }

    fn vectors(field: &<Cpu as Backend>::Field) -> Vec<[f32; 3]> {
        Cpu.download_field(field).expect("it is here")
    }

    #[test]
    fn the_whole_field_is_smoothed_if_asked_for() {
        let ([mut rough, _], [smooth, _]) = (stepped(0.0, false), stepped(0.8, false));
        let [mut other, mut scratch, mut other_scratch] = [0; 3].map(|_| Cpu.field(SHAPE).expect("a field"));
        Cpu.smooth_both_fields([&mut rough.to_middle, &mut other], 0.8, [&mut scratch, &mut other_scratch])
            .expect("one shape");
        assert_eq!(vectors(&rough.to_middle), vectors(&smooth.to_middle));
        assert_ne!(vectors(&stepped(0.0, false)[0].to_middle), vectors(&smooth.to_middle));
    }

    #[test]
    fn inverses_are_updated_and_fields_reinverted_if_asked_for() {
        let [once, twice] = [false, true].map(|reinvert| stepped(0.0, reinvert));
        let missed = |first, then| Cpu.inverse_consistency(first, then, None).expect("one shape").largest_voxels;
        // At the voxels of an inverse field, the error of the inversion is below this limit. Between voxels, the error
        // may be larger.
        let limit = f64::from(INVERSION.tolerance_voxels);
        for (once, twice) in once.iter().zip(&twice) {
            assert!(missed(&once.from_middle, &once.to_middle) < limit);
            assert!(missed(&once.to_middle, &once.from_middle) > limit);
            assert!(missed(&twice.to_middle, &twice.from_middle) < limit);
            assert_eq!(vectors(&once.from_middle), vectors(&twice.from_middle));
        }
    }

    #[test]
    fn a_component_without_update_keeps_its_bits_on_the_way_to_the_middle() {
        let [mut updates, other] = [0, 1].map(|_| waves());
        updates.iter_mut().for_each(|u| u[1] = 0.0);
        let upload = |vectors: &[[f32; 3]]| Cpu.upload_field(SHAPE, vectors).expect("as many as there are voxels");
        let mut buffers = SideUpdate::both(&Cpu, SHAPE, [false; 2]).expect("buffers");
        let mut sides = [0, 1].map(|_| Side::<Cpu> { to_middle: upload(&other), from_middle: upload(&other) });
        buffers.iter_mut().for_each(|side| side.updates.sum = upload(&updates));
        step_both(&Cpu, &Options::default(), false, &mut buffers, &mut sides, &mut ()).expect("a step");
        for (before, after) in other.iter().zip(vectors(&sides[0].to_middle)) {
            assert_eq!(before[1], after[1]);
        }
        assert!(other.iter().zip(vectors(&sides[0].to_middle)).any(|(before, after)| before[0] != after[0]));
    }

    #[test]
    fn each_side_follows_its_own_update() {
        let [side, other] = stepped(0.0, false).map(|side| vectors(&side.to_middle));
        let along = |vectors: &[[f32; 3]]| {
            vectors.iter().flatten().zip(waves().as_flattened()).map(|(a, b)| a * b).sum::<f32>()
        };
        assert!(
            along(&side) < -1.0 && along(&other) > 1.0,
            "each against its update: {} {}",
            along(&side),
            along(&other)
        );
        // The update of the fixed image's displacement field and that of the moving image's field are scaled to the
        // same step length. So both fields move equally far.
        let apart =
            side.iter().flatten().zip(other.iter().flatten()).fold(0.0_f32, |most, (a, b)| most.max((a + b).abs()));
        assert!(apart < 1e-6, "{apart}");
    }

    #[test]
    fn channels_are_added_with_their_weights_at_the_magnitude_of_the_first() {
        let count: usize = SHAPE.iter().product();
        let filled = |vector: [f32; 3]| Cpu.upload_field(SHAPE, &vec![vector; count]).expect("as many as voxels");
        let sum_of = |first: [f32; 3], second: [f32; 3]| {
            let mut updates = Updates::<Cpu> { sum: filled(first), next: filled(second), first_magnitude: 0.0 };
            updates.add(&Cpu, 0, 1.0).expect("a sum");
            updates.add(&Cpu, 1, 0.25).expect("a sum");
            vectors(&updates.sum)[count / 2]
        };
        let assert_near = |found: [f32; 3], expected: [f32; 3]| {
            assert!((0..3).all(|i| (found[i] - expected[i]).abs() < 1e-5), "{found:?} for {expected:?}");
        };
        assert_near(sum_of([3.0, 0.0, 0.0], [0.0, 5.0, 0.0]), [3.0, 0.75, 0.0]);
        assert_near(sum_of([3.0, 0.0, 0.0], [0.0; 3]), [3.0, 0.0, 0.0]);
        // If the first update is zero, the second gets a magnitude of its weight.
        assert_near(sum_of([0.0; 3], [0.0, 5.0, 0.0]), [0.0, 0.25 / (count as f32).sqrt(), 0.0]);
    }
}
