//! Where one side is pulled: its images and mask brought to the middle, its channels' updates made one, and the side moved
//! along it.

use antsreg_kernels::{Backend, Error, Sampling};

use crate::Options;
use crate::fields::{INVERSION, Side};
use crate::load::Sources;

/// One side's images in the middle, and where they pull it. Allocated once a level.
pub(crate) struct Pull<B: Backend> {
    /// The image of the channel at hand.
    pub(crate) warped: B::Image,
    pub(crate) warped_mask: Option<B::Image>,
    pub(crate) updates: Updates<B>,
}

impl<B: Backend> Pull<B> {
    /// Of both sides, and which of them have a mask.
    pub(crate) fn both(backend: &B, shape: [usize; 3], masked: [bool; 2]) -> Result<[Self; 2], Error> {
        let [sum, other_sum] = backend.field_pair(shape)?;
        let [next, other_next] = backend.field_pair(shape)?;
        let side = |masked: bool, sum, next| {
            Ok(Pull {
                warped: backend.image(shape)?,
                warped_mask: masked.then(|| backend.image(shape)).transpose()?,
                updates: Updates { sum, next, first_magnitude: 0.0 },
            })
        };
        Ok([side(masked[0], sum, next)?, side(masked[1], other_sum, other_next)?])
    }

    /// Brings the mask to the middle.
    pub(crate) fn warp_mask(&mut self, backend: &B, sources: &Sources<B>, side: &Side<B>) -> Result<(), Error> {
        if let (Some(mask), Some(warped)) = (&sources.mask, &mut self.warped_mask) {
            backend.warp(mask.image, &side.from_middle, &mask.grid_to_image, Sampling::Nearest, warped)?;
        }
        Ok(())
    }
}

/// Moves both sides along their updates.
pub(crate) fn push<B: Backend>(
    backend: &B,
    options: &Options,
    reinvert: bool,
    [fixed, moving]: &mut [Pull<B>; 2],
    [fixed_side, moving_side]: &mut [Side<B>; 2],
) -> Result<(), Error> {
    // All updates are added up, so there is none to come.
    let (fixed, moving) = (&mut fixed.updates, &mut moving.updates);
    let (variance, scratch) = (options.update_variance, [&mut fixed.next, &mut moving.next]);
    backend.smooth_both_fields([&mut fixed.sum, &mut moving.sum], variance, scratch)?;
    // The image is read through φ⁻¹, so φ moves against the direction in which the reading point should go.
    backend.advance_both(
        [&fixed_side.to_middle, &moving_side.to_middle],
        [&fixed.sum, &moving.sum],
        -options.gradient_step,
        [&mut fixed.next, &mut moving.next],
    )?;
    std::mem::swap(&mut fixed_side.to_middle, &mut fixed.next);
    std::mem::swap(&mut moving_side.to_middle, &mut moving.next);
    let (variance, scratch) = (options.total_variance, [&mut fixed.next, &mut moving.next]);
    backend.smooth_both_fields([&mut fixed_side.to_middle, &mut moving_side.to_middle], variance, scratch)?;
    let inverses = [&mut fixed_side.from_middle, &mut moving_side.from_middle];
    backend.invert_both([&fixed_side.to_middle, &moving_side.to_middle], inverses, &INVERSION)?;
    // Inverting back is more than upkeep: reading each field between the voxels of the other blurs both a little,
    // and without that regularisation long runs fold.
    if reinvert {
        let inverses = [&mut fixed_side.to_middle, &mut moving_side.to_middle];
        backend.invert_both([&fixed_side.from_middle, &moving_side.from_middle], inverses, &INVERSION)?;
    }
    Ok(())
}

/// The updates of a side's channels, added up one after another.
///
/// As ITK's `ObjectToObjectMultiMetricv4` has it, each is divided by its magnitude (the root of the sum of squares over
/// all voxels) before it is added by its weight, so that a weight means the same whatever the metric and its units. All
/// are then multiplied by the first one's magnitude, where ITK takes the mean of all: a step is scaled to its length
/// anyway, and so a channel given twice pulls as one does, to the bit.
pub(crate) struct Updates<B: Backend> {
    pub(crate) sum: B::Field,
    /// The update of a channel after the first, until it is added.
    next: B::Field,
    first_magnitude: f64,
}

impl<B: Backend> Updates<B> {
    /// Where the nth channel's update is to be written.
    pub(crate) fn of_channel(&mut self, n: usize) -> &mut B::Field {
        if n == 0 { &mut self.sum } else { &mut self.next }
    }

    /// Adds the nth channel's update, whose weight is `weight_ratio` times the first one's.
    pub(crate) fn add(&mut self, backend: &B, n: usize, weight_ratio: f64) -> Result<(), Error> {
        if n == 0 {
            self.first_magnitude = backend.magnitude(&self.sum)?;
            return Ok(());
        }
        let magnitude = backend.magnitude(&self.next)?;
        if magnitude == 0.0 {
            return Ok(());
        }
        // A first channel that pulls nowhere leaves the length open.
        let length = if self.first_magnitude > 0.0 { self.first_magnitude } else { 1.0 };
        backend.add_scaled(&mut self.sum, &self.next, weight_ratio * length / magnitude)
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

    /// Where two sides are after one step, pulled by waves: the second one the other way, twice as much.
    fn pushed(total_variance: f64, reinvert: bool) -> [Side<Cpu>; 2] {
        let field = || Cpu.field(SHAPE).expect("a field");
        let pull = |scale: f32| {
            let scaled: Vec<[f32; 3]> = waves().iter().map(|vector| vector.map(|value| scale * value)).collect();
            let sum = Cpu.upload_field(SHAPE, &scaled).expect("as many as there are voxels");
            Pull {
                warped: Cpu.image(SHAPE).expect("an image"),
                warped_mask: None,
                updates: Updates { sum, next: field(), first_magnitude: 0.0 },
            }
        };
        let side = || Side { to_middle: field(), from_middle: field() };
        let (mut pulls, mut sides): ([Pull<Cpu>; 2], _) = ([pull(1.0), pull(-2.0)], [side(), side()]);
        let options = Options { gradient_step: 0.9, update_variance: 1.0, total_variance, ..Options::default() };
        push(&Cpu, &options, reinvert, &mut pulls, &mut sides).expect("it moves");
        sides
    }

    fn vectors(field: &<Cpu as Backend>::Field) -> Vec<[f32; 3]> {
        Cpu.download_field(field).expect("it is here")
    }

    #[test]
    fn the_whole_field_is_smoothed_if_asked_for() {
        let ([mut rough, _], [smooth, _]) = (pushed(0.0, false), pushed(0.8, false));
        let mut scratch = Cpu.field(SHAPE).expect("a field");
        Cpu.smooth_field(&mut rough.to_middle, 0.8, &mut scratch).expect("one shape");
        assert_eq!(vectors(&rough.to_middle), vectors(&smooth.to_middle));
        assert_ne!(vectors(&pushed(0.0, false)[0].to_middle), vectors(&smooth.to_middle));
    }

    #[test]
    fn the_way_back_follows_and_is_inverted_back_if_asked_for() {
        let [once, twice] = [false, true].map(|reinvert| pushed(0.0, reinvert));
        let missed = |first, then| Cpu.inverse_consistency(first, then, None).expect("one shape").largest_voxels;
        // A voxel of what is inverted takes its last step at this limit; of the other field, nothing is looked at.
        let limit = f64::from(INVERSION.tolerance_voxels);
        for (once, twice) in once.iter().zip(&twice) {
            assert!(missed(&once.from_middle, &once.to_middle) < limit);
            assert!(missed(&once.to_middle, &once.from_middle) > limit);
            assert!(missed(&twice.to_middle, &twice.from_middle) < limit);
            assert_eq!(vectors(&once.from_middle), vectors(&twice.from_middle));
        }
    }

    #[test]
    fn each_side_follows_its_own_update() {
        let [side, other] = pushed(0.0, false).map(|side| vectors(&side.to_middle));
        let along = |vectors: &[[f32; 3]]| {
            vectors.iter().flatten().zip(waves().as_flattened()).map(|(a, b)| a * b).sum::<f32>()
        };
        assert!(
            along(&side) < -1.0 && along(&other) > 1.0,
            "each against its update: {} {}",
            along(&side),
            along(&other)
        );
        // The length of an update counts for nothing.
        let apart =
            side.iter().flatten().zip(other.iter().flatten()).fold(0.0_f32, |most, (a, b)| most.max((a + b).abs()));
        assert!(apart < 1e-6, "{apart}");
    }
}
