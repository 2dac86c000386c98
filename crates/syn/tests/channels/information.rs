//! Registrations with mutual information: images of different contrast, and properties that every metric must have.

use antsreg_core::schedule::Level;
use antsreg_core::{AffineTransform, DisplacementField, Volume};
use antsreg_kernels::{Cpu, apply};
use antsreg_syn::{Channel, Metric, Options, Outcome, register};
use nalgebra::Vector3;

use crate::residual::{residual, residual_of_nothing};
use crate::scene::{assert_inverse, brain, displacement, grid, sampled};

/// A copy of an image with another tissue contrast: intensities inverted, except for the background.
fn other_contrast(volume: &Volume) -> Volume {
    let other = |v: &f32| if *v < 1.0 { 0.0 } else { 200.0 - v };
    Volume { grid: volume.grid.clone(), voxels: volume.voxels.iter().map(other).collect() }
}

fn options(metric: Metric) -> Options {
    let level = |shrink, sigma_voxels, iterations| Level { shrink, sigma_voxels, iterations, reinvert_every: 1 };
    Options {
        channels: vec![Channel { metric, ..Channel::default() }],
        levels: vec![level(4, 2.0, 40), level(2, 1.0, 40), level(1, 0.0, 20)],
        ..Options::default()
    }
}

fn run(fixed: &Volume, moving: &Volume, options: &Options) -> Outcome {
    register(&Cpu, fixed, moving, &AffineTransform::identity(), options, &mut ()).expect("it registers")
}

fn moved_brain() -> Volume {
    sampled(&grid(), |p| brain(p + displacement(p)))
}

#[test]
fn a_warp_is_found_across_contrasts_without_folds() {
    let (fixed, moving) = (sampled(&grid(), brain), other_contrast(&moved_brain()));
    let still = residual_of_nothing(&grid());
    let mattes = run(&fixed, &moving, &options(Metric::Mattes));
    let found = residual(&mattes.warp);
    assert!(found < 0.2 * still, "{found} of {still} mm");
    // Only the energies of the finest level are tested. On the coarsest level, smoothing leaves only the edge of the
    // ball that the test image shows.
    let finest = mattes.iterations.levels.last().map(|level| level.energies.clone()).unwrap_or_default();
    assert!(finest.last() < finest.first(), "the energy should fall: {finest:?}");
    let correlated = residual(&run(&fixed, &moving, &options(Metric::Cc)).warp);
    assert!(found < correlated, "{found} mm by mutual information, {correlated} mm by correlation");
    for field in [&mattes.warp, &mattes.inverse_warp] {
        let smallest = apply::jacobian(field).voxels.into_iter().fold(f32::INFINITY, f32::min);
        assert!(smallest > 0.1, "smallest Jacobian {smallest}");
    }
}

#[test]
fn its_warps_are_inverse_to_each_other() {
    let (fixed, moving) = (sampled(&grid(), brain), other_contrast(&moved_brain()));
    let outcome = run(&fixed, &moving, &options(Metric::Mattes));
    assert_inverse(&outcome);
}

#[test]
fn it_treats_both_sides_alike() {
    let (fixed, moving) = (sampled(&grid(), brain), other_contrast(&moved_brain()));
    let options = Options { levels: options(Metric::Mattes).levels[..2].to_vec(), ..options(Metric::Mattes) };
    let (forward, backward) = (run(&fixed, &moving, &options), run(&moving, &fixed, &options));
    let apart = |a: &DisplacementField, b: &DisplacementField| {
        let distances = a.vectors.iter().zip(&b.vectors).map(|(a, b)| (Vector3::from(*a) - Vector3::from(*b)).norm());
        distances.map(f64::from).sum::<f64>() / a.vectors.len() as f64
    };
    // Fixed and moving image are exchanged in the second registration. The two results must be equal except for
    // rounding.
    let asymmetry = apart(&forward.warp, &backward.inverse_warp);
    assert!(asymmetry < 0.02, "{asymmetry} mm");
    assert!(apart(&forward.warp, &forward.inverse_warp) > 0.1, "something should have moved");
}

#[test]
fn a_pair_of_each_metric_reports_their_mean() {
    let (fixed, moving) = (sampled(&grid(), brain), moved_brain());
    let once = |metric| Options {
        levels: vec![Level { shrink: 2, sigma_voxels: 1.0, iterations: 1, reinvert_every: 1 }],
        ..options(metric)
    };
    let [cc, mattes] = [Metric::Cc, Metric::Mattes]
        .map(|metric| run(&fixed, &moving, &once(metric)).iterations.levels[0].energies[0]);
    let weights = [1.0, 3.0];
    let channels = [Metric::Cc, Metric::Mattes].into_iter().zip(weights);
    let both = Options {
        channels: channels.map(|(metric, weight)| Channel { metric, weight }).collect(),
        ..once(Metric::Cc)
    };
    let side = |volume| vec![volume; 2];
    let outcome = register(&Cpu, side(&fixed), side(&moving), &AffineTransform::identity(), &both, &mut ())
        .expect("it registers");
    let (found, expected) = (outcome.iterations.levels[0].energies[0], (cc + 3.0 * mattes) / 4.0);
    assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
    assert!((cc - mattes).abs() > 0.05, "{cc} and {mattes} tell nothing apart");
}
