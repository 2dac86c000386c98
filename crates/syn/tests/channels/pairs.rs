//! Registrations of several pairs of images.

use antsreg_core::schedule::Level;
use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::Cpu;
use antsreg_kernels::ops::{Intensity, Memory};
use antsreg_syn::{Channel, Error, Fixed, Options, Outcome, register};
use nalgebra::{Rotation3, Vector3};

use crate::residual::{self, residual_of_nothing};
use crate::scene::{brain, displacement, grid, sampled};

fn options(weights: &[f64]) -> Options {
    let level = |shrink, sigma_voxels, iterations| Level { shrink, sigma_voxels, iterations, reinvert_every: 1 };
    Options {
        channels: weights.iter().map(|weight| Channel { weight: *weight, ..Channel::default() }).collect(),
        levels: vec![level(4, 2.0, 30), level(2, 1.0, 20)],
        // The scene has no tissues.
        boundary_contrast: 0.0,
        ..Options::default()
    }
}

fn run(pairs: &[[&Volume; 2]], options: &Options) -> Result<Outcome, Error> {
    let side = |n: usize| pairs.iter().map(|pair| pair[n]).collect::<Vec<_>>();
    register(&Cpu, side(0), side(1), &AffineTransform::identity(), options, &mut ())
}

fn pair(grid: &Grid) -> [Volume; 2] {
    [sampled(grid, brain), sampled(grid, |p| brain(p + displacement(p)))]
}

/// A test image of noise that does not depend on the brain; each seed gives independent noise.
fn noise(grid: &Grid, seed: u32) -> Volume {
    let mut state = seed;
    sampled(grid, |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32
    })
}

#[test]
fn the_same_channel_twice_is_one() {
    let [fixed, moving] = pair(&grid());
    let once = run(&[[&fixed, &moving]], &options(&[1.0])).expect("it registers");
    let twice = run(&[[&fixed, &moving], [&fixed, &moving]], &options(&[0.5, 0.5])).expect("it registers");
    assert_eq!(once, twice);
    assert!(residual::residual(&once.warp) < 0.4, "{}", residual::residual(&once.warp));
}

#[test]
fn a_channel_of_noise_does_little_harm_and_a_channel_that_knows_helps() {
    let grid = grid();
    let [fixed, moving] = pair(&grid);
    let noises = [noise(&grid, 1), noise(&grid, 2)];
    let residual = |pairs: &[[&Volume; 2]], weights: &[f64]| {
        residual::residual(&run(pairs, &options(weights)).expect("it registers").warp)
    };
    let still = residual_of_nothing(&grid);
    let alone = residual(&[[&fixed, &moving]], &[1.0]);
    let with_noise = residual(&[[&fixed, &moving], [&noises[0], &noises[1]]], &[1.0, 1.0]);
    let noise_first = residual(&[[&noises[0], &noises[1]], [&fixed, &moving]], &[1.0, 1.0]);
    let mostly_noise = residual(&[[&fixed, &moving], [&noises[0], &noises[1]]], &[1.0, 50.0]);
    assert!(alone < 0.25 * still, "{alone} of {still} mm");
    assert!(with_noise < 0.4 * still, "{with_noise} of {still} mm");
    assert!((noise_first - with_noise).abs() < 0.05 * still, "{noise_first} and {with_noise} mm");
    assert!(mostly_noise > 2.0 * with_noise, "{mostly_noise} and {with_noise} mm");
}

#[test]
fn each_half_of_the_brain_may_come_from_another_channel() {
    let grid = grid();
    let half = |p: Vector3<f64>, left: bool| if (p.x < 0.0) == left { brain(p) } else { 0.0 };
    let [left, right] = [true, false]
        .map(|left| [sampled(&grid, |p| half(p, left)), sampled(&grid, |p| half(p + displacement(p), left))]);
    let residual = |pairs: &[[&Volume; 2]]| {
        residual::residual(&run(pairs, &options(&vec![1.0; pairs.len()])).expect("it registers").warp)
    };
    let (one, other) = (residual(&[[&left[0], &left[1]]]), residual(&[[&right[0], &right[1]]]));
    let both = residual(&[[&left[0], &left[1]], [&right[0], &right[1]]]);
    assert!(both < 0.7 * f64::min(one, other), "{both} mm from both halves, {one} and {other} mm from one");
}

#[test]
fn edges_act_as_a_channel_of_gradients() {
    let [fixed, moving] = pair(&grid());
    // This resolution level neither smooths nor clips the images. So the edges (gradient magnitudes) that the test
    // computes from the given images are those that the level uses.
    let unchanged = |weights| Options {
        levels: vec![Level { shrink: 1, sigma_voxels: 0.0, iterations: 5, reinvert_every: 1 }],
        winsorise: None,
        noise: 0.0,
        ..options(weights)
    };
    let magnitude = |volume: &Volume| {
        let image = Cpu.upload(volume.grid.shape, &volume.voxels).expect("voxels fit");
        let edges = Cpu.gradient_magnitude(&image, volume.grid.spacing.into()).and_then(|e| Cpu.download(&e));
        Volume { grid: volume.grid.clone(), voxels: edges.expect("it has edges") }
    };
    let edges = [magnitude(&fixed), magnitude(&moving)];
    let explicit = run(&[[&fixed, &moving], [&edges[0], &edges[1]]], &unchanged(&[1.0, 0.4])).expect("it registers");
    let derived = Options { edge_weight: 0.4, ..unchanged(&[1.0]) };
    let derived = run(&[[&fixed, &moving]], &derived).expect("it registers");
    let without = run(&[[&fixed, &moving]], &unchanged(&[1.0])).expect("it registers");
    let apart = |a: &Outcome, b: &Outcome| {
        let lengths = a.warp.vectors.iter().zip(&b.warp.vectors);
        let sum: f32 = lengths.map(|(u, v)| (Vector3::from(*u) - Vector3::from(*v)).norm()).sum();
        f64::from(sum) / a.warp.vectors.len() as f64
    };
    // The correlation does not depend on the intensity scale of a channel, except for rounding where an image hardly
    // varies.
    let [same, different] = [apart(&explicit, &derived), apart(&derived, &without)];
    assert!(same < 2e-4 && different > 50.0 * same, "{same} mm and {different} mm");
}

#[test]
fn a_channel_may_lie_on_a_grid_of_its_own() {
    let onto = grid();
    let [fixed, moving] = pair(&onto);
    let other = Grid {
        shape: [36, 40, 41],
        spacing: Vector3::new(1.4, 1.3, 1.2),
        direction: *Rotation3::from_euler_angles(-0.3, 0.1, 0.2).matrix(),
        ..onto.clone()
    };
    let centre = onto.centre();
    let other = Grid { origin: other.origin + (centre - other.centre()), ..other };
    let [fixed_there, moving_there] = pair(&other);
    let noises = [noise(&onto, 1), noise(&onto, 2)];
    // Only the images of the second pair show the brain. They lie on another grid. The warp lies on the grid of the
    // first fixed image, which is noise.
    let outcome = run(&[[&noises[0], &noises[1]], [&fixed_there, &moving_there]], &options(&[1.0, 10.0]))
        .expect("it registers");
    assert_eq!(outcome.warp.grid, onto);
    let alone = run(&[[&fixed, &moving]], &options(&[1.0])).expect("it registers");
    let (found, alone) = (residual::residual(&outcome.warp), residual::residual(&alone.warp));
    assert!(found < alone + 0.15 * residual_of_nothing(&onto), "{found} mm, {alone} mm on the same grid");
}

#[test]
fn a_prepared_fixed_side_keeps_every_channel() {
    let [fixed, moving] = pair(&grid());
    let noise = noise(&grid(), 3);
    let options = options(&[1.0, 0.5]);
    let identity = AffineTransform::identity();
    let side = |first, second| vec![first, second];
    let prepared =
        Fixed::new(&Cpu, side(&fixed, &noise), &options, &mut ()).and_then(|fixed| fixed.keep_pyramid(&Cpu, &mut ()));
    let found = prepared.and_then(|prepared| prepared.register(&Cpu, side(&moving, &noise), &identity, &mut ()));
    let alone = run(&[[&fixed, &moving], [&noise, &noise]], &options);
    assert_eq!(found.expect("it registers"), alone.expect("it registers"));
}

#[test]
fn channels_that_make_no_sense_are_refused() {
    let [fixed, moving] = pair(&grid());
    let two = [[&fixed, &moving], [&fixed, &moving]];
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(run(&two, &options(&[1.0, weight])), Err(Error::Range { .. })), "{weight}");
    }
    let counted = run(&two[..1], &options(&[1.0, 1.0]));
    assert!(matches!(counted, Err(Error::Channels { side: "fixed", expected: 2, found: 1 })), "{counted:?}");
    let uneven =
        register(&Cpu, vec![&fixed, &fixed], &moving, &AffineTransform::identity(), &options(&[1.0, 1.0]), &mut ());
    assert!(matches!(uneven, Err(Error::Channels { side: "moving", expected: 2, found: 1 })), "{uneven:?}");
    assert!(matches!(run(&[], &options(&[])), Err(Error::Range { .. })));
    assert!(matches!(run(&[], &options(&[1.0])), Err(Error::Channels { side: "fixed", .. })));
    let flat = Volume::filled(grid(), 2.0);
    let constant = run(&[[&fixed, &moving], [&fixed, &flat]], &options(&[1.0, 1.0]));
    assert!(matches!(constant, Err(Error::Constant { side: "moving", channel: 2 })), "{constant:?}");
}
