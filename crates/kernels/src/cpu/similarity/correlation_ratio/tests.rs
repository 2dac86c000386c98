//! Tests of the correlation ratio against a naive implementation of its definition in double precision.

use antsreg_core::AffineTransform;
use nalgebra::{Matrix3, Point3, Rotation3, Vector3};

use crate::cpu::image::Image;
use crate::cpu::rows::Row;
use crate::cpu::similarity::bin_fixed::{bin_fixed, extent};
use crate::cpu::similarity::correlation_ratio::correlation_ratio;
use crate::cpu::similarity::slices::slab_slices;

const BINS: usize = 19;

struct Pair {
    fixed_shape: [usize; 3],
    moving_shape: [usize; 3],
    fixed: Vec<f32>,
    moving: Vec<f32>,
    fixed_weight: Vec<f32>,
    moving_weight: Vec<f32>,
}

/// Pseudo-random bits from a number by the hash function splitmix64.
fn hash(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn noise(seed: u64, count: usize) -> Vec<f32> {
    (0..count as u64).map(|i| (hash(seed * 1_000_003 + i) >> 40) as f32 / (1 << 24) as f32).collect()
}

fn pair() -> Pair {
    let (fixed_shape, moving_shape) = ([37, 5, 9], [11, 23, 7]);
    let (fixed_len, moving_len) = (fixed_shape.iter().product(), moving_shape.iter().product());
    let fixed: Vec<f32> = noise(1, fixed_len).iter().map(|v| 100.0 * v - 20.0).collect();
    let moving = noise(2, moving_len).iter().map(|v| 1000.0 * v + 300.0).collect();
    // A third of the fixed weights are zero, including the weights of whole rows and of the ends of rows.
    let fixed_weight = noise(3, fixed_len)
        .iter()
        .enumerate()
        .map(|(i, v)| if *v < 0.2 || i % 37 < 3 || i % 37 > 30 || (i / 37) % 7 == 2 { 0.0 } else { *v })
        .collect();
    let moving_weight = noise(4, moving_len).iter().map(|v| (1.5 * v - 0.25).clamp(0.0, 1.0)).collect();
    Pair { fixed_shape, moving_shape, fixed, moving, fixed_weight, moving_weight }
}

fn trilinear(shape: [usize; 3], values: &[f32], at: &Point3<f64>) -> f64 {
    let mut sum = 0.0;
    for corner in 0..8 {
        let (mut weight, mut index, mut stride) = (1.0, 0, 1);
        for axis in 0..3 {
            let cell = (at[axis].floor() as usize).min(shape[axis] - 2);
            let fraction = at[axis] - cell as f64;
            let upper = corner >> axis & 1;
            weight *= if upper == 1 { fraction } else { 1.0 - fraction };
            index += (cell + upper) * stride;
            stride *= shape[axis];
        }
        sum += weight * f64::from(values[index]);
    }
    sum
}

/// The expected cost, by the formula in the documentation of `Similarity::correlation_ratio`, in two passes over the
/// samples.
fn oracle(pair: &Pair, weights: [bool; 2], edge: [f64; 3], map: &AffineTransform) -> f64 {
    let [nx, ny, _] = pair.fixed_shape;
    let mut samples: Vec<Vec<(f64, f64)>> = vec![Vec::new(); BINS];
    for (number, value) in pair.fixed.iter().enumerate() {
        let x = Point3::new((number % nx) as f64, (number / nx % ny) as f64, (number / nx / ny) as f64);
        let at = map.apply(&x);
        let last = pair.moving_shape.map(|n| n as f64 - 1.0);
        if (0..3).any(|axis| at[axis] < 0.0 || at[axis] > last[axis]) {
            continue;
        }
        let mut weight = 1.0;
        for axis in (0..3).filter(|axis| edge[*axis] > 0.0) {
            weight *= (at[axis].min(last[axis] - at[axis]) / edge[axis]).clamp(0.0, 1.0);
        }
        if weights[0] {
            weight *= f64::from(pair.fixed_weight[number]);
        }
        if weights[1] {
            weight *= trilinear(pair.moving_shape, &pair.moving_weight, &at);
        }
        let bin = ((value + 10.0) * (BINS as f32 / 80.0)).floor().clamp(0.0, BINS as f32 - 1.0);
        samples[bin as usize].push((weight, trilinear(pair.moving_shape, &pair.moving, &at)));
    }
    samples.retain(|bin| bin.iter().map(|(w, _)| w).sum::<f64>() > 2.0);
    let spread = |samples: &[(f64, f64)]| {
        let n: f64 = samples.iter().map(|(w, _)| w).sum();
        let mean = samples.iter().map(|(w, y)| w * y).sum::<f64>() / n;
        samples.iter().map(|(w, y)| w * (y - mean).powi(2)).sum::<f64>()
    };
    let total = spread(&samples.concat());
    if total > 0.0 { samples.iter().map(|bin| spread(bin)).sum::<f64>() / total } else { 1.0 }
}

fn image(shape: [usize; 3], voxels: &[f32]) -> Image {
    Image::from_voxels(shape, voxels).expect("as many voxels as the shape says")
}

fn compute(pair: &Pair, weights: [bool; 2], edge: [f64; 3], maps: &[AffineTransform]) -> Vec<f64> {
    let (fixed, moving) = (image(pair.fixed_shape, &pair.fixed), image(pair.moving_shape, &pair.moving));
    let fixed_weight = image(pair.fixed_shape, &pair.fixed_weight);
    let moving_weight = image(pair.moving_shape, &pair.moving_weight);
    let bins = bin_fixed(&fixed, weights[0].then_some(&fixed_weight), (-10.0, 70.0), BINS).expect("bins");
    correlation_ratio(&bins, &moving, weights[1].then_some(&moving_weight), edge, maps).expect("costs")
}

/// The maps of the tests from the fixed to the moving volume: random rotations and stretches, under which the volumes
/// overlap only in part.
fn maps() -> Vec<AffineTransform> {
    (0..40)
        .map(|i| {
            let r: Vec<f64> = noise(10 + i, 9).iter().map(|v| f64::from(*v) - 0.5).collect();
            let rotation = Rotation3::from_euler_angles(6.0 * r[0], 6.0 * r[1], 6.0 * r[2]);
            let matrix =
                rotation.matrix() * Matrix3::from_diagonal(&Vector3::new(0.4 + r[3], 1.5 + r[4], 0.9 + r[5]));
            let centre = Vector3::new(5.0, 11.0, 3.0) + 8.0 * Vector3::new(r[6], r[7], r[8]);
            AffineTransform { matrix, translation: centre - matrix * Vector3::new(18.0, 2.0, 4.0) }
        })
        .collect()
}

#[test]
fn is_what_its_definition_says() {
    let (pair, maps) = (pair(), maps());
    for weights in [[false, false], [true, false], [false, true], [true, true]] {
        for edge in [[0.0; 3], [1.0, 2.5, 0.7], [40.0, 1.0, 1.0]] {
            let costs = compute(&pair, weights, edge, &maps);
            for (map, cost) in maps.iter().zip(costs) {
                let expected = oracle(&pair, weights, edge, map);
                // Tolerance: positions in single precision have errors of 1e-6 voxel; the errors of interpolated values
                // are the image gradient times the errors of positions.
                assert!((cost - expected).abs() < 2e-5, "{cost} for {expected}: {weights:?} {edge:?} {map:?}");
            }
        }
    }
}

#[test]
fn rows_along_an_axis_end_exactly_at_the_border() {
    let pair = pair();
    let swap = Matrix3::new(0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, -1.0);
    for shift in [0.0, -2.0, 3.0, 0.5] {
        let maps = [
            AffineTransform { matrix: Matrix3::identity(), translation: Vector3::new(shift, 0.0, 0.0) },
            AffineTransform { matrix: swap, translation: Vector3::new(2.0, shift, 6.0) },
        ];
        for (map, cost) in maps.iter().zip(compute(&pair, [false; 2], [0.0; 3], &maps)) {
            let expected = oracle(&pair, [false; 2], [0.0; 3], map);
            assert!((cost - expected).abs() < 2e-5, "{cost} for {expected}: {map:?}");
        }
    }
}

/// Two volumes of noise within a ball; around the ball both have the constant value `backdrop`.
fn balls(backdrop: f32) -> Pair {
    let (fixed_shape, moving_shape) = ([67, 19, 21], [61, 33, 29]);
    let ball = |seed: u64, shape: [usize; 3], backdrop: f32, radius: f32| -> Vec<f32> {
        let mut values = noise(seed, shape.iter().product());
        for (i, value) in values.iter_mut().enumerate() {
            let index = [i % shape[0], i / shape[0] % shape[1], i / shape[0] / shape[1]];
            let at = |axis: usize| index[axis] as f32 - 0.5 * shape[axis] as f32;
            let r = (at(0).powi(2) + at(1).powi(2) + at(2).powi(2)).sqrt();
            *value = if r < radius { 50.0 * *value } else { backdrop };
        }
        values
    };
    let fixed = ball(21, fixed_shape, 3.0, 8.0);
    let moving = ball(22, moving_shape, backdrop, 7.0);
    Pair { fixed_shape, moving_shape, fixed_weight: fixed.clone(), moving_weight: moving.clone(), fixed, moving }
}

#[test]
fn backdrop_counts_as_if_it_were_read() {
    for backdrop in [0.0, 37.5] {
        let pair = balls(backdrop);
        let maps: Vec<AffineTransform> = (0..30)
            .map(|i| {
                let r: Vec<f64> = noise(50 + i, 6).iter().map(|v| f64::from(*v) - 0.5).collect();
                let matrix = *Rotation3::from_euler_angles(r[0], r[1], 6.0 * r[2]).matrix();
                let centre = Vector3::new(30.5, 16.5, 14.5) + 12.0 * Vector3::new(r[3], r[4], r[5]);
                AffineTransform { matrix, translation: centre - matrix * Vector3::new(33.5, 9.5, 10.5) }
            })
            .collect();
        for (map, cost) in maps.iter().zip(compute(&pair, [false; 2], [1.0; 3], &maps)) {
            let expected = oracle(&pair, [false; 2], [1.0; 3], map);
            // Tolerance: rounding errors of positions, times the steep gradient at the surface of the ball.
            assert!((cost - expected).abs() < 1e-4, "{cost} for {expected}: {map:?}");
        }
    }
}

#[test]
fn backdrop_covers_no_sample_near_anything_else() {
    let pair = balls(1.5);
    let moving = image(pair.moving_shape, &pair.moving);
    let backdrop = moving.backdrop();
    let mut covered = 0;
    for seed in 0..2000 {
        let r: Vec<f64> = noise(1000 + seed, 6).iter().map(|v| f64::from(*v)).collect();
        let step = 1.6 * Vector3::new(r[3] - 0.5, r[4] - 0.5, r[5] - 0.5);
        let row = Row { start: Vector3::new(60.0 * r[0], 32.0 * r[1], 28.0 * r[2]), step };
        let range = row.inside(pair.moving_shape, [0.0; 3], 0..16);
        if range.is_empty() || !backdrop.covers(&row, &range) {
            continue;
        }
        covered += 1;
        for x in range {
            let at = Point3::from(row.start + x as f64 * row.step);
            // Tolerance: the eight weights of the naive interpolation add up to 1 except for rounding.
            assert!((trilinear(pair.moving_shape, &pair.moving, &at) - 1.5).abs() < 1e-9, "at {at}");
        }
    }
    assert!(covered > 400, "{covered} of 2000 rows");
}

#[test]
fn is_smooth_while_voxels_enter_and_leave() {
    // The test images are waves of intensity, and each map shifts the image a little further. The waves are so long
    // that the second differences of the cost are small as long as no voxels enter or leave the moving image.
    let shape = [41, 37, 39];
    let blobs = |shift: f64| -> Vec<f32> {
        (0..shape.iter().product::<usize>())
            .map(|i| {
                let at = [i % 41, i / 41 % 37, i / 41 / 37].map(|v| v as f64);
                let wave = (0.31 * at[0] + shift).sin() + (0.27 * at[1]).cos() + (0.23 * at[2] + 1.0).sin();
                (100.0 * (wave + 3.0)) as f32
            })
            .collect()
    };
    let bins = bin_fixed(&image(shape, &blobs(0.0)), None, (0.0, 600.0), 64).expect("bins");
    let moving = image(shape, &blobs(0.4));
    let step = 0.02;
    let maps: Vec<AffineTransform> = (0..120)
        .map(|i| AffineTransform {
            matrix: *Rotation3::from_euler_angles(0.1, 0.05, -0.08).matrix(),
            translation: Vector3::new(-1.0 + step * f64::from(i), 0.7, -0.3),
        })
        .collect();
    let roughness = |edge: f64| {
        let costs = correlation_ratio(&bins, &moving, None, [edge; 3], &maps).expect("costs");
        let bend = |three: &[f64]| (three[0] - 2.0 * three[1] + three[2]).abs();
        let range = costs.iter().fold(0.0, |most: f64, cost| most.max((cost - costs[0]).abs()));
        costs.windows(3).map(bend).fold(0.0, f64::max) / range
    };
    // If the cost is a parabola, its second differences over 120 steps are 1/7200 of its range. The differences become
    // larger where a plane of voxels enters or leaves the moving image, or the band along the border of this image in
    // which weights rise from 0 to 1.
    let (hard, soft) = (roughness(0.0), roughness(2.0));
    assert!(soft < 1e-3, "{soft}");
    assert!(hard > 3.0 * soft, "without ramps {hard}, with them {soft}");
}

#[test]
fn costs_one_where_nothing_overlaps_or_varies() {
    let mut pair = pair();
    let far = AffineTransform { matrix: Matrix3::identity(), translation: Vector3::new(500.0, 0.0, 0.0) };
    let nowhere = AffineTransform { matrix: Matrix3::identity(), translation: Vector3::from_element(f64::NAN) };
    assert_eq!(compute(&pair, [false; 2], [1.0; 3], &[far, nowhere]), [1.0, 1.0]);
    pair.moving.fill(812.3);
    assert!(compute(&pair, [false; 2], [1.0; 3], &maps()).iter().all(|cost| *cost == 1.0));
    pair.fixed_weight.fill(0.0);
    assert!(compute(&pair, [true; 2], [1.0; 3], &maps()).iter().all(|cost| *cost == 1.0));
}

#[test]
fn is_zero_for_an_image_and_itself() {
    let mut pair = pair();
    pair.moving_shape = pair.fixed_shape;
    // Each bin contains only one value, so that the variance within a bin is 0.
    pair.fixed.iter_mut().for_each(|v| *v = 5.0 * (*v / 5.0).round().clamp(-2.0, 13.0));
    pair.moving.clone_from(&pair.fixed);
    pair.moving_weight.clone_from(&pair.fixed_weight);
    let cost = compute(&pair, [false; 2], [1.0; 3], &[AffineTransform::identity()])[0];
    assert!(cost < 1e-9, "{cost}");
}

#[test]
fn does_not_depend_on_the_number_of_threads() {
    let (fixed_shape, moving_shape) = ([61, 57, 53], [49, 63, 55]);
    let (fixed, moving) = (noise(5, fixed_shape.iter().product()), noise(6, moving_shape.iter().product()));
    let bins = bin_fixed(&image(fixed_shape, &fixed), None, (0.0, 1.0), 64).expect("bins");
    let run = |threads: usize| {
        let moving = image(moving_shape, &moving);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| correlation_ratio(&bins, &moving, None, [1.0; 3], &maps())).expect("costs")
    };
    let one = run(1);
    assert!(one.iter().any(|cost| *cost < 1.0));
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}

#[test]
fn bins_cover_the_range_and_clamp_beyond_it() {
    let values = [-5.0, 0.0, 0.249, 0.25, 0.5, 0.99, 1.0, 7.0, f32::INFINITY];
    let binned = bin_fixed(&image([9, 1, 1], &values), None, (0.0, 1.0), 4).expect("bins");
    assert_eq!(binned.bin, [0, 0, 0, 1, 2, 3, 3, 3, 3]);
}

#[test]
fn an_empty_range_has_one_bin() {
    let binned = bin_fixed(&image([3, 1, 1], &[0.2, 0.5, 0.9]), None, (0.5, 0.5), 4).expect("bins");
    assert_eq!(binned.bin, [0, 0, 0]);
}

#[test]
fn an_extent_reaches_from_the_first_to_the_last_weight() {
    assert_eq!(extent(&[0.0, 0.0, 0.5, 0.0, 2.0, 0.0]), [2, 5]);
    assert_eq!(extent(&[1.0, 0.0, 1.0]), [0, 3]);
    assert_eq!(extent(&[0.0, 0.0]), [0, 0]);
}

#[test]
fn a_slab_has_at_least_32768_voxels_in_whole_slices() {
    // 32 768 / (100·80) = 4.1, 32 768 / (256·128) = 1.
    assert_eq!([[100, 80, 9], [256, 128, 9], [500, 500, 9]].map(slab_slices), [5, 1, 1]);
    assert_eq!(slab_slices([0, 5, 2]), 32_768);
}

#[test]
fn slabs_add_up_to_the_volume() {
    // Three slabs, of eight, eight and four slices. The moving values depend on the fixed values in the lower slices, and
    // are noise in the upper slices. So the cost changes if a slice does not count once.
    let shape = [64, 64, 20];
    assert_eq!(slab_slices(shape), 8);
    let fixed: Vec<f32> = noise(31, shape.iter().product()).iter().map(|v| 80.0 * v - 10.0).collect();
    let random = noise(32, fixed.len());
    let moving: Vec<f32> = (0..fixed.len())
        .map(|i| {
            let share = (i / (64 * 64)) as f32 / 19.0;
            (1.0 - share) * fixed[i] + share * 80.0 * random[i]
        })
        .collect();
    let weight = vec![1.0; fixed.len()];
    let pair = Pair {
        fixed_shape: shape,
        moving_shape: shape,
        fixed,
        moving,
        fixed_weight: weight.clone(),
        moving_weight: weight,
    };
    let shifted = AffineTransform { translation: Vector3::new(0.0, 0.0, 0.4), ..AffineTransform::identity() };
    let maps = [AffineTransform::identity(), shifted];
    for (map, cost) in maps.iter().zip(compute(&pair, [false; 2], [0.0; 3], &maps)) {
        let expected = oracle(&pair, [false; 2], [0.0; 3], map);
        assert!((cost - expected).abs() < 2e-5, "{cost} for {expected}: {map:?}");
    }
}

#[test]
fn a_bin_of_two_samples_does_not_count() {
    // The second bin has two samples, which differ much from those of the first bin. Without them, the variance within
    // the first bin is the whole variance.
    let shape = [4, 2, 2];
    let second = |i: usize| i == 5 || i == 10;
    let fixed: Vec<f32> = (0..16).map(|i| if second(i) { 0.9 } else { 0.1 }).collect();
    let moving: Vec<f32> = (0..16).map(|i| if second(i) { 500.0 } else { (i % 3) as f32 }).collect();
    let bins = bin_fixed(&image(shape, &fixed), None, (0.0, 1.0), 2).expect("bins");
    let cost = correlation_ratio(&bins, &image(shape, &moving), None, [0.0; 3], &[AffineTransform::identity()])
        .expect("costs");
    assert_eq!(cost, [1.0]);
}

#[test]
fn does_not_depend_on_the_unit_of_the_moving_image() {
    let mut pair = pair();
    let maps = maps();
    let before = compute(&pair, [false; 2], [1.0; 3], &maps);
    // A power of two: all digits stay the same.
    pair.moving.iter_mut().for_each(|value| *value *= 2.0_f32.powi(-40));
    assert_eq!(compute(&pair, [false; 2], [1.0; 3], &maps), before);
    assert!(before.iter().any(|cost| *cost < 1.0));
}

#[test]
fn backdrop_counts_for_the_bin_of_each_sample_and_has_no_variance() {
    // The backdrop fills the first 113 voxels of each row. First its fixed voxels alternate between the bins 0 and 1, then
    // all are in bin 3. The other voxels are in the bins 1 and 2.
    let shape = [128, 8, 8];
    let random = noise(33, shape.iter().product());
    let in_bin = |bin: usize| (bin as f32 + 0.5) * 80.0 / BINS as f32 - 10.0;
    // The square of 4097 has one digit more than single precision holds; the squares of the other values are exact.
    for (backdrop, bins) in [(4112.0, [0, 1]), (4097.0, [3, 3])] {
        let is_backdrop = |i: usize| i % 128 <= 112;
        let side = |i: usize| i / 128 % 2;
        let bin_of = |i: usize| if is_backdrop(i) { bins[i % 2] } else { 1 + side(i) };
        let value = |i: usize| {
            let step = 16.0 * (3.0 * random[i]).floor();
            if is_backdrop(i) { backdrop } else { 4096.0 + if side(i) == 0 { -step } else { step } }
        };
        let pair = Pair {
            fixed_shape: shape,
            moving_shape: shape,
            fixed: (0..random.len()).map(|i| in_bin(bin_of(i))).collect(),
            moving: (0..random.len()).map(value).collect(),
            fixed_weight: vec![1.0; random.len()],
            moving_weight: vec![1.0; random.len()],
        };
        let identity = AffineTransform::identity();
        let cost = compute(&pair, [false; 2], [0.0; 3], &[identity])[0];
        let expected = oracle(&pair, [false; 2], [0.0; 3], &identity);
        // Tolerance: the last voxel of the backdrop in each row is read, and the square of its value is rounded.
        assert!((cost - expected).abs() < 1e-3, "{cost} for {expected}: backdrop {backdrop}");
    }
}
