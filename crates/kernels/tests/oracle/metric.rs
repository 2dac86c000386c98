use antsreg_kernels::ops::{Fields, Memory, Similarity};
use antsreg_kernels::{CcDerivative, CcKernels, CcParameters, CcScores, Cpu, MetricOutput};

use super::naive::{CrossCorrelation, Window, gradient, index};
use super::scene::{self, Random, SHAPES, voxels};

/// Voxel spacing of the test images, mm.
const SPACING: [f64; 3] = [1.0, 1.5, 2.0];

type Image = <Cpu as Memory>::Image;

struct Case {
    shape: [usize; 3],
    fixed: Vec<f32>,
    moving: Vec<f32>,
    masks: [Option<Vec<f32>>; 2],
    parameters: CcParameters,
}

struct Found {
    energy: f64,
    agreement: f64,
    updates: [Vec<[f32; 3]>; 2],
}

impl Case {
    fn all() -> Vec<Case> {
        let mut cases = Vec::new();
        for shape in SHAPES {
            for (radius, masked) in [(1, false), (2, true), (3, false)] {
                for derivative in [CcDerivative::Centre, CcDerivative::Exact] {
                    let ball = |centre: f64| {
                        let inside = |v: [usize; 3]| {
                            let r: f64 = (0..3).map(|a| (v[a] as f64 / shape[a] as f64 - centre).powi(2)).sum();
                            f32::from(u8::from(r < 0.3))
                        };
                        voxels(shape).map(inside).collect::<Vec<f32>>()
                    };
                    cases.push(Case {
                        shape,
                        fixed: scene::image(shape, 20),
                        moving: scene::image(shape, 21),
                        masks: if masked { [Some(ball(0.4)), Some(ball(0.6))] } else { [None, None] },
                        parameters: CcParameters {
                            radius,
                            derivative,
                            noise_variance: 4e-4,
                            kernels: CcKernels::Tiled,
                        },
                    });
                }
            }
        }
        cases
    }

    fn inside(&self) -> Vec<bool> {
        let masks: Vec<&Vec<f32>> = self.masks.iter().flatten().collect();
        (0..self.fixed.len()).map(|at| masks.iter().all(|mask| mask[at] > 0.5)).collect()
    }

    /// `lend`: whether the metric gets a scratch field, whose vectors are arbitrary.
    fn run(&self, lend: bool) -> Found {
        let mut updates = [Cpu.field(self.shape).unwrap(), Cpu.field(self.shape).unwrap()];
        let out = MetricOutput::Updates { fields: updates.each_mut(), spacing: SPACING };
        let CcScores { energy, agreement } = self.compute(out, lend);
        Found { energy, agreement, updates: updates.map(|update| Cpu.download_field(&update).unwrap()) }
    }

    fn images(&self) -> [Image; 2] {
        [&self.fixed, &self.moving].map(|voxels| Cpu.upload(self.shape, voxels).unwrap())
    }

    fn compute(&self, out: MetricOutput<'_, Cpu>, lend: bool) -> CcScores {
        let masks = self.masks.each_ref();
        let masks = masks.map(|mask| mask.as_ref().map(|voxels| Cpu.upload(self.shape, voxels).unwrap()));
        let mut workspace = Cpu.cc_workspace(self.shape).unwrap();
        let mut scratch = Cpu.upload_field(self.shape, &vec![[7.0; 3]; self.fixed.len()]).unwrap();
        let pending = Cpu
            .cc_gradient(
                self.images().each_ref(),
                masks.each_ref().map(Option::as_ref),
                &self.parameters,
                &mut workspace,
                out,
                lend.then_some(&mut scratch),
            )
            .unwrap();
        Cpu.cc_scores(pending).unwrap()
    }
}

/// Checks the update of a displacement field that the cross-correlation has computed at `voxel`; `found` has the
/// updates at all voxels. The expected update along each axis is `slope`·∇image/spacing². Here `slope` is the expected
/// derivative with respect to the voxel's intensity, and the spacing of voxels is relative to the finest spacing.
/// `side` is 0 for the fixed and 1 for the moving image.
fn check(case: &Case, side: usize, found: &[[f32; 3]], voxel: [usize; 3], slope: f64, tolerance: f64) {
    let image = if side == 0 { &case.fixed } else { &case.moving };
    let gradient = gradient(image, case.shape, voxel);
    let found = found[index(case.shape, voxel)];
    for axis in 0..3 {
        let expected = slope * gradient[axis] / SPACING[axis].powi(2);
        let difference = (f64::from(found[axis]) - expected).abs();
        assert!(
            difference <= tolerance * (slope.abs() + 1.0),
            "{} for {expected}, axis {axis} of {voxel:?}, side {side}, shape {:?}, {:?}",
            found[axis],
            case.shape,
            case.parameters
        );
    }
}

#[test]
fn value_and_updates_are_those_of_the_definition() {
    for case in Case::all() {
        let double = |voxels: &[f32]| voxels.iter().copied().map(f64::from).collect::<Vec<f64>>();
        let (fixed, moving, inside) = (double(&case.fixed), double(&case.moving), case.inside());
        let oracle = CrossCorrelation {
            shape: case.shape,
            fixed: &fixed,
            moving: &moving,
            inside: &inside,
            radius: case.parameters.radius,
            noise_variance: f64::from(case.parameters.noise_variance),
        };
        let found = case.run(true);
        let (mut sum, mut count, mut weights) = (0.0, 0.0, 0.0);
        for voxel in voxels(case.shape) {
            let at = index(case.shape, voxel);
            if !inside[at] {
                assert_eq!(found.updates[0][at], [0.0; 3]);
                assert_eq!(found.updates[1][at], [0.0; 3]);
                continue;
            }
            let window = oracle.window(voxel);
            sum += window.value();
            count += 1.0;
            weights += window.weight;
            if case.parameters.derivative == CcDerivative::Centre {
                let Window { a, b, c, fixed, moving, .. } = window;
                let slopes = if a * b > 0.0 {
                    [2.0 * c / (a * b) * (moving - c / a * fixed), 2.0 * c / (a * b) * (fixed - c / b * moving)]
                } else {
                    [0.0; 2]
                };
                // A and B are the sums of squared deviations of the fixed and the moving intensities from their means
                // in a window of the cross-correlation. The backend computes A and B as differences of sums in single
                // precision, and the tolerance allows for their rounding. The assumed noise is added to A and B and
                // keeps them away from zero.
                (0..2).for_each(|side| check(&case, side, &found.updates[side], voxel, slopes[side], 2e-3));
            }
        }
        // The tolerance is the rounding error of window sums in single precision, averaged over the volume.
        let expected = -sum / f64::max(count, 1.0);
        assert!((found.energy - expected).abs() < 1e-4, "{} for {expected}", found.energy);
        let expected = if weights > 0.0 { sum / weights } else { 0.0 };
        assert!((found.agreement - expected).abs() < 1e-4, "{} for {expected}", found.agreement);
    }
}

#[test]
fn the_exact_update_is_the_derivative_of_the_value() {
    let mut random = Random::new(22);
    for case in Case::all().into_iter().filter(|case| case.parameters.derivative == CcDerivative::Exact) {
        let found = [case.run(false), case.run(true)];
        let inside = case.inside();
        let mut double = [&case.fixed, &case.moving].map(|v| v.iter().copied().map(f64::from).collect::<Vec<f64>>());
        for _ in 0..40 {
            let voxel = case.shape.map(|n| (random.next() * n as f64) as usize);
            let at = index(case.shape, voxel);
            if !inside[at] {
                continue;
            }
            for side in 0..2 {
                let step = 1e-5;
                let mut value = |delta: f64| {
                    double[side][at] += delta;
                    let value = CrossCorrelation {
                        shape: case.shape,
                        fixed: &double[0],
                        moving: &double[1],
                        inside: &inside,
                        radius: case.parameters.radius,
                        noise_variance: f64::from(case.parameters.noise_variance),
                    }
                    .value_around(voxel);
                    double[side][at] -= delta;
                    value
                };
                // The windowed cross-correlation is not differentiable with respect to a voxel's intensity if the other
                // voxels of the window are constant. Such voxels are skipped.
                let slope = (value(step) - value(-step)) / (2.0 * step);
                let bend = (value(step) - 2.0 * value(0.0) + value(-step)) / (step * step);
                if bend.abs() * step > 0.05 * (slope.abs() + 1.0) {
                    continue;
                }
                for found in &found {
                    check(&case, side, &found.updates[side], voxel, slope, 5e-3);
                }
            }
        }
    }
}

#[test]
fn an_empty_mask_moves_nothing() {
    let mut case = Case::all().remove(2);
    case.masks = [Some(vec![0.0; case.fixed.len()]), None];
    let found = case.run(false);
    assert_eq!((found.energy, found.agreement), (0.0, 0.0));
    assert!(found.updates.iter().flatten().all(|u| *u == [0.0; 3]));
}

#[test]
fn whatever_its_contrast_an_image_agrees_with_itself_and_with_its_negative() {
    for case in Case::all().into_iter().filter(|case| case.inside().contains(&true)) {
        let found = |gain: f32, noise_variance: f32| {
            let fixed: Vec<f32> = case.fixed.iter().map(|v| gain.abs() * v).collect();
            let moving = case.fixed.iter().map(|v| gain * v).collect();
            let parameters = CcParameters { noise_variance, ..case.parameters };
            Case { fixed, moving, masks: case.masks.clone(), parameters, ..case }.run(false)
        };
        for gain in [1.0, 0.3, -1.0] {
            let found = found(gain, 1e-2);
            // The tolerance allows for the rounding error of window sums. Where there is little structure, this error
            // is large relative to the sums' differences.
            assert!((found.agreement - 1.0).abs() < 1e-4, "{} at gain {gain}", found.agreement);
            assert!(found.energy > -0.9, "the noise should show in the energy, {}", found.energy);
        }
        assert!(found(1.0, 1e-2).energy < found(0.3, 1e-2).energy - 0.05, "contrast should lower the energy");
        // Without assumed noise, every window that is not constant has weight 1.
        let bare = found(1.0, 0.0);
        assert!((bare.agreement - 1.0).abs() < 1e-4 && bare.energy < -0.5, "{} {}", bare.agreement, bare.energy);
    }
}

#[test]
fn windows_of_one_voxel_say_nothing() {
    for mut case in Case::all().into_iter().filter(|case| case.shape != SHAPES[0]) {
        case.parameters.radius = 0;
        let found = case.run(false);
        assert_eq!((found.energy, found.agreement), (0.0, 0.0));
        assert!(found.updates.iter().flatten().all(|u| *u == [0.0; 3]));
    }
}

#[test]
fn a_constant_image_says_nothing_about_the_other() {
    for value in [0.0, 0.3] {
        for side in 0..2 {
            for mut case in Case::all().into_iter().filter(|case| case.shape != SHAPES[0]) {
                case.parameters.noise_variance = 0.0;
                let image = if side == 0 { &mut case.fixed } else { &mut case.moving };
                image.fill(value);
                let found = case.run(false);
                assert_eq!((found.energy, found.agreement), (0.0, 0.0), "side {side} is {value}");
                assert!(found.updates.iter().flatten().all(|u| *u == [0.0; 3]), "side {side} is {value}");
            }
        }
    }
}

#[test]
fn a_smoothed_update_follows_from_derivatives_as_from_the_update() {
    for case in Case::all() {
        let (shape, [_, moving]) = (case.shape, case.images());
        let update = &case.run(false).updates[1];
        // The variances 0 and 0.3 have rules of their own.
        for variance in [0.0, 0.3, 3.0] {
            let mut derivatives = [0; 2].map(|_| Cpu.image(shape).unwrap());
            case.compute(MetricOutput::Derivatives(derivatives.each_mut()), true);
            let mut found = Cpu.field(shape).unwrap();
            Cpu.smoothed_update(&moving, &mut derivatives[1], SPACING, variance, &mut found).unwrap();
            let mut expected = [0; 2].map(|_| Cpu.upload_field(shape, update).unwrap());
            let [scratch, other] = &mut [0; 2].map(|_| Cpu.field(shape).unwrap());
            Cpu.smooth_both_fields(expected.each_mut(), variance, [scratch, other]).unwrap();
            assert_eq!(Cpu.download_field(&found).unwrap(), Cpu.download_field(&expected[0]).unwrap());
            assert!(Cpu.magnitude(&found).unwrap() > 0.0 || case.masks[0].is_some(), "shape {shape:?}");
        }
    }
}
