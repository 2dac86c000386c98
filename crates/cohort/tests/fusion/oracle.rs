//! Label fusion against its formulas in double precision.

use std::collections::BTreeMap;

use antsreg_cohort::fusion::{JointOptions, joint, majority};

use crate::naive;
use crate::scene::Scene;

#[test]
fn joint_fusion_is_that_of_the_formulas() {
    let defaults = JointOptions::default();
    let cases = [
        // Odd sizes: several blocks along the axes, and less than one block.
        ([18, 9, 9], 4, defaults),
        ([7, 9, 5], 5, defaults),
        ([18, 9, 3], 3, JointOptions { patch_radius: 1, search_radius: 1, alpha: 0.3, beta: 1.0 }),
        ([10, 8, 9], 2, JointOptions { patch_radius: 1, search_radius: 0, alpha: 0.01, beta: 1.5 }),
        // Patches larger than the volume's depth.
        ([9, 4, 1], 3, JointOptions { patch_radius: 3, search_radius: 2, ..defaults }),
    ];
    for (shape, atlases, options) in cases {
        let mut scene = Scene::new(shape, atlases, 8);
        // Partly flat: the target on the left, the first atlas in front. So all four combinations of flat and other
        // patches occur.
        scene.flatten();
        let fused = joint(&scene.target, &scene.atlases(), &options).expect("fused");
        let expected = naive::joint(&scene, &options);
        assert!(
            fused.undecided() > shape.iter().product::<usize>() / 4,
            "too little to decide: {}",
            fused.undecided()
        );
        for label in [0, 3, 41, 2001] {
            let posterior = fused.posterior(label);
            for (voxel, (found, expected)) in posterior.voxels.iter().zip(&expected).enumerate() {
                let expected = expected.get(&label).copied().unwrap_or(0.0);
                // Tolerance: patches are normalised and multiplied in single precision, seven digits. The inverse of
                // M loses some of them with alpha = 0.01.
                let near = (f64::from(*found) - expected).abs() < 2e-4;
                assert!(near, "{shape:?}, label {label}, voxel {voxel}: {found}, expected {expected}");
            }
        }
        for (voxel, (found, expected)) in fused.labels.voxels.iter().zip(&expected).enumerate() {
            assert_eq!(*found, winner(expected), "{shape:?}, voxel {voxel}: {expected:?}");
        }
    }
}

/// The label with the largest share; of several with equal shares, the smallest.
fn winner(shares: &BTreeMap<i32, f64>) -> i32 {
    let most = shares.values().copied().fold(0.0, f64::max);
    shares.iter().find(|(_, share)| **share > most - 1e-6).map_or(0, |(label, _)| *label)
}

#[test]
fn majority_counts_heads() {
    let scene = Scene::new([13, 9, 6], 5, 3);
    let fused = majority(&scene.maps()).expect("fused");
    let mut ties = 0;
    for voxel in 0..fused.labels.voxels.len() {
        let mut shares = BTreeMap::new();
        for map in &scene.labels {
            *shares.entry(map.voxels[voxel]).or_insert(0.0) += 0.2;
        }
        let mut sorted: Vec<f64> = shares.values().copied().collect();
        sorted.sort_by(f64::total_cmp);
        ties += usize::from(sorted.len() > 1 && sorted[sorted.len() - 2] > sorted[sorted.len() - 1] - 1e-9);
        assert_eq!(fused.labels.voxels[voxel], winner(&shares));
        for label in [0, 3, 41, 2001] {
            let expected = shares.get(&label).copied().unwrap_or(0.0);
            assert!((f64::from(fused.posterior(label).voxels[voxel]) - expected).abs() < 1e-6);
        }
    }
    assert!(ties > 5, "{ties} ties");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let scene = Scene::new([37, 21, 18], 4, 11);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| joint(&scene.target, &scene.atlases(), &JointOptions::default()).expect("fused"))
    };
    assert_eq!(with(1), with(3));
}
