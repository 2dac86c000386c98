//! The updates of the displacement fields of the fixed and of the moving image: the images in the middle space, the sum
//! of the updates of all channels (pairs of images), and the step along this sum.

use antsreg_core::Grid;
use antsreg_core::report::Observer;
use antsreg_kernels::{Backend, MetricOutput, Sampling};
use nalgebra::Matrix3;

use crate::error::go_on;
use crate::fields::{INVERSION, Side};
use crate::load::Sources;
use crate::smoothing::Smoothing;
use crate::{Error, Options, restriction};

/// Number of voxels from which a level is large: memory matters more than the time to start kernels.
const LARGE: usize = 1 << 21;

/// Whether a level on this grid is large, so that memory matters more than the time to start kernels.
pub(crate) fn is_large(grid: &Grid) -> bool {
    grid.len() >= LARGE
}

/// Whether the updates of the fixed and of the moving image are computed in turn in the memory of one field. This is
/// possible if the derivatives of a single channel determine the update, and worthwhile if the level is large.
pub(crate) fn in_turn(grid: &Grid, options: &Options) -> bool {
    is_large(grid)
        && options.channels_with_edges().len() == 1
        && options.restrict == [1.0; 3]
        && options.total_variance == 0.0
        && options.update_mesh.is_none()
        && options.total_mesh.is_none()
}

/// The fixed or the moving image of the channel (pair of images) that is being processed, in the middle space. The
/// memory is allocated once for each level.
pub(crate) struct Warped<B: Backend> {
    pub(crate) image: B::Image,
    /// The mask of the fixed or moving image; `None` without a mask.
    pub(crate) mask: Option<B::Image>,
}

impl<B: Backend> Warped<B> {
    pub(crate) fn new(backend: &B, shape: [usize; 3], masked: bool) -> Result<Self, Error> {
        let mask = masked.then(|| backend.image(shape)).transpose()?;
        Ok(Warped { image: backend.image(shape)?, mask })
    }

    /// Resamples the mask of the fixed or moving image in the middle space of the deformable registration, if there is
    /// a mask.
    pub(crate) fn warp_mask(&mut self, backend: &B, sources: &Sources<B>, side: &Side<B>) -> Result<(), Error> {
        if let (Some(mask), Some(warped)) = (&sources.mask, &mut self.mask) {
            backend.warp(mask.image, &side.from_middle, &mask.grid_to_image, Sampling::Nearest, warped)?;
        }
        Ok(())
    }
}

/// One step of the displacement fields along their updates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// Largest displacement of the step, voxels of the level's grid.
    pub(crate) length: f64,
    /// Whether the fields to the middle space are then replaced by the inverses of their inverses.
    pub(crate) reinvert: bool,
}

/// The updates of the fields of the fixed and of the moving image, on one level.
pub(crate) struct Updates<B: Backend> {
    spacing: [f64; 3],
    /// Matrix that multiplies each update, for weights on its world components; `None` if all weights are 1.
    restriction: Option<Matrix3<f64>>,
    smoothing: Smoothing<B>,
    memory: Memory<B>,
}

/// The memory for the updates of one level.
enum Memory<B: Backend> {
    /// Both updates at once, summed over the channels.
    Both(Sums<B>),
    /// One update after the other; see [`in_turn`]. `derivatives` holds those of both images until both updates have been
    /// applied.
    InTurn { derivatives: [B::Image; 2], update: B::Field },
}

/// The weighted sums of the updates of all channels, first that of the fixed image, then that of the moving image.
///
/// As in ITK's `ObjectToObjectMultiMetricv4`, each update is divided by its magnitude (root of the sum of squares over
/// all voxels) and multiplied by its weight before it is added. So a weight means the same for every metric and unit.
/// The sum is then multiplied by the magnitude of the first channel's update; ITK uses the mean of all magnitudes. The
/// difference does not matter, because the step is scaled to its length later. In this way, a channel that is given
/// twice has exactly the effect of a channel that is given once.
struct Sums<B: Backend> {
    sums: [B::Field; 2],
    /// The updates of the second or a later channel, until they are added to the sums; otherwise scratch memory.
    next: [B::Field; 2],
    first_magnitudes: [f64; 2],
    /// Whether metrics may use `next` as scratch memory. If not, they allocate memory, and need fewer kernels.
    lends: bool,
}

impl<B: Backend> Sums<B> {
    /// Adds the updates by channel `n` (pair of images) to the sums. Those of the first channel are already there. The
    /// weight is `weight_ratio` times the weight of the first channel.
    fn add(&mut self, backend: &B, n: usize, weight_ratio: f64) -> Result<(), Error> {
        let sides = self.sums.iter_mut().zip(&self.next).zip(&mut self.first_magnitudes);
        for ((sum, next), first_magnitude) in sides {
            if n == 0 {
                *first_magnitude = backend.magnitude(sum)?;
                continue;
            }
            let magnitude = backend.magnitude(next)?;
            if magnitude > 0.0 {
                // The update is scaled to the magnitude of the first channel's update, unless that is zero.
                let length = if *first_magnitude > 0.0 { *first_magnitude } else { 1.0 };
                backend.add_scaled(sum, next, weight_ratio * length / magnitude)?;
            }
        }
        Ok(())
    }
}

impl<B: Backend> Updates<B> {
    pub(crate) fn new(backend: &B, grid: &Grid, options: &Options, smoothing: Smoothing<B>) -> Result<Self, Error> {
        let memory = match in_turn(grid, options) {
            true => Memory::InTurn {
                derivatives: [backend.image(grid.shape)?, backend.image(grid.shape)?],
                update: backend.field(grid.shape)?,
            },
            false => Memory::Both(Sums {
                sums: backend.field_pair(grid.shape)?,
                next: backend.field_pair(grid.shape)?,
                first_magnitudes: [0.0; 2],
                lends: is_large(grid),
            }),
        };
        let restriction = restriction::matrix(grid, options.restrict);
        Ok(Updates { spacing: grid.spacing.into(), restriction, smoothing, memory })
    }

    /// Where the metric of channel `n` (pair of images) writes its output, and memory that it may use meanwhile.
    pub(crate) fn of_channel(&mut self, n: usize) -> (MetricOutput<'_, B>, Option<&mut B::Field>) {
        match &mut self.memory {
            Memory::InTurn { derivatives, update } => {
                (MetricOutput::Derivatives(derivatives.each_mut()), Some(update))
            }
            Memory::Both(Sums { sums, next, lends, .. }) => {
                let (fields, scratch) = match n {
                    0 => (sums, lends.then_some(&mut next[0])),
                    _ => (next, None),
                };
                (MetricOutput::Updates { fields: fields.each_mut(), spacing: self.spacing }, scratch)
            }
        }
    }

    /// Adds the updates by channel `n` (pair of images). Its weight is `weight_ratio` times the weight of the first
    /// channel. Not needed if there is only one channel.
    pub(crate) fn add(&mut self, backend: &B, n: usize, weight_ratio: f64) -> Result<(), Error> {
        match &mut self.memory {
            // Only a single channel is computed in turn.
            Memory::InTurn { .. } => Ok(()),
            Memory::Both(sums) => sums.add(backend, n, weight_ratio),
        }
    }

    /// Moves the displacement fields of the fixed and of the moving image one step along their updates.
    pub(crate) fn step(
        &mut self,
        backend: &B,
        options: &Options,
        step: Step,
        warped: &[Warped<B>; 2],
        [fixed, moving]: &mut [Side<B>; 2],
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        // The field φ maps points of the image to the middle space. Images are resampled through φ⁻¹, so φ moves
        // against the gradient of the metric.
        let length = -step.length;
        match &mut self.memory {
            Memory::InTurn { derivatives, update } => {
                let sides = warped.iter().zip(derivatives).zip([&mut *fixed, &mut *moving]);
                for ((Warped { image, .. }, derivative), side) in sides {
                    go_on(observer.poll())?;
                    backend.smoothed_update(image, derivative, self.spacing, options.update_variance, update)?;
                    backend.advance(&mut side.to_middle, update, length)?;
                }
            }
            Memory::Both(Sums { sums, next, .. }) => {
                if let Some(matrix) = &self.restriction {
                    restriction::restrict(backend, matrix, sums, next)?;
                }
                go_on(observer.poll())?;
                self.smoothing.smooth_updates(backend, options, sums.each_mut(), next.each_mut())?;
                go_on(observer.poll())?;
                let fields = [&mut fixed.to_middle, &mut moving.to_middle];
                backend.advance_both(fields, sums.each_ref(), length)?;
                go_on(observer.poll())?;
                let fields = [&mut fixed.to_middle, &mut moving.to_middle];
                self.smoothing.smooth_fields(backend, options, fields, next.each_mut())?;
            }
        }
        go_on(observer.poll())?;
        let inverses = [&mut fixed.from_middle, &mut moving.from_middle];
        backend.invert_both([&fixed.to_middle, &moving.to_middle], inverses, &INVERSION)?;
        // The fields to the middle space are replaced by the inverses of their inverses. The interpolation between
        // voxels blurs the fields slightly, which regularises them. Without this blur, many iterations lead to folds.
        if step.reinvert {
            go_on(observer.poll())?;
            let inverses = [&mut fixed.to_middle, &mut moving.to_middle];
            backend.invert_both([&fixed.from_middle, &moving.from_middle], inverses, &INVERSION)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::cpu;
    use antsreg_kernels::ops::{Fields as _, Memory as _, Similarity};
    use antsreg_kernels::{Cpu, MiParameters};

    use super::*;
    use crate::Mesh;
    use crate::splines::Splines;

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

    fn field(vectors: &[[f32; 3]]) -> cpu::Field {
        Cpu.upload_field(SHAPE, vectors).expect("as many as there are voxels")
    }

    /// An image of random values.
    fn image(seed: u32) -> cpu::Image {
        let mut number = seed;
        let voxels: Vec<f32> = (0..SHAPE.iter().product())
            .map(|_| {
                number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (number >> 8) as f32 / (1 << 24) as f32 - 0.5
            })
            .collect();
        Cpu.upload(SHAPE, &voxels).expect("as many as there are voxels")
    }

    fn both(sums: [cpu::Field; 2]) -> Updates<Cpu> {
        let next = [0; 2].map(|_| Cpu.field(SHAPE).expect("a field"));
        let memory = Memory::Both(Sums { sums, next, first_magnitudes: [0.0; 2], lends: false });
        let smoothing = Smoothing { update: None, total: None };
        Updates { spacing: [1.0, 1.2, 0.9], restriction: None, smoothing, memory }
    }

    /// Moves test fields one step along updates.
    fn step(
        updates: &mut Updates<Cpu>,
        options: &Options,
        reinvert: bool,
        mut sides: [Side<Cpu>; 2],
    ) -> [Side<Cpu>; 2] {
        let warped = [1, 2].map(|seed| Warped { image: image(seed), mask: None });
        updates
            .step(&Cpu, options, Step { length: options.gradient_step, reinvert }, &warped, &mut sides, &mut ())
            .expect("a step");
        sides
    }

    /// Test fields of the fixed and of the moving image after one step along waves. The moving image's update has the
    /// opposite direction and twice the length.
    fn stepped(total_variance: f64, reinvert: bool) -> [Side<Cpu>; 2] {
        let update =
            |scale: f32| field(&waves().iter().map(|vector| vector.map(|value| scale * value)).collect::<Vec<_>>());
        let zeros = || Cpu.field(SHAPE).expect("a field");
        let sides = [0; 2].map(|_| Side { to_middle: zeros(), from_middle: zeros() });
        let options = Options { gradient_step: 0.9, update_variance: 1.0, total_variance, ..Options::default() };
        step(&mut both([update(1.0), update(-2.0)]), &options, reinvert, sides)
    }

    fn vectors(field: &cpu::Field) -> Vec<[f32; 3]> {
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
    fn splines_take_the_place_of_the_gaussian() {
        let grid = Grid::axis_aligned(SHAPE, [1.0, 1.2, 0.9]);
        let mesh = Mesh::Elements([5, 6, 4]);
        let moved = |splines: [bool; 2]| {
            let [update, total] = splines
                .map(|wanted| wanted.then(|| Splines::new(&Cpu, &mesh, &grid, 0, &grid).expect("a mesh that fits")));
            let mut updates = both([field(&waves()), field(&waves())]);
            updates.smoothing = Smoothing { update, total };
            let zeros = || Cpu.field(SHAPE).expect("a field");
            let sides = [0; 2].map(|_| Side { to_middle: zeros(), from_middle: zeros() });
            let options = Options { gradient_step: 0.9, update_variance: 0.0, ..Options::default() };
            let [side, _] = step(&mut updates, &options, false, sides);
            vectors(&side.to_middle)
        };
        let fitted = |mut field: cpu::Field| {
            let mut splines = Splines::new(&Cpu, &mesh, &grid, 0, &grid).expect("a mesh that fits");
            splines.smooth(&Cpu, &mut field).expect("one shape");
            field
        };
        let mut expected = Cpu.field(SHAPE).expect("a field");
        Cpu.advance(&mut expected, &fitted(field(&waves())), -0.9).expect("one shape");
        assert_eq!(moved([true, false]), vectors(&expected));
        assert_eq!(moved([true, true]), vectors(&fitted(expected)));
        assert_ne!(moved([false, false]), moved([true, false]));
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
        let sides = [0, 1].map(|_| Side::<Cpu> { to_middle: field(&other), from_middle: field(&other) });
        let mut updates = both([field(&updates), field(&updates)]);
        let sides = step(&mut updates, &Options::default(), false, sides);
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
            // The second side has twice the updates of the first.
            let twice = |vector: [f32; 3]| filled(vector.map(|value| 2.0 * value));
            let mut sums = Sums::<Cpu> {
                sums: [filled(first), twice(first)],
                next: [filled(second), twice(second)],
                first_magnitudes: [0.0; 2],
                lends: false,
            };
            sums.add(&Cpu, 0, 1.0).expect("a sum");
            sums.add(&Cpu, 1, 0.25).expect("a sum");
            let [found, other] = sums.sums.map(|sum| vectors(&sum)[count / 2]);
            if first != [0.0; 3] {
                assert_eq!(found.map(|value| 2.0 * value), other);
            }
            found
        };
        let assert_near = |found: [f32; 3], expected: [f32; 3]| {
            assert!((0..3).all(|i| (found[i] - expected[i]).abs() < 1e-5), "{found:?} for {expected:?}");
        };
        assert_near(sum_of([3.0, 0.0, 0.0], [0.0, 5.0, 0.0]), [3.0, 0.75, 0.0]);
        assert_near(sum_of([3.0, 0.0, 0.0], [0.0; 3]), [3.0, 0.0, 0.0]);
        // If the first update is zero, the second gets a magnitude of its weight.
        assert_near(sum_of([0.0; 3], [0.0, 5.0, 0.0]), [0.0, 0.25 / (count as f32).sqrt(), 0.0]);
    }

    #[test]
    fn sides_in_turn_take_the_same_step_as_both_at_once() {
        for update_variance in [0.0, 0.3, 3.0] {
            let options = Options { gradient_step: 0.9, update_variance, ..Options::default() };
            let sides = || {
                [0.8, -0.5].map(|scale: f32| {
                    let start = field(&waves().iter().map(|u| u.map(|value| scale * value)).collect::<Vec<_>>());
                    Side::<Cpu> { to_middle: start, from_middle: Cpu.field(SHAPE).expect("a field") }
                })
            };
            let mut at_once = both([0; 2].map(|_| Cpu.field(SHAPE).expect("a field")));
            let memory = Memory::InTurn { derivatives: [image(3), image(4)], update: field(&waves()) };
            let mut in_turn = Updates { memory, ..both([field(&waves()), field(&waves())]) };
            for updates in [&mut at_once, &mut in_turn] {
                let (out, _) = updates.of_channel(0);
                let parameters = MiParameters { bins: 16, ranges: [(-0.5, 0.5); 2] };
                let mut workspace = Cpu.mi_workspace(16).expect("a workspace");
                Cpu.mi_gradient([&image(1), &image(2)], [None; 2], &parameters, &mut workspace, out)
                    .expect("one shape");
            }
            let expected = step(&mut at_once, &options, true, sides());
            let found = step(&mut in_turn, &options, true, sides());
            for ((found, expected), start) in found.iter().zip(&expected).zip(sides()) {
                assert_eq!(vectors(&found.to_middle), vectors(&expected.to_middle), "variance {update_variance}");
                assert_eq!(vectors(&found.from_middle), vectors(&expected.from_middle));
                assert_ne!(vectors(&found.to_middle), vectors(&start.to_middle));
            }
        }
    }

    #[test]
    fn sides_take_turns_where_levels_are_large_and_nothing_needs_the_sums() {
        let [small, large] = [100, 200].map(|voxels| Grid::axis_aligned([voxels; 3], [1.0; 3]));
        let plain = Options::default();
        assert!(in_turn(&large, &plain) && !in_turn(&small, &plain));
        let channels = vec![plain.channels[0], plain.channels[0]];
        for other in [
            Options { channels, ..plain.clone() },
            Options { restrict: [1.0, 1.0, 0.0], ..plain.clone() },
            Options { total_variance: 0.5, ..plain.clone() },
            Options { edge_weight: 0.5, ..plain.clone() },
            Options { update_mesh: Some(Mesh::KnotsMm(26.0)), ..plain.clone() },
            Options { total_mesh: Some(Mesh::KnotsMm(26.0)), ..plain.clone() },
        ] {
            assert!(!in_turn(&large, &other), "{other:?}");
        }
    }
}
