//! Tests of label fusion in degenerate cases (equal atlases, flat images, a label that only one atlas has) and of
//! errors for invalid input.

use antsreg_cohort::fusion::{Atlas, FusionError, JointOptions, joint, joint_everywhere, majority};
use antsreg_core::{LabelVolume, Volume};
use antsreg_kernels::Cpu;

use crate::scene::{Noise, Scene};

const SHAPE: [usize; 3] = [17, 10, 9];

fn fuse(scene: &Scene) -> LabelVolume {
    joint(&scene.target, &scene.atlases(), &JointOptions::default(), &Cpu).expect("fused").labels
}

#[test]
fn one_atlas_gives_its_own_labels() {
    let scene = Scene::new(SHAPE, 1, 5);
    assert_eq!(fuse(&scene), scene.labels[0]);
    assert_eq!(majority(&scene.maps()).expect("fused").labels, scene.labels[0]);
}

#[test]
fn the_same_atlas_over_again_counts_no_less_than_once() {
    let mut scene = Scene::new(SHAPE, 1, 5);
    scene.images = vec![scene.images[0].clone(); 4];
    scene.labels = vec![scene.labels[0].clone(); 4];
    assert_eq!(fuse(&scene), scene.labels[0]);
}

#[test]
fn like_images_with_unlike_labels_share_the_vote_and_the_smallest_label_wins() {
    let mut scene = Scene::new(SHAPE, 1, 5);
    let grid = scene.target.grid.clone();
    scene.images = vec![scene.images[0].clone(); 4];
    scene.labels =
        [9, 4, 4, 9].map(|label| LabelVolume { grid: grid.clone(), voxels: vec![label; grid.len()] }).to_vec();
    let fused = joint(&scene.target, &scene.atlases(), &JointOptions::default(), &Cpu).expect("fused");
    assert!(fused.labels.voxels.iter().all(|label| *label == 4));
    for (label, share) in [(4, 0.5), (9, 0.5), (7, 0.0)] {
        assert!(fused.posterior(label).voxels.iter().all(|found| (found - share).abs() < 1e-6), "{label}");
    }
}

#[test]
fn images_without_contrast_leave_a_majority_vote() {
    let mut scene = Scene::new(SHAPE, 5, 5);
    for image in std::iter::once(&mut scene.target).chain(&mut scene.images) {
        image.voxels.fill(800.0);
    }
    let options = JointOptions { patch_radius: 1, search_radius: 2, ..JointOptions::default() };
    let fused = joint(&scene.target, &scene.atlases(), &options, &Cpu).expect("fused");
    // All atlases have equal weights, and no patch of an atlas is shifted. So all patches that contain a voxel vote for
    // the same label.
    assert_eq!(fused.labels, majority(&scene.maps()).expect("fused").labels);
}

#[test]
fn values_that_are_no_numbers_do_no_harm() {
    let mut scene = Scene::new(SHAPE, 3, 5);
    let fuse = |scene: &Scene| joint(&scene.target, &scene.atlases(), &JointOptions::default(), &Cpu).expect("fused");
    let before = fuse(&scene);
    scene.target.voxels[0] = f32::NAN;
    scene.images[1].voxels[0] = f32::INFINITY;
    let near = fuse(&scene);
    for (voxel, (before, after)) in before.posterior(3).voxels.iter().zip(near.posterior(3).voxels).enumerate() {
        // The first voxel of the target image and of one atlas image was replaced by a value that is not finite. Far
        // from this voxel, no changed patch contributes. There the shares of the vote change only in their last digits,
        // because the mean of a whole block of voxels is subtracted from intensities.
        let far = voxel % SHAPE[0] > 2 + 3 + 2;
        assert!(!far || (before - after).abs() < 1e-4, "voxel {voxel}: {before}, {after}");
    }
    scene.images[2].voxels.fill(f32::NAN);
    let fused = fuse(&scene);
    let voxels = SHAPE.iter().product();
    let sums = [0, 3, 41, 2001].into_iter().fold(vec![0.0; voxels], |sums: Vec<f32>, label| {
        sums.iter().zip(fused.posterior(label).voxels).map(|(sum, share)| sum + share).collect()
    });
    assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-5));
}

#[test]
fn an_atlas_that_looks_like_the_target_wins_over_those_that_do_not() {
    let mut scene = Scene::new(SHAPE, 5, 5);
    let grid = scene.target.grid.clone();
    // One atlas has the image of the target and its own label. The other atlases agree on another label, but their
    // images are noise.
    let mut noise = Noise(1);
    scene.images.iter_mut().flat_map(|image| &mut image.voxels).for_each(|value| *value = noise.next() as f32);
    scene.images[3] = scene.target.clone();
    let label = |label| LabelVolume { grid: grid.clone(), voxels: vec![label; grid.len()] };
    scene.labels = [2, 2, 2, 1002, 2].map(label).to_vec();
    assert!(fuse(&scene).voxels.iter().all(|label| *label == 1002));
    assert!(majority(&scene.maps()).expect("fused").labels.voxels.iter().all(|label| *label == 2));
}

#[test]
fn labels_that_win_too_small_a_share_are_left_open() {
    let scene = Scene::new([4, 1, 1], 1, 5);
    let map = |voxels: [i32; 4]| LabelVolume { grid: scene.target.grid.clone(), voxels: voxels.to_vec() };
    let maps = [map([3, 3, 3, 0]), map([3, 3, 5, 0]), map([3, 3, 7, 0]), map([3, 5, 7, 0]), map([3, 3, 3, 9])];
    let (labels, open) = majority(&maps.each_ref()).expect("fused").certain(0.8);
    assert_eq!((labels.voxels, open), (vec![3, 3, 0, 0], vec![false, false, true, false]));
}

#[test]
fn every_voxel_where_the_maps_disagree_is_voted_on_once() {
    let scene = Scene::new(SHAPE, 3, 5);
    let maps = scene.maps();
    let disagree = |voxel: &usize| maps.iter().any(|map| map.voxels[*voxel] != maps[0].voxels[*voxel]);
    let expected = (0..SHAPE.iter().product()).filter(disagree).count();
    assert!(expected > 100);
    assert_eq!(majority(&maps).expect("fused").undecided(), expected);
}

#[test]
fn a_label_of_one_atlas_that_looks_no_better_is_outvoted() {
    let mut scene = Scene::new(SHAPE, 5, 5);
    let grid = scene.target.grid.clone();
    scene.images = vec![scene.images[0].clone(); 5];
    let label = |label| LabelVolume { grid: grid.clone(), voxels: vec![label; grid.len()] };
    scene.labels = [2, 1, 2, 2, 2].map(label).to_vec();
    assert!(fuse(&scene).voxels.iter().all(|label| *label == 2));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let scene = Scene::new(SHAPE, 2, 5);
    let options = JointOptions::default();
    assert!(matches!(joint(&scene.target, &[], &options, &Cpu), Err(FusionError::NoAtlas)));
    assert!(matches!(majority(&[]), Err(FusionError::NoAtlas)));
    for (options, word) in [
        (JointOptions { patch_radius: 0, ..options }, "patch radius"),
        (JointOptions { patch_radius: 9, ..options }, "patch radius"),
        (JointOptions { search_radius: 16, ..options }, "search radius"),
        (JointOptions { alpha: 0.0, ..options }, "alpha"),
        (JointOptions { alpha: f64::NAN, ..options }, "alpha"),
        (JointOptions { beta: -1.0, ..options }, "beta"),
    ] {
        let error = joint(&scene.target, &scene.atlases(), &options, &Cpu).expect_err(word);
        assert!(error.to_string().contains(word), "{error}");
    }
    let mut moved = scene.labels[1].clone();
    moved.grid.origin.x += 1.0;
    let mut image: Volume = scene.images[1].clone();
    image.grid.shape = [10, 17, 9];
    for second in
        [Atlas { image: &scene.images[1], labels: &moved }, Atlas { image: &image, labels: &scene.labels[1] }]
    {
        let error = joint(&scene.target, &[scene.atlases()[0], second], &options, &Cpu).expect_err("another grid");
        assert!(error.to_string().starts_with("atlas 2: the target and the atlas lie on different grids"), "{error}");
    }
    let short = joint_everywhere(&scene.target, &scene.atlases(), &options, Some(&[true; 5]), &Cpu);
    assert!(matches!(short, Err(FusionError::Region { found: 5, .. })));
    assert!(matches!(majority(&[&scene.labels[0], &moved]), Err(FusionError::Grid { number: 2, .. })));
}
