//! Tests that label fusion gives the same bits as in version 0.2.0.

use antsreg_cohort::fusion::{JointOptions, joint, joint_everywhere};

use crate::scene::Scene;
use antsreg_kernels::Cpu;

/// FNV-1a hash of the bits of numbers.
fn digest(numbers: impl Iterator<Item = u32>) -> u64 {
    numbers
        .flat_map(u32::to_le_bytes)
        .fold(0xcbf2_9ce4_8422_2325, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[test]
fn labels_and_shares_keep_their_bits() {
    let defaults = JointOptions::default();
    let wide = JointOptions { patch_radius: 3, search_radius: 2, alpha: 0.01, beta: 1.0 };
    let cases = [
        ([37, 21, 18], 4, defaults, 0x358b_6957_293d_5c00),
        ([18, 9, 9], 1, defaults, 0xd861_d68d_f82d_9e26),
        ([20, 17, 10], 11, JointOptions { patch_radius: 1, search_radius: 1, ..defaults }, 0xe984_cff7_2a6b_e78a),
        ([23, 18, 5], 3, wide, 0x7ce8_64d4_419f_72b7),
    ];
    for (shape, atlases, options, expected) in cases {
        let mut scene = Scene::new(shape, atlases, 3);
        scene.flatten();
        let fused = joint(&scene.target, &scene.atlases(), &options, &Cpu).expect("fused");
        let all = joint_everywhere(&scene.target, &scene.atlases(), &options, None, &Cpu).expect("fused");
        let posteriors = [&fused, &all.labels].into_iter().flat_map(|fused| {
            [0, 3, 41, 2001].into_iter().flat_map(|label| fused.posterior(label).voxels).map(f32::to_bits)
        });
        let labels = [&fused, &all.labels].map(|fused| fused.labels.voxels.iter().map(|label| *label as u32));
        let intensities = all.intensities.voxels.iter().map(|value| value.to_bits());
        let found = digest(posteriors.chain(labels.into_iter().flatten()).chain(intensities));
        assert_eq!(found, expected, "{shape:?}: {found:#018x}");
    }
}
