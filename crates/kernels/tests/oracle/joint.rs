//! Tests of joint histograms and entropies against their definition.

use antsreg_core::AffineTransform;
use antsreg_kernels::ops::{Memory, Similarity};
use antsreg_kernels::{Cpu, Entropies, Error, JointParameters, JointSampling};
use nalgebra::{Matrix3, Rotation3, Vector3};

use super::naive::{self, neighbours, trilinear};
use super::scene::{self, Random};

const FIXED: [usize; 3] = [37, 21, 13];
const MOVING: [usize; 3] = [29, 33, 17];
const FIXED_BINS: usize = 11;
const FIXED_RANGE: (f32, f32) = (0.1, 0.9);
const SAMPLINGS: [JointSampling; 2] = [JointSampling::Trilinear, JointSampling::PartialVolume];

struct Pair {
    fixed: Vec<f32>,
    moving: Vec<f32>,
    weights: [Vec<f32>; 2],
}

fn pair() -> Pair {
    Pair {
        fixed: scene::image(FIXED, 51),
        moving: scene::image(MOVING, 52),
        weights: [scene::weight(FIXED, 53), scene::weight(MOVING, 54)],
    }
}

/// Affine maps with rotation, stretch and partial overlap. The last map leaves no overlap.
fn maps() -> Vec<AffineTransform> {
    let mut maps: Vec<AffineTransform> = (0..6)
        .map(|n| {
            let mut random = Random::new(60 + n);
            let turn = Rotation3::from_euler_angles(random.signed(), random.signed(), 3.0 * random.signed());
            let stretch = Vector3::from_fn(|_, _| 0.9 + 0.3 * random.signed());
            let matrix = turn.matrix() * Matrix3::from_diagonal(&stretch);
            let centre = Vector3::new(14.0, 16.0, 8.0) + 4.0 * Vector3::from_fn(|_, _| random.signed());
            AffineTransform { matrix, translation: centre - matrix * Vector3::new(18.0, 10.0, 6.0) }
        })
        .collect();
    maps.push(AffineTransform { matrix: Matrix3::identity(), translation: Vector3::new(-99.0, 0.0, 0.0) });
    maps
}

/// The expected joint histogram, computed as the documentation of the trait `Backend` defines it.
fn expected(
    pair: &Pair,
    weighted: [bool; 2],
    edge: [f64; 3],
    parameters: &JointParameters,
    map: &AffineTransform,
) -> Vec<f64> {
    let [fixed_weight, moving_weight] = [0, 1].map(|side| weighted[side].then_some(pair.weights[side].as_slice()));
    let mut counts = vec![0.0; FIXED_BINS * parameters.bins];
    let share = |value: f64, (low, high): (f32, f32)| (value - f64::from(low)) / f64::from(high - low);
    for sample in naive::samples(FIXED, fixed_weight, MOVING, moving_weight, edge, map) {
        let fixed = (FIXED_BINS as f64 * share(f64::from(pair.fixed[sample.at]), FIXED_RANGE)).floor();
        let row = fixed.clamp(0.0, FIXED_BINS as f64 - 1.0) as usize * parameters.bins;
        let top = parameters.bins as f64 - 1.0;
        match parameters.sampling {
            JointSampling::Trilinear => {
                let value = trilinear(&pair.moving, MOVING, sample.point);
                let at = (top * share(value, parameters.low_high)).clamp(0.0, top);
                let upper = at - at.floor();
                counts[row + at as usize] += sample.weight * (1.0 - upper);
                if upper > 0.0 {
                    counts[row + at as usize + 1] += sample.weight * upper;
                }
            }
            JointSampling::PartialVolume => {
                for (voxel, weight) in neighbours(MOVING, sample.point) {
                    let at =
                        (parameters.bins as f64 * share(f64::from(pair.moving[voxel]), parameters.low_high)).floor();
                    counts[row + at.clamp(0.0, top) as usize] += sample.weight * weight;
                }
            }
        }
    }
    counts
}

fn entropy(counts: impl IntoIterator<Item = f64>) -> f64 {
    let counts: Vec<f64> = counts.into_iter().collect();
    let total: f64 = counts.iter().sum();
    -counts.iter().filter(|n| **n > 0.0).map(|n| n / total * (n / total).ln()).sum::<f64>()
}

/// The expected entropies (fixed, moving, joint), computed as the documentation of the trait `Backend` defines them.
fn entropies(counts: &[f64], bins: usize) -> [f64; 3] {
    let rows = counts.chunks_exact(bins).map(|row| row.iter().sum());
    let columns = (0..bins).map(|column| counts.iter().skip(column).step_by(bins).sum());
    [entropy(rows), entropy(columns), entropy(counts.iter().copied())]
}

fn compute(
    pair: &Pair,
    weighted: [bool; 2],
    edge: [f64; 3],
    parameters: &JointParameters,
    maps: &[AffineTransform],
) -> (Vec<Vec<f64>>, Vec<Entropies>) {
    let fixed = Cpu.upload(FIXED, &pair.fixed).unwrap();
    let moving = Cpu.upload(MOVING, &pair.moving).unwrap();
    let weights = [Cpu.upload(FIXED, &pair.weights[0]).unwrap(), Cpu.upload(MOVING, &pair.weights[1]).unwrap()];
    let [fixed_weight, moving_weight] = [0, 1].map(|side| weighted[side].then_some(&weights[side]));
    let bins = Cpu.bin_fixed(&fixed, fixed_weight, FIXED_RANGE, FIXED_BINS).unwrap();
    let unit = f64::from(JointParameters::UNIT);
    let histograms = maps.iter().map(|map| {
        let counts = Cpu.joint_histogram(&bins, &moving, moving_weight, edge, parameters, map).unwrap();
        counts.into_iter().map(|count| count as f64 / unit).collect()
    });
    let entropies = Cpu.joint_entropies(&bins, &moving, moving_weight, edge, parameters, maps).unwrap();
    (histograms.collect(), entropies)
}

#[test]
fn histograms_and_entropies_are_what_their_definition_says() {
    let (pair, maps) = (pair(), maps());
    for sampling in SAMPLINGS {
        for (bins, weighted, edge) in [
            (2, [false, false], [0.0; 3]),
            (13, [false, false], [1.0, 2.5, 0.7]),
            (64, [true, false], [3.0; 3]),
            (64, [false, true], [0.5; 3]),
            (150, [true, true], [40.0, 1.0, 1.0]),
        ] {
            let parameters = JointParameters { sampling, bins, low_high: (0.2, 0.8) };
            let (histograms, found) = compute(&pair, weighted, edge, &parameters, &maps);
            for ((map, counts), found) in maps.iter().zip(&histograms).zip(&found) {
                let expected = expected(&pair, weighted, edge, &parameters, map);
                let total: f64 = expected.iter().sum();
                let off: f64 = counts.iter().zip(&expected).map(|(a, b)| (a - b).abs()).sum();
                // The tolerance allows for several errors. Positions have errors of 1e-5 voxel, which intensity slopes
                // of up to 1 and up to 250 bins turn into at most 2.5e-3 of a sample, far less on average. A sample at
                // the border may be inside or outside. Each of up to eight parts of a sample is rounded to an integer
                // unit.
                let parts = 8 * FIXED.iter().product::<usize>();
                let allowed = 3e-4 * total + 0.01 + 0.25 * parts as f64 / f64::from(JointParameters::UNIT);
                assert!(off <= allowed, "{off} of {total}: {sampling:?} {bins} {weighted:?} {edge:?}");
                let own = entropies(counts, bins);
                for (found, own) in [found.fixed, found.moving, found.joint].into_iter().zip(own) {
                    // The entropies must be those of the returned histogram, except for sums of doubles in another
                    // order.
                    let own = if total > 0.0 { own } else { 0.0 };
                    assert!((found - own).abs() < 1e-11, "{found} for {own}");
                }
                // In the total weight of all samples, rounding errors of single samples cancel. So the tolerance of the
                // total weight is smaller.
                assert!((found.weight - total).abs() <= 3e-4 * total + 0.01, "{} for {total}", found.weight);
            }
            assert_eq!(found.last().map(|found| (found.weight, found.joint)), Some((0.0, 0.0)));
        }
    }
}

#[test]
fn an_image_tells_all_about_itself_and_nothing_about_noise() {
    let mut random = Random::new(71);
    let shape = [31, 32, 33];
    // These intensities lie inside the histogram bins of the fixed image, not at the borders of bins, and at the
    // centres of the histogram bins of the moving image.
    let values: Vec<f32> = (0..shape.iter().product()).map(|_| (8.0 * random.next()).floor() as f32 / 7.0).collect();
    let noise: Vec<f32> = values.iter().map(|_| (8.0 * random.next()).floor() as f32 / 7.0).collect();
    let fixed = Cpu.bin_fixed(&Cpu.upload(shape, &values).unwrap(), None, (-0.01, 1.01), 8).unwrap();
    for sampling in SAMPLINGS {
        let parameters = JointParameters { sampling, bins: 8, low_high: (0.0, 1.0) };
        let of = |voxels: &[f32]| {
            let moving = Cpu.upload(shape, voxels).unwrap();
            let identity = [AffineTransform::identity()];
            Cpu.joint_entropies(&fixed, &moving, None, [0.0; 3], &parameters, &identity).unwrap()[0]
        };
        let same = of(&values);
        assert!((same.mutual_information() - same.fixed).abs() < 1e-12 && same.fixed > 2.0, "{same:?}");
        assert!((same.normalised_mutual_information() - 2.0).abs() < 1e-12, "{same:?}");
        let other = of(&noise);
        // The images are independent. The expected mutual information is 7.5e-4: 7·7 degrees of freedom, divided by
        // twice 32 736 samples.
        assert!(other.mutual_information() < 2e-3, "{other:?}");
        assert!((other.normalised_mutual_information() - 1.0).abs() < 1e-3, "{other:?}");
    }
}

#[test]
fn backdrop_counts_as_if_it_were_read() {
    // A test image with a small object in a large empty volume. The backend skips most blocks of voxels, because they
    // contain only background.
    let shape = [70, 40, 36];
    let object = |seed: u64, backdrop: f32| -> Vec<f32> {
        let mut random = Random::new(seed);
        scene::voxels(shape)
            .map(|voxel| {
                let inside = (0..3).all(|axis| voxel[axis].abs_diff(shape[axis] / 2) < 7);
                if inside { random.next() as f32 } else { backdrop }
            })
            .collect()
    };
    let fixed = Cpu.bin_fixed(&Cpu.upload(shape, &object(81, 0.0)).unwrap(), None, (0.0, 1.0), 9).unwrap();
    let voxels = object(82, 0.3);
    let moving = Cpu.upload(shape, &voxels).unwrap();
    // The backdrop is the part of an image that has the value of its first voxel; it is not read. Here the first voxel
    // gets another value. So the background no longer belongs to the backdrop and is read.
    let mut marked = voxels.clone();
    marked[0] = 0.31;
    let marked = Cpu.upload(shape, &marked).unwrap();
    let map = AffineTransform {
        matrix: *Rotation3::from_euler_angles(0.2, -0.3, 0.1).matrix(),
        translation: Vector3::new(6.0, 5.0, 12.0),
    };
    for sampling in SAMPLINGS {
        let parameters = JointParameters { sampling, bins: 20, low_high: (0.0, 1.0) };
        let [empty, read] = [&moving, &marked]
            .map(|moving| Cpu.joint_histogram(&fixed, moving, None, [2.0; 3], &parameters, &map).unwrap());
        assert!(empty.iter().sum::<u64>() > 1 << 30);
        // Only the value of the first voxel was changed. This value has no effect on the histograms, because weights
        // are zero at the border of the moving image. So both results must be equal.
        assert_eq!(empty, read);
    }
}

#[test]
fn sizes_that_no_device_has_are_refused() {
    let image = Cpu.upload([8, 8, 8], &[0.5; 512]).unwrap();
    let entropies = |fixed_bins, bins| {
        let fixed = Cpu.bin_fixed(&image, None, (0.0, 1.0), fixed_bins).unwrap();
        let parameters = JointParameters { sampling: JointSampling::Trilinear, bins, low_high: (0.0, 1.0) };
        Cpu.joint_entropies(&fixed, &image, None, [0.0; 3], &parameters, &[AffineTransform::identity()])
    };
    assert!(entropies(2, 1024).is_ok());
    for (fixed_bins, bins) in [(1, 64), (64, 1), (64, 1025), (2000, 64)] {
        let error = entropies(fixed_bins, bins).unwrap_err();
        assert!(matches!(error, Error::JointBins { fixed, moving, .. } if (fixed, moving) == (fixed_bins, bins)));
    }
}

#[test]
fn histograms_do_not_depend_on_the_number_of_threads() {
    // With four threads, the backend divides this volume into three parts.
    let shape = [64, 64, 20];
    let [fixed, moving] = [83, 84].map(|seed| Cpu.upload(shape, &scene::image(shape, seed)).unwrap());
    let fixed = Cpu.bin_fixed(&fixed, None, FIXED_RANGE, FIXED_BINS).unwrap();
    let parameters = JointParameters { sampling: JointSampling::Trilinear, bins: 20, low_high: (0.0, 1.0) };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let map = AffineTransform::identity();
        pool.install(|| Cpu.joint_histogram(&fixed, &moving, None, [0.0; 3], &parameters, &map)).unwrap()
    };
    let one = run(1);
    assert_eq!(one.iter().sum::<u64>(), 81_920 * u64::from(JointParameters::UNIT));
    assert_eq!(one, run(4));
}
