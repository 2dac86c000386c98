//! Tests of label fusion against its formulas, computed directly in double precision.

use std::collections::BTreeMap;

use antsreg_cohort::fusion::{JointOptions, joint, joint_everywhere, majority};
use antsreg_kernels::Cpu;

use crate::naive;
use crate::scene::Scene;

#[test]
fn joint_fusion_is_that_of_the_formulas() {
    let defaults = JointOptions::default();
    let cases = [
        // Label fusion works on blocks of voxels. Hardly any size of a test volume is a multiple of the size of a
        // block. Some volumes have several blocks along an axis, and some are smaller than one block.
        ([18, 9, 9], 4, defaults),
        ([7, 9, 5], 5, defaults),
        ([18, 9, 3], 3, JointOptions { patch_radius: 1, search_radius: 1, alpha: 0.3, beta: 1.0 }),
        ([10, 8, 9], 2, JointOptions { patch_radius: 1, search_radius: 0, alpha: 0.01, beta: 1.5 }),
        // In this test case the volume is only one voxel thick along the third axis, so patches (7 voxels wide) are
        // thicker than the volume.
        ([9, 4, 1], 3, JointOptions { patch_radius: 3, search_radius: 2, ..defaults }),
    ];
    for (shape, atlases, options) in cases {
        let mut scene = Scene::new(shape, atlases, 8);
        // The target image is constant on its left side, and the first atlas is constant at its front. So the test
        // compares constant and varying patches of the target with constant and varying patches of the atlas.
        scene.flatten();
        let fused = joint(&scene.target, &scene.atlases(), &options, &Cpu).expect("fused");
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
                // The shares of the vote may differ by 2e-4, because patches are in single precision (seven digits).
                // With alpha = 0.01, the inverse of the matrix M of expected errors loses some of these digits.
                let near = (f64::from(*found) - expected).abs() < 2e-4;
                assert!(near, "{shape:?}, label {label}, voxel {voxel}: {found}, expected {expected}");
            }
        }
        for (voxel, (found, expected)) in fused.labels.voxels.iter().zip(&expected).enumerate() {
            assert_eq!(*found, winner(expected), "{shape:?}, voxel {voxel}: {expected:?}");
        }
    }
}

#[test]
fn joint_fusion_everywhere_is_that_of_the_formulas() {
    let options = JointOptions { alpha: 0.02, ..JointOptions::default() };
    let small = JointOptions { patch_radius: 1, search_radius: 1, ..options };
    for (shape, atlases, options, is_masked) in
        [([18, 9, 9], 4, options, true), ([9, 8, 7], 5, small, false), ([10, 8, 1], 2, small, true)]
    {
        let mut scene = Scene::new(shape, atlases, 8);
        scene.flatten();
        let voxels: usize = shape.iter().product();
        let region: Vec<bool> = (0..voxels).map(|n| !is_masked || n % shape[0] > 2 && n % 7 != 0).collect();
        let given = is_masked.then_some(&region[..]);
        let fused = joint_everywhere(&scene.target, &scene.atlases(), &options, given, &Cpu).expect("fused");
        let posteriors = [0, 3, 41, 2001].map(|label| (label, fused.labels.posterior(label)));
        let (low, high) = scene.images[0].range().expect("numbers");
        let mut others = false;
        for (voxel, expected) in naive::everywhere(&scene, &options, &region).iter().enumerate() {
            let (label, intensity) = (fused.labels.labels.voxels[voxel], fused.intensities.voxels[voxel]);
            let Some((shares, expected)) = expected else {
                assert_eq!((label, intensity), (0, 0.0), "{shape:?}, voxel {voxel} is outside the region");
                continue;
            };
            for (label, posterior) in &posteriors {
                let share = shares.get(label).copied().unwrap_or(0.0);
                // The shares of the vote may differ by 5e-4. Patches are in single precision (seven digits), and the
                // inverse of the matrix M of expected errors loses some of these digits.
                let near = (f64::from(posterior.voxels[voxel]) - share).abs() < 5e-4;
                assert!(near, "{shape:?}, label {label}, voxel {voxel}: {}, not {share}", posterior.voxels[voxel]);
            }
            let apart = (f64::from(intensity) - expected).abs() / f64::from(high - low);
            assert!(apart < 5e-4, "{shape:?}, voxel {voxel}: {intensity}, expected {expected}");
            let near_tie = shares.values().filter(|share| **share > shares[&winner(shares)] - 1e-3).count() > 1;
            assert!(near_tie || label == winner(shares), "{shape:?}, voxel {voxel}: {label}, {shares:?}");
            let agreed = scene.labels.iter().all(|map| map.voxels[voxel] == scene.labels[0].voxels[voxel]);
            others |= agreed && shares.len() > 1;
        }
        assert!(others, "{shape:?}: no voxel where atlases agree gets other votes");
    }
}

/// Returns the label with the largest share of the atlases' votes at a voxel. With equal shares, the smallest of these
/// labels wins.
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
        pool.install(|| joint(&scene.target, &scene.atlases(), &JointOptions::default(), &Cpu).expect("fused"))
    };
    assert_eq!(with(1), with(3));
}
