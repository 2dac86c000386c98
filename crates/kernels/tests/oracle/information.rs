//! Tests of Mattes mutual information: its value and its derivative.

use antsreg_kernels::ops::{Memory, Similarity};
use antsreg_kernels::{Cpu, Error, MetricOutput, MiParameters};

use super::naive::{gradient, index};
use super::scene::{self, Random, SHAPES, voxels};

/// Voxel spacing of the test images, mm.
const SPACING: [f64; 3] = [1.0, 1.5, 2.0];

struct Case {
    shape: [usize; 3],
    images: [Vec<f32>; 2],
    masks: [Option<Vec<f32>>; 2],
    parameters: MiParameters,
}

struct Found {
    energy: f64,
    updates: [Vec<[f32; 3]>; 2],
}

/// The centred cubic B-spline function.
fn spline(u: f64) -> f64 {
    match u.abs() {
        u if u < 1.0 => 2.0 / 3.0 - u * u + u.powi(3) / 2.0,
        u if u < 2.0 => (2.0 - u).powi(3) / 6.0,
        _ => 0.0,
    }
}

impl Case {
    fn all() -> Vec<Case> {
        let mut cases = Vec::new();
        for shape in SHAPES {
            for (bins, masked) in [(32, false), (8, true), (50, true)] {
                let ball = |centre: f64| {
                    let inside = |v: [usize; 3]| {
                        let axes = (0..3).filter(|a| shape[*a] > 1);
                        let r: f64 = axes.map(|a| (v[a] as f64 / shape[a] as f64 - centre).powi(2)).sum();
                        // A mask of exactly 0.5 does not count.
                        if r < 0.3 { 1.0 } else { 0.5 }
                    };
                    voxels(shape).map(inside).collect::<Vec<f32>>()
                };
                let images = [scene::image(shape, 40), scene::image(shape, 41)];
                let ranges = images.each_ref().map(|image| {
                    image.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)))
                });
                cases.push(Case {
                    shape,
                    images,
                    masks: if masked { [Some(ball(0.4)), Some(ball(0.6))] } else { [None, None] },
                    parameters: MiParameters { bins, ranges },
                });
            }
        }
        cases
    }

    fn inside(&self) -> Vec<bool> {
        let masks: Vec<&Vec<f32>> = self.masks.iter().flatten().collect();
        (0..self.images[0].len()).map(|at| masks.iter().all(|mask| mask[at] > 0.5)).collect()
    }

    fn run(&self) -> Found {
        let upload = |voxels: &Vec<f32>| Cpu.upload(self.shape, voxels).unwrap();
        let masks = self.masks.each_ref().map(|mask| mask.as_ref().map(upload));
        let images = self.images.each_ref().map(upload);
        let mut updates = [Cpu.field(self.shape).unwrap(), Cpu.field(self.shape).unwrap()];
        let energy = Cpu
            .mi_gradient(
                images.each_ref(),
                masks.each_ref().map(Option::as_ref),
                &self.parameters,
                &mut Cpu.mi_workspace(self.parameters.bins).unwrap(),
                MetricOutput::Updates { fields: updates.each_mut(), spacing: SPACING },
            )
            .unwrap();
        Found { energy, updates: updates.map(|update| Cpu.download_field(&update).unwrap()) }
    }

    /// Position of an intensity on the histogram axis of its image, in bins. `side` is 0 for the fixed and 1 for the
    /// moving image.
    fn position(&self, side: usize, value: f64) -> f64 {
        let (low, high) = self.parameters.ranges[side];
        let share = (value - f64::from(low)) / f64::from(high - low);
        2.0 + (self.parameters.bins - 4) as f64 * share.clamp(0.0, 1.0)
    }

    /// Mutual information from a joint histogram in which only the values of one image are spread over bins by the
    /// B-spline. `side` is 0 for the fixed and 1 for the moving image. In this image, voxel `at` has the intensity
    /// `value`.
    fn information(&self, side: usize, inside: &[bool], at: usize, value: f64) -> f64 {
        let bins = self.parameters.bins;
        let mut joint = vec![0.0; bins * bins];
        let mut total = 0.0;
        for voxel in (0..inside.len()).filter(|voxel| inside[*voxel]) {
            let other = self.position(1 - side, f64::from(self.images[1 - side][voxel]));
            let other = (other as usize).min(bins - 3);
            let own = if voxel == at { value } else { f64::from(self.images[side][voxel]) };
            let own = self.position(side, own);
            for j in 0..bins {
                joint[other * bins + j] += spline(j as f64 - own);
            }
            total += 1.0;
        }
        let row = |i: usize| joint[i * bins..(i + 1) * bins].iter().sum::<f64>() / total;
        let column = |j: usize| (0..bins).map(|i| joint[i * bins + j]).sum::<f64>() / total;
        let (rows, columns): (Vec<f64>, Vec<f64>) = ((0..bins).map(row).collect(), (0..bins).map(column).collect());
        let term = |(n, count): (usize, &f64)| match count / total {
            0.0 => 0.0,
            p => p * (p / (rows[n / bins] * columns[n % bins])).ln(),
        };
        joint.iter().enumerate().map(term).sum()
    }
}

#[test]
fn the_energy_is_minus_the_mean_information_of_both_sides() {
    for case in Case::all() {
        let inside = case.inside();
        let both: f64 = (0..2).map(|side| case.information(side, &inside, usize::MAX, 0.0)).sum();
        let found = case.run().energy;
        // The tolerance allows for weights that are rounded to 2⁻¹⁶ and positions in single precision. A value at the
        // border between two bins of the other image may fall into either bin.
        assert!((found + both / 2.0).abs() < 2e-3 * both, "{found} for {}, shape {:?}", -both / 2.0, case.shape);
        assert!(both > 0.01, "nothing to see: {both}");
    }
}

#[test]
fn each_update_is_the_derivative_of_its_sides_information() {
    let mut random = Random::new(42);
    let mut compared = 0;
    for case in Case::all() {
        let (inside, found) = (case.inside(), case.run());
        let counted = inside.iter().filter(|inside| **inside).count() as f64;
        for _ in 0..12 {
            let voxel = case.shape.map(|n| (random.next() * n as f64) as usize);
            let at = index(case.shape, voxel);
            for side in 0..2 {
                let update = found.updates[side][at];
                if !inside[at] {
                    assert_eq!(update, [0.0; 3]);
                    continue;
                }
                let value = f64::from(case.images[side][at]);
                let (low, high) = case.parameters.ranges[side];
                let step = 1e-3 * f64::from(high - low);
                if value - step < f64::from(low) || value + step > f64::from(high) {
                    continue;
                }
                let moved = |value: f64| case.information(side, &inside, at, value);
                let slope = counted * (moved(value + step) - moved(value - step)) / (2.0 * step);
                let gradient = gradient(&case.images[side], case.shape, voxel);
                let scale = case.parameters.bins as f64 / f64::from(high - low);
                for axis in 0..3 {
                    let per_slope = gradient[axis] / SPACING[axis].powi(2);
                    let (found, expected) = (f64::from(update[axis]), slope * per_slope);
                    // The tolerance is large because the logarithm is not linear for a bin that contains only a small
                    // part of one voxel, and the count of such a bin is rounded.
                    let allowed = 0.01 * scale * per_slope.abs();
                    assert!((found - expected).abs() <= allowed, "{found} for {expected}, {voxel:?}, side {side}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 300, "only {compared}");
}

#[test]
fn what_lies_beyond_a_range_counts_at_its_end_and_pulls_at_nothing() {
    let mut case = Case::all().remove(0);
    let (low, high) = case.parameters.ranges[1];
    case.parameters.ranges[1] = (low + 0.2 * (high - low), high - 0.3 * (high - low));
    let found = case.run();
    let (low, high) = case.parameters.ranges[1];
    let beyond = |value: f32| value < low || value > high;
    let pulled = case.images[1].iter().zip(&found.updates[1]).filter(|(value, _)| beyond(**value));
    assert!(pulled.clone().count() > 100 && pulled.into_iter().all(|(_, update)| *update == [0.0; 3]));
    case.images[1].iter_mut().for_each(|value| *value = value.clamp(low, high));
    assert_eq!(case.run().energy, found.energy);
}

#[test]
fn images_that_say_nothing_move_nothing() {
    let still = |found: &Found| found.updates.iter().flatten().flatten().all(|u| u.abs() < 1e-6);
    let mut case = Case::all().remove(1);
    case.masks = [Some(vec![0.0; case.images[0].len()]), None];
    let found = case.run();
    assert_eq!(found.energy, 0.0);
    assert!(still(&found));
    let mut case = Case::all().remove(0);
    case.images[1].fill(0.3);
    case.parameters.ranges[1] = (0.3, 0.3);
    let found = case.run();
    assert!(found.energy.abs() < 1e-12 && still(&found), "{}", found.energy);
}

#[test]
fn bins_that_cannot_be_are_refused() {
    for bins in [0, 7, 257] {
        assert!(matches!(Cpu.mi_workspace(bins), Err(Error::MiBins { least: 8, most: 256, .. })), "{bins}");
    }
    let case = Case::all().remove(0);
    let image = Cpu.upload(case.shape, &case.images[0]).unwrap();
    let mut derivatives = [Cpu.image(case.shape).unwrap(), Cpu.image(case.shape).unwrap()];
    let mut workspace = Cpu.mi_workspace(16).unwrap();
    let out = MetricOutput::Derivatives(derivatives.each_mut());
    let refused = Cpu.mi_gradient([&image, &image], [None; 2], &case.parameters, &mut workspace, out);
    assert!(matches!(refused, Err(Error::Length { operation: "mi_gradient", .. })), "{refused:?}");
}
