//! The expected results of joint label fusion: the formulas of the paper, computed voxel by voxel in double precision.

use std::collections::BTreeMap;

use antsreg_cohort::fusion::JointOptions;
use antsreg_core::{LabelVolume, Volume};
use nalgebra::{DMatrix, DVector};

use crate::scene::Scene;

/// Smallest difference of the correlations of two shifts at which single precision surely finds the larger one. The
/// correlations are sums of products over a patch, of about 100.
const TOO_CLOSE: f64 = 5e-5;

/// For each voxel of `region`: the share of each label, and the fused intensity. Only patches around voxels of the
/// region vote, and weights are not negative.
pub fn everywhere(scene: &Scene, options: &JointOptions, region: &[bool]) -> Vec<Option<(BTreeMap<i32, f64>, f64)>> {
    let shape = scene.target.grid.shape;
    let mut found = BTreeMap::new();
    let decide = |(voxel, inside): (usize, &bool)| {
        let at = place(shape, voxel);
        let (mut votes, mut sum, mut patches) = (BTreeMap::new(), 0.0, 0.0);
        for step in cube(options.patch_radius as i32).into_iter().filter(|_| *inside) {
            let centre = [0, 1, 2].map(|axis| at[axis] + step[axis]);
            let is_in = (0..3).all(|axis| centre[axis] >= 0 && centre[axis] < shape[axis] as i32);
            if !is_in || !region[index(shape, centre, [0; 3])] {
                continue;
            }
            let (shifts, weights) = found.entry(centre).or_insert_with(|| choose(scene, options, centre)).clone();
            let positive: f64 = weights.iter().map(|weight| weight.max(0.0)).sum();
            for (n, (shift, weight)) in shifts.iter().zip(&weights).enumerate() {
                let (there, weight) = (index(shape, at, *shift), weight.max(0.0) / positive);
                *votes.entry(scene.labels[n].voxels[there]).or_insert(0.0) += weight;
                sum += weight * f64::from(scene.images[n].voxels[there]);
            }
            patches += 1.0;
        }
        let shares = votes.into_iter().map(|(label, vote)| (label, vote / patches)).collect();
        inside.then_some((shares, sum / patches))
    };
    region.iter().enumerate().map(decide).collect()
}

/// The share of the vote of each label, at each voxel.
pub fn joint(scene: &Scene, options: &JointOptions) -> Vec<BTreeMap<i32, f64>> {
    let shape = scene.target.grid.shape;
    let radius = options.patch_radius as i32;
    let voxels = shape.iter().product::<usize>();
    let mut found = BTreeMap::new();
    (0..voxels)
        .map(|voxel| {
            let at = place(shape, voxel);
            let here: Vec<i32> = scene.labels.iter().map(|map| map.voxels[voxel]).collect();
            if here.iter().all(|label| *label == here[0]) {
                return BTreeMap::from([(here[0], 1.0)]);
            }
            let mut votes = BTreeMap::new();
            for step in cube(radius) {
                let centre = [0, 1, 2].map(|axis| at[axis] + step[axis]);
                if (0..3).any(|axis| centre[axis] < 0 || centre[axis] >= shape[axis] as i32) {
                    continue;
                }
                let (shifts, weights) = found.entry(centre).or_insert_with(|| choose(scene, options, centre)).clone();
                for ((map, shift), weight) in scene.labels.iter().zip(&shifts).zip(&weights) {
                    let label = label_at(map, [0, 1, 2].map(|axis| at[axis] + shift[axis]));
                    *votes.entry(label).or_insert(0.0) += weight;
                }
            }
            let total: f64 = votes.values().map(|vote: &f64| vote.max(0.0)).sum();
            votes.into_iter().map(|(label, vote)| (label, vote.max(0.0) / total)).collect()
        })
        .collect()
}

/// For joint label fusion at one voxel `centre`: the shift of each atlas at which its patch is most similar to the
/// target's patch, and the weight of each atlas.
fn choose(scene: &Scene, options: &JointOptions, centre: [i32; 3]) -> (Vec<[i32; 3]>, Vec<f64>) {
    let radius = options.patch_radius as i32;
    let target = patch(&scene.target, centre, radius);
    let mut nearest_first = cube(options.search_radius as i32);
    nearest_first.sort_by_key(|shift| shift.iter().map(|along| along * along).sum::<i32>());
    let mut shifts = Vec::new();
    let mut differences: Vec<Vec<f64>> = Vec::new();
    for image in &scene.images {
        let (mut best, mut second) = (([0; 3], f64::NEG_INFINITY), f64::NEG_INFINITY);
        for shift in &nearest_first {
            let there = patch(image, [0, 1, 2].map(|axis| centre[axis] + shift[axis]), radius);
            let score: f64 = target.iter().zip(&there).map(|(here, there)| here * there).sum();
            if score > best.1 {
                second = best.1;
                best = (*shift, score);
            } else if score > second {
                second = score;
            }
        }
        // If the correlations of two shifts differ too little, rounding to single precision could choose either shift,
        // so the test stops. Shifts with exactly equal correlations are allowed, because the first of these shifts is
        // always chosen. Patches outside the image have equal correlations.
        let close = best.1 - second;
        assert!(close == 0.0 || close > TOO_CLOSE, "take another seed: {close:e} between two shifts at {centre:?}");
        let there = patch(image, [0, 1, 2].map(|axis| centre[axis] + best.0[axis]), radius);
        shifts.push(best.0);
        differences.push(target.iter().zip(&there).map(|(here, there)| (here - there).abs()).collect());
    }
    let count = differences.len();
    let error = |i: usize, j: usize| {
        let products = differences[i].iter().zip(&differences[j]).map(|(i, j)| i * j);
        let mean = products.sum::<f64>() / target.len() as f64;
        mean.powf(options.beta) + if i == j { options.alpha } else { 0.0 }
    };
    let ones = DVector::from_element(count, 1.0);
    let solved = DMatrix::from_fn(count, count, error).lu().solve(&ones).expect("an inverse");
    let sum: f64 = solved.iter().sum();
    (shifts, solved.iter().map(|weight| weight / sum).collect())
}

/// The intensities of a patch, normalised to mean 0 and standard deviation 1; all 0 if the patch is flat.
fn patch(image: &Volume, centre: [i32; 3], radius: i32) -> Vec<f64> {
    let at = |step: [i32; 3]| f64::from(image.voxels[index(image.grid.shape, centre, step)]);
    let values: Vec<f64> = cube(radius).into_iter().map(at).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let sd = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
    let (low, high) = image.range().expect("numbers");
    // The intensities of a flat patch (with almost no contrast) are all set to 0, because such a patch carries no
    // information.
    let scale = if sd < 1e-3 * f64::from(high - low) { 0.0 } else { 1.0 / sd };
    values.into_iter().map(|value| (value - mean) * scale).collect()
}

fn label_at(map: &LabelVolume, at: [i32; 3]) -> i32 {
    map.voxels[index(map.grid.shape, at, [0; 3])]
}

/// Index in memory of the voxel at the position `at` + `step`. A position outside the volume gives the index of the
/// nearest voxel of the volume.
fn index(shape: [usize; 3], at: [i32; 3], step: [i32; 3]) -> usize {
    let [x, y, z] = [0, 1, 2].map(|axis| (at[axis] + step[axis]).clamp(0, shape[axis] as i32 - 1) as usize);
    (z * shape[1] + y) * shape[0] + x
}

fn place([nx, ny, _]: [usize; 3], voxel: usize) -> [i32; 3] {
    [voxel % nx, voxel / nx % ny, voxel / (nx * ny)].map(|at| at as i32)
}

/// Lists the offsets from a voxel to all voxels of the cube around it that reaches `radius` voxels along each axis. The
/// offset along the first axis varies fastest.
fn cube(radius: i32) -> Vec<[i32; 3]> {
    let width = 2 * radius + 1;
    (0..width.pow(3)).map(|n| [n % width - radius, n / width % width - radius, n / width / width - radius]).collect()
}
