//! Tests of the operations of N4 against their definitions, sample by sample and control point by control point.

use antsreg_kernels::bias::{BiasBackend, Histogram, MeshAxis, Reach, Samples, Sharpened};
use antsreg_kernels::ops::Memory;
use antsreg_kernels::{Cpu, Error};

use super::scene::{self, Random};

/// The last shape has a row that is longer than the number of a GPU's threads.
const SHAPES: [[usize; 3]; 5] = [[37, 21, 13], [5, 40, 3], [33, 18, 1], [9, 1, 1], [1030, 1, 1]];
const ELEMENTS: [[usize; 3]; 3] = [[1, 1, 1], [2, 3, 1], [9, 4, 5]];

/// The cubic B-spline function, centred at 0.
fn b_spline(x: f64) -> f64 {
    let x = x.abs();
    match x {
        _ if x < 1.0 => 2.0 / 3.0 - x * x + 0.5 * x * x * x,
        _ if x < 2.0 => (2.0 - x).powi(3) / 6.0,
        _ => 0.0,
    }
}

/// Position of a sample along an axis, in mesh elements from the start of the mesh. `place` is the index of the sample.
/// The first and the last of the `count` samples are at the ends of the mesh.
fn position(place: usize, count: usize, elements: usize) -> f64 {
    elements as f64 * place as f64 / (count - 1).max(1) as f64
}

fn axis(count: usize, elements: usize) -> MeshAxis {
    let reaches = (0..count).map(|place| {
        let at = position(place, count, elements);
        let first = (at as usize).min(elements - 1);
        // The B-spline of control point n is centred at n − 1 elements from the start of the mesh.
        Reach { first, weights: [0, 1, 2, 3].map(|n| b_spline(at - ((first + n) as f64 - 1.0))) }
    });
    MeshAxis::new(reaches.collect(), elements + 3).expect("within the mesh")
}

struct Scene {
    shape: [usize; 3],
    elements: [usize; 3],
    logarithms: Vec<f32>,
    weights: Vec<f32>,
    left: Vec<f32>,
    field: Vec<f64>,
}

impl Scene {
    fn all() -> Vec<Scene> {
        let pairs = SHAPES.into_iter().flat_map(|shape| ELEMENTS.map(|elements| (shape, elements)));
        pairs.enumerate().map(|(n, (shape, elements))| Scene::new(shape, elements, n as u64)).collect()
    }

    fn new(shape: [usize; 3], elements: [usize; 3], seed: u64) -> Scene {
        let mut random = Random::new(seed + 50);
        let logarithms: Vec<f32> = scene::image(shape, seed).iter().map(|value| 3.0 + 2.0 * value).collect();
        let weights = scene::weight(shape, seed + 100);
        let mut left: Vec<f32> = logarithms.iter().map(|value| value + 0.3 * random.signed() as f32).collect();
        let field = (0..elements.iter().map(|n| n + 3).product()).map(|_| 0.2 * random.signed()).collect();
        // A voxel that does not count may have the intensity 0.
        let uncounted = left.iter_mut().zip(&weights).filter(|(_, weight)| **weight == 0.0);
        uncounted.for_each(|(left, _)| *left = f32::NEG_INFINITY);
        Scene { shape, elements, logarithms, weights, left, field }
    }

    fn axes(&self) -> [MeshAxis; 3] {
        [0, 1, 2].map(|n| axis(self.shape[n], self.elements[n]))
    }

    fn upload(&self, voxels: &[f32]) -> <Cpu as Memory>::Image {
        Cpu.upload(self.shape, voxels).unwrap()
    }

    /// The B-spline weight of a control point at a sample.
    fn weight(&self, point: usize, sample: [usize; 3]) -> f64 {
        let mut rest = point;
        (0..3)
            .map(|axis| {
                let points = self.elements[axis] + 3;
                let along = (rest % points) as f64 - 1.0;
                rest /= points;
                b_spline(position(sample[axis], self.shape[axis], self.elements[axis]) - along)
            })
            .product()
    }

    fn field_at(&self, field: &[f64], sample: [usize; 3]) -> f64 {
        field.iter().enumerate().map(|(point, value)| self.weight(point, sample) * value).sum()
    }

    /// The samples with a weight above 0: for each, its position in memory and its indices (x, y, z).
    fn counted(&self) -> impl Iterator<Item = (usize, [usize; 3])> {
        scene::voxels(self.shape).enumerate().filter(|(n, _)| self.weights[*n] > 0.0)
    }

    /// The expected control points of the B-spline that is fitted to the residuals, computed directly from the
    /// definition in `BiasBackend::bias_step`.
    fn fitted(&self, residual: impl Fn(usize) -> f64) -> Vec<f64> {
        let count = self.field.len();
        let (mut asked, mut squares) = (vec![0.0; count], vec![0.0; count]);
        for (n, sample) in self.counted() {
            let all: Vec<f64> = (0..count).map(|point| self.weight(point, sample)).collect();
            let sum: f64 = all.iter().map(|b| b * b).sum();
            for (point, b) in all.iter().enumerate() {
                let weight = f64::from(self.weights[n]) * b * b;
                asked[point] += weight * (b * residual(n) / sum);
                squares[point] += weight;
            }
        }
        asked.iter().zip(&squares).map(|(asked, sum)| if *sum > 0.0 { asked / sum } else { 0.0 }).collect()
    }
}

fn range(values: impl Iterator<Item = f32>) -> (f64, f64) {
    let (low, high) = values.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    (f64::from(low), f64::from(high))
}

/// Compares a histogram with one that is computed in double precision. The tolerance allows for the rounding of the two
/// parts of each sample to multiples of 1/65536.
fn check_histogram(scene: &Scene, left: &[f32], found: &Histogram) {
    let values: Vec<f32> = scene.counted().map(|(n, _)| left[n]).collect();
    let (low, high) = range(values.iter().copied());
    assert_eq!((found.low, found.high), (low, high));
    let bins = found.shares.len();
    let width = (high - low) / (bins as f64 - 1.0);
    for (bin, count) in found.counts().iter().enumerate() {
        let share = |value: &f32| (1.0 - ((f64::from(*value) - low) / width - bin as f64).abs()).max(0.0);
        let expected: f64 = values.iter().map(share).sum();
        let most = values.len() as f64 * 0.51 / 65_536.0;
        assert!((count - expected).abs() <= most, "{:?}, bin {bin}: {count} and {expected}", scene.shape);
    }
    assert_eq!(found.shares.iter().sum::<u64>(), 65_536 * values.len() as u64);
}

#[test]
fn histograms_share_samples_between_two_bins() {
    for scene in Scene::all() {
        for bins in [2, 200, 5000] {
            let found = Cpu.bias_histogram(&scene.upload(&scene.left), &scene.upload(&scene.weights), bins).unwrap();
            assert_eq!(found.shares.len(), bins);
            check_histogram(&scene, &scene.left, &found);
        }
    }
}

#[test]
fn histograms_of_equal_or_no_samples_are_empty() {
    let weights = Cpu.upload([3, 2, 1], &[1.0, 0.0, 1.0, 0.5, 0.0, 0.25]).unwrap();
    let left = Cpu.upload([3, 2, 1], &[2.0, 1.0, 2.0, 2.0, 7.0, 2.0]).unwrap();
    let found = Cpu.bias_histogram(&left, &weights, 4).unwrap();
    assert_eq!(found, Histogram { low: 2.0, high: 2.0, shares: vec![0; 4] });
    let found = Cpu.bias_histogram(&left, &Cpu.image([3, 2, 1]).unwrap(), 4).unwrap();
    assert!(found.low > found.high && found.shares == [0; 4], "{found:?}");
}

#[test]
fn an_iteration_is_what_its_definition_says() {
    let expected: Vec<f64> = (0..40).map(|n| 2.8 + 0.06 * f64::from(n) + 0.05 * (0.9 * f64::from(n)).sin()).collect();
    for scene in Scene::all() {
        let (low, high) = range(scene.counted().map(|(n, _)| scene.left[n]));
        let sharpened = Sharpened { low, width: (high - low) / 39.0, expected: &expected };
        let (logarithms, weights) = (scene.upload(&scene.logarithms), scene.upload(&scene.weights));
        let mut left = scene.upload(&scene.left);
        let mut mesh = Cpu.bias_mesh(&weights, &scene.axes(), &scene.field).unwrap();
        assert_eq!(Cpu.bias_field(&mesh).unwrap(), scene.field);
        let samples = Samples { logarithms: &logarithms, weights: &weights };
        let step = Cpu.bias_step(samples, &sharpened, &mut mesh, &mut left).unwrap();

        let residual = |n: usize| {
            let value = f64::from(scene.left[n]);
            let at = (value - low) / sharpened.width;
            let bin = (at as usize).min(38);
            value - (expected[bin] + (expected[bin + 1] - expected[bin]) * (at - bin as f64))
        };
        let fitted = scene.fitted(residual);
        let field = Cpu.bias_field(&mesh).unwrap();
        for ((found, before), change) in field.iter().zip(&scene.field).zip(&fitted) {
            // The tolerance is the rounding error of sums of a few thousand terms in double precision.
            assert!((found - before - change).abs() < 1e-11, "{:?}: {found}, {before} + {change}", scene.shape);
        }
        let left = Cpu.download(&left).unwrap();
        let mut changes = [0.0; 2];
        for (n, sample) in scene::voxels(scene.shape).enumerate() {
            if scene.weights[n] > 0.0 {
                let now = f64::from(scene.logarithms[n]) - scene.field_at(&field, sample);
                // The tolerance is the rounding error of logarithms in single precision.
                assert!((f64::from(left[n]) - now).abs() < 1e-6, "{:?}: {} and {now}", scene.shape, left[n]);
                let change = (f64::from(left[n]) - f64::from(scene.left[n])).exp_m1();
                changes = [changes[0] + change, changes[1] + change * change];
            } else {
                assert_eq!(left[n], scene.left[n]);
            }
        }
        for (found, expected) in step.changes.iter().zip(changes) {
            assert!((found - expected).abs() < 1e-11 * (1.0 + changes[1]), "{found} and {expected}");
        }
        check_histogram(&scene, &left, &step.histogram);
    }
}

#[test]
fn factors_are_exponentials_of_the_spline() {
    for scene in Scene::all() {
        let mut factors = Cpu.image(scene.shape).unwrap();
        Cpu.bias_factors(&scene.axes(), &scene.field, &mut factors).unwrap();
        let mut divided = scene.upload(&scene.logarithms);
        Cpu.bias_divide(&scene.axes(), &scene.field, &mut divided).unwrap();
        let (factors, divided) = (Cpu.download(&factors).unwrap(), Cpu.download(&divided).unwrap());
        for (n, sample) in scene::voxels(scene.shape).enumerate() {
            let expected = scene.field_at(&scene.field, sample).exp();
            // The tolerance is the rounding error in single precision of the exponent and of the exponential.
            assert!((f64::from(factors[n]) - expected).abs() < 2e-7 * expected, "{} and {expected}", factors[n]);
            assert_eq!(divided[n], scene.logarithms[n] / factors[n]);
        }
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let shape = [4, 3, 2];
    let axes = shape.map(|count| axis(count, 1));
    let image = |shape| Cpu.image(shape).unwrap();
    let (weights, other) = (image(shape), image([3, 4, 2]));
    assert!(matches!(Cpu.bias_mesh(&other, &axes, &[0.0; 64]), Err(Error::Shape { .. })));
    assert!(matches!(Cpu.bias_mesh(&weights, &axes, &[0.0; 63]), Err(Error::Length { .. })));
    assert!(matches!(Cpu.bias_factors(&axes, &[0.0; 64], &mut image([3, 4, 2])), Err(Error::Shape { .. })));
    assert!(matches!(Cpu.bias_divide(&axes, &[0.0; 8], &mut image(shape)), Err(Error::Length { .. })));
    assert!(matches!(Cpu.bias_histogram(&weights, &other, 9), Err(Error::Shape { .. })));
    assert!(matches!(Cpu.bias_histogram(&weights, &weights, 1), Err(Error::BiasBins { bins: 1 })));
    let mut mesh = Cpu.bias_mesh(&weights, &axes, &[0.0; 64]).unwrap();
    let samples = Samples { logarithms: &weights, weights: &weights };
    let mut step = |expected: &[f64], left: &mut _| {
        let sharpened = Sharpened { low: 0.0, width: 1.0, expected };
        Cpu.bias_step(samples, &sharpened, &mut mesh, left).map(drop)
    };
    assert!(matches!(step(&[0.0], &mut image(shape)), Err(Error::BiasBins { bins: 1 })));
    assert!(matches!(step(&[0.0; 5], &mut image([3, 4, 2])), Err(Error::Shape { .. })));
    assert!(step(&[0.0; 5], &mut image(shape)).is_ok());
}
