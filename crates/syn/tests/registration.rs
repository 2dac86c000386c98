//! Tests of whole registrations of small synthetic brains.

mod scene;

use std::ops::ControlFlow;

use antsreg_core::histogram_matching::Landmarks;
use antsreg_core::jacobian::JacobianSummary;
use antsreg_core::report::{Observer, Report, Stage};
use antsreg_core::schedule::{Convergence, Level};
use antsreg_core::{AffineTransform, Grid, Volume, intensity};
use antsreg_kernels::{CcDerivative, Cpu, apply};
use antsreg_syn::{Error, Fixed, Options, Outcome, Scores, register};
use nalgebra::{Matrix3, Rotation3, Vector3};
use scene::{assert_inverse, brain, displacement, grid, sampled};

/// A pair of test images. The moving image is the fixed brain after an affine map about the centre and a smooth
/// displacement.
struct Pair {
    fixed: Volume,
    moving: Volume,
    /// The affine map from the fixed to the moving world.
    affine: AffineTransform,
}

fn pair() -> Pair {
    let grid = grid();
    let centre = grid.centre();
    let linear = Rotation3::from_euler_angles(0.2, 0.1, -0.15).matrix() * Matrix3::from_diagonal_element(1.05);
    let shift = Vector3::new(1.5, -2.0, 1.0);
    let back = linear.try_inverse().expect("a rotation has an inverse");
    let moving = sampled(&grid, |q| {
        let p = back * (q - shift);
        brain(p + displacement(p))
    });
    Pair {
        fixed: sampled(&grid, brain),
        moving,
        affine: AffineTransform { matrix: linear, translation: centre.coords + shift - linear * centre.coords },
    }
}

fn options() -> Options {
    let level = |shrink, sigma_voxels, iterations| Level { shrink, sigma_voxels, iterations, reinvert_every: 1 };
    Options { levels: vec![level(4, 2.0, 30), level(2, 1.0, 30), level(1, 0.0, 20)], ..Options::default() }
}

fn run(pair: &Pair, options: &Options) -> Outcome {
    register(&Cpu, (&pair.fixed, None), (&pair.moving, None), &pair.affine, options, &mut ()).expect("it registers")
}

/// Mean absolute difference of two images over the voxels where the image `reference` is brighter than 50.
fn difference(reference: &Volume, other: &Volume) -> f64 {
    let bright = reference.voxels.iter().zip(&other.voxels).filter(|(r, _)| **r > 50.0);
    let (sum, count) = bright.fold((0.0, 0), |(sum, count), (r, o)| (sum + f64::from((r - o).abs()), count + 1));
    sum / f64::from(count)
}

fn through(pair: &Pair, outcome: &Outcome, warped: bool) -> Volume {
    let mut steps = Vec::new();
    if warped {
        steps.push(antsreg_core::Transform::Displacement(outcome.warp.clone()));
    }
    steps.push(antsreg_core::Transform::Affine(pair.affine));
    let chain = antsreg_core::TransformChain::from(steps);
    apply::resample(&pair.moving, &pair.fixed.grid, &chain, apply::Interpolation::Linear, 0.0)
}

#[test]
fn a_known_deformation_is_undone_without_folds() {
    let pair = pair();
    for derivative in [CcDerivative::Centre, CcDerivative::Exact] {
        let outcome = run(&pair, &Options { derivative, ..options() });
        let before = difference(&pair.fixed, &through(&pair, &outcome, false));
        let after = difference(&pair.fixed, &through(&pair, &outcome, true));
        assert!(after < 0.25 * before, "{derivative:?}: mean difference {before} before, {after} after");
        for field in [&outcome.warp, &outcome.inverse_warp] {
            let smallest = apply::jacobian(field).voxels.into_iter().fold(f32::INFINITY, f32::min);
            assert!(smallest > 0.1, "{derivative:?}: smallest Jacobian {smallest}");
        }
    }
}

#[test]
fn no_cell_folds_at_any_corner() {
    // Independent noise in both images gives updates in random directions. Long steps with little smoothing follow
    // these updates, so the fields fold before the warps are corrected (relaxed). More contrast at boundaries would
    // leave less noise.
    let mut pair = pair();
    let mut state = 1u32;
    for voxel in pair.fixed.voxels.iter_mut().chain(&mut pair.moving.voxels) {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *voxel += (state >> 24) as f32 / 4.0;
    }
    let rough = Options { gradient_step: 1.0, update_variance: 1.0, noise: 0.0, boundary_contrast: 0.0, ..options() };
    let outcome = run(&pair, &rough);
    let Outcome { warp, inverse_warp, iterations, scores } = &outcome;
    assert!(iterations.relaxed.rounds > 0, "nothing had to be relaxed");
    assert_eq!((iterations.relaxed.whole, iterations.relaxed.beyond), (0, 0));
    for (field, scores) in [(warp, scores.warp), (inverse_warp, scores.inverse_warp)] {
        let smallest = apply::smallest_at_corners(field).voxels.into_iter().fold(f32::INFINITY, f32::min);
        // Relaxation accepts determinants from 0.01. Here the limit is lower by 1e-4, because displacements are rounded
        // to single precision once more when they are converted to millimetres.
        assert!(smallest > 0.01 - 1e-4, "smallest determinant {smallest}");
        assert_eq!((scores.folded, scores.corner_folded), (0, 0));
    }
    for way in [scores.warp_then_inverse, scores.inverse_then_warp] {
        assert!(way.largest_voxels <= 0.45 + 1e-4, "{way:?}");
    }
}

#[test]
fn the_warps_are_inverse_to_each_other() {
    let pair = pair();
    let outcome = run(&pair, &options());
    assert_inverse(&outcome);
}

#[test]
fn swapping_the_images_swaps_the_warps() {
    let grid = grid();
    let images = [sampled(&grid, brain), sampled(&grid, |p| brain(p + displacement(p)))];
    let run = |fixed: &Volume, moving: &Volume| {
        register(&Cpu, (fixed, None), (moving, None), &AffineTransform::identity(), &options(), &mut ())
            .expect("it registers")
    };
    let (forward, backward) = (run(&images[0], &images[1]), run(&images[1], &images[0]));
    let apart = |a: &antsreg_core::DisplacementField, b: &antsreg_core::DisplacementField| {
        let total: f64 = a
            .vectors
            .iter()
            .zip(&b.vectors)
            .map(|(a, b)| f64::from((Vector3::from(*a) - Vector3::from(*b)).norm()))
            .sum();
        total / a.vectors.len() as f64
    };
    // Fixed and moving image are treated alike. So registrations in both orders are equal except for rounding.
    let asymmetry = apart(&forward.warp, &backward.inverse_warp);
    assert!(asymmetry < 0.02, "{asymmetry} mm");
    assert!(apart(&forward.warp, &forward.inverse_warp) > 0.1, "something should have moved");
}

#[test]
fn masked_voxels_do_not_change_the_warp_far_from_them() {
    let mut pair = pair();
    let clean = run(&pair, &options());
    // Only the moving image has a bright lesion, in one half of the brain.
    let lesion = sampled(&pair.moving.grid, |p| f32::from(u8::from((p - Vector3::new(8.0, 0.0, 0.0)).norm() < 5.0)));
    for (voxel, inside) in pair.moving.voxels.iter_mut().zip(&lesion.voxels) {
        *voxel = if *inside > 0.5 { 160.0 } else { *voxel };
    }
    let mask = sampled(&pair.moving.grid, |p| f32::from(u8::from((p - Vector3::new(8.0, 0.0, 0.0)).norm() >= 7.0)));
    let masked = register(&Cpu, (&pair.fixed, None), (&pair.moving, Some(&mask)), &pair.affine, &options(), &mut ())
        .expect("it registers");
    let unmasked = run(&pair, &options());
    let far = |outcome: &Outcome| {
        let vectors = clean.warp.vectors.iter().zip(&outcome.warp.vectors);
        vectors.map(|(a, b)| f64::from((Vector3::from(*a) - Vector3::from(*b)).norm())).fold(0.0, f64::max)
    };
    assert!(far(&masked) < 0.8 * far(&unmasked), "masked {}, unmasked {}", far(&masked), far(&unmasked));
}

#[test]
fn a_few_bright_voxels_are_clipped_unless_winsorising_is_off() {
    let clean = pair();
    let mut spotted = pair();
    // Bright spots in one voxel of a thousand. This is less than the share of five in a thousand that is clipped.
    spotted.moving.voxels.iter_mut().step_by(997).for_each(|voxel| *voxel = 1e5);
    let options = Options { levels: options().levels[..2].to_vec(), ..options() };
    let expected = run(&clean, &options).warp;
    let apart = |winsorise| {
        let found = run(&spotted, &Options { winsorise, ..options.clone() }).warp;
        let pairs = expected.vectors.iter().zip(&found.vectors);
        pairs.map(|(a, b)| f64::from((Vector3::from(*a) - Vector3::from(*b)).norm())).sum::<f64>()
            / expected.vectors.len() as f64
    };
    let (clipped, whole) = (apart(options.winsorise), apart(None));
    // The measured mean distances between the warps of the images with and without bright spots are 0.015 mm with
    // clipping of the intensities and 1.02 mm without. Without clipping, the bright spots compress all other
    // intensities.
    assert!(clipped < 0.1 && whole > 0.5, "mean distance {clipped} mm clipped, {whole} mm whole");
}

/// Test options with which images that are already aligned drift most: many iterations, few re-inversions of the
/// fields, and edges in addition to intensities.
fn free() -> Options {
    let levels = [(4, 2.0, 40, 1), (2, 1.0, 120, 6), (1, 0.0, 60, 6)];
    Options {
        gradient_step: 0.4,
        update_variance: 2.5,
        noise: 0.01,
        edge_weight: 0.3,
        levels: levels
            .map(|(shrink, sigma_voxels, iterations, reinvert_every)| Level {
                shrink,
                sigma_voxels,
                iterations,
                reinvert_every,
            })
            .into(),
        ..Options::default()
    }
}

#[test]
fn an_image_registered_to_itself_stays_where_it_is() {
    let image = sampled(&grid(), brain);
    // `other` is a copy of `image` with inverted contrast.
    let other = Volume { voxels: image.voxels.iter().map(|v| 300.0 - 2.0 * v).collect(), ..image.clone() };
    for options in [options(), free()] {
        for (moving, shift_mm) in [(&image, 0.0), (&image, 0.01), (&other, 0.01)] {
            let start = AffineTransform { translation: Vector3::repeat(shift_mm), ..AffineTransform::identity() };
            let outcome = register(&Cpu, (&image, None), (moving, None), &start, &options, &mut ());
            let Outcome { warp, iterations, .. } = outcome.expect("it registers");
            let largest = warp.vectors.iter().map(|u| Vector3::from(*u).norm()).fold(0.0, f32::max);
            // A level that does not make the images more similar must be undone. If such levels are kept, the largest
            // displacement with these options is 1.3 to 3.8 mm.
            assert!(largest < 0.02, "{largest} mm, {shift_mm} mm apart, {iterations:?}");
            assert!(iterations.levels.iter().all(|level| level.undone), "{iterations:?}");
        }
    }
}

#[derive(Default)]
struct Recorder(Vec<Report>);

impl Observer for Recorder {
    fn report(&mut self, report: &Report) -> ControlFlow<()> {
        self.0.push(report.clone());
        ControlFlow::Continue(())
    }
}

#[test]
fn every_iteration_is_reported_and_converged_levels_end_early() {
    let pair = pair();
    let mut recorder = Recorder::default();
    let eager = Options { convergence: Convergence { window: 5, threshold: 1e-2 }, ..options() };
    let outcome = register(&Cpu, (&pair.fixed, None), (&pair.moving, None), &pair.affine, &eager, &mut recorder)
        .expect("it runs");
    let energies: Vec<f64> = outcome.iterations.levels.iter().flat_map(|level| level.energies.clone()).collect();
    let reported: Vec<f64> = recorder.0.iter().map(|report| report.energy).collect();
    assert_eq!(energies, reported);
    assert!(recorder.0.iter().all(|report| report.step.stage() == Stage::Deformable && report.levels == 3));
    assert!(outcome.iterations.levels.iter().any(|level| level.converged && level.energies.len() < 30));
    // The result of the coarsest level may be discarded: the level's smooth images are nearly equal from the start, so
    // it may not improve them. The results of the other levels must be kept.
    assert!(outcome.iterations.levels[1..].iter().all(|level| !level.undone), "{:?}", outcome.iterations.levels);
    let falls = outcome.iterations.levels.iter().all(|level| level.energies.last() < level.energies.first());
    assert!(falls, "the energy should fall on every level: {:?}", outcome.iterations.levels);
}

#[test]
fn fixed_images_that_were_overwritten_are_not_used_again() {
    let Pair { fixed, moving, affine } = pair();
    let mut fixed = Fixed::new(&Cpu, &fixed, &options(), &mut ()).expect("fixed images");
    assert!(fixed.find_last(&Cpu, &moving, &affine, None, &mut ()).is_ok());
    let again = fixed.find_last(&Cpu, &moving, &affine, None, &mut ()).err();
    assert!(matches!(again, Some(Error::Channels { side: "fixed", expected: 1, found: 0 })), "{again:?}");
}

#[test]
fn what_cannot_be_registered_is_refused() {
    let pair = pair();
    let flat = Volume::filled(grid(), 3.0);
    let refused = |fixed: &Volume, mask: Option<&Volume>, affine: &AffineTransform, options: &Options| {
        register(&Cpu, (fixed, mask), (&pair.moving, None), affine, options, &mut ()).expect_err("it must refuse")
    };
    let options = options();
    assert!(matches!(refused(&flat, None, &pair.affine, &options), Error::Constant { side: "fixed", channel: 1 }));
    let singular = AffineTransform { matrix: Matrix3::zeros(), ..AffineTransform::identity() };
    assert!(matches!(refused(&pair.fixed, None, &singular, &options), Error::SingularStart));
    let elsewhere = Volume::filled(Grid::axis_aligned([4, 4, 4], [1.0; 3]), 1.0);
    assert!(matches!(refused(&pair.fixed, Some(&elsewhere), &pair.affine, &options), Error::MaskGrid("fixed")));
    let empty = Options { levels: Vec::new(), ..options };
    assert!(matches!(refused(&pair.fixed, None, &pair.affine, &empty), Error::NoLevels));
}

#[test]
fn a_mask_may_be_off_its_image_by_a_thousandth_of_a_voxel() {
    for mm in [0.1, 10.0] {
        let grid = Grid::axis_aligned([8; 3], [mm, 2.0 * mm, 3.0 * mm]);
        let image = Volume { voxels: (0..grid.len()).map(|n| n as f32).collect(), grid };
        for (share, expected) in [(0.5e-3, true), (2e-3, false)] {
            let mut mask = Volume::filled(image.grid.clone(), 1.0);
            mask.grid.origin.y += share * mm;
            let found = Fixed::new(&Cpu, (&image, Some(&mask)), &options(), &mut ());
            assert_eq!(found.is_ok(), expected, "{share} voxels of {mm} mm");
        }
    }
}

#[test]
fn a_prepared_fixed_side_gives_the_same_bits_however_often_it_is_used() {
    let Pair { fixed, moving, affine } = pair();
    let mask = sampled(&grid(), |p| f32::from(u8::from(p.norm() < 19.0)));
    let other = sampled(&grid(), |p| brain(p * 1.1));
    let identity = AffineTransform::identity();
    let mut warps = Vec::new();
    // Smoothed images are kept if the contrast stays as it is; otherwise the fixed images are copied.
    for boundary_contrast in [0.0, 0.5] {
        let options = Options { levels: options().levels[..2].to_vec(), boundary_contrast, ..options() };
        let prepared = Fixed::new(&Cpu, (&fixed, Some(&mask)), &options, &mut ())
            .and_then(|fixed| fixed.keep_pyramid(&Cpu, &mut ()));
        let prepared = prepared.expect("it is prepared");
        for (moving, initial) in [(&moving, &affine), (&other, &identity), (&moving, &affine)] {
            let alone = register(&Cpu, (&fixed, Some(&mask)), (moving, None), initial, &options, &mut ());
            let found = prepared.register(&Cpu, (moving, None), initial, &mut ()).expect("it registers");
            assert_eq!(found, alone.expect("it registers"));
            warps.push(found.warp);
        }
    }
    assert_ne!(warps[0], warps[3], "this test needs images with boundaries");
}

#[test]
fn the_scores_are_those_of_the_warps_where_the_mask_counts() {
    let Pair { fixed, moving, affine } = pair();
    let options = Options { levels: options().levels[..2].to_vec(), ..options() };
    let half = sampled(&grid(), |p| f32::from(u8::from(p.x > 2.0)));
    for mask in [None, Some(&half)] {
        let outcome =
            register(&Cpu, (&fixed, mask), (&moving, None), &affine, &options, &mut ()).expect("it registers");
        let Outcome { warp, inverse_warp, scores, .. } = outcome;
        let Scores { warp: forward, inverse_warp: backward, warp_then_inverse, inverse_then_warp } = scores;
        for (field, found) in [(&warp, forward), (&inverse_warp, backward)] {
            let expected = JacobianSummary::of(&apply::jacobian(field), &apply::smallest_at_corners(field), mask)
                .expect("one grid");
            let [found, expected] = [found, expected].map(|of| {
                ([of.voxels, of.folded, of.corner_folded], [of.minimum, of.maximum, of.mean, of.corner_minimum])
            });
            assert_eq!(found.0, expected.0);
            // Displacements are rounded to single precision once more when they are converted to millimetres, so scores
            // of these displacements differ slightly from the scores that the registration returned.
            assert!((0..4).all(|n| (found.1[n] - expected.1[n]).abs() < 1e-5), "{found:?}, expected {expected:?}");
        }
        for (first, then, found) in
            [(&warp, &inverse_warp, warp_then_inverse), (&inverse_warp, &warp, inverse_then_warp)]
        {
            let expected = apply::inverse_consistency(first, then, mask).expect("one grid");
            assert_eq!(found.voxels, expected.voxels);
            assert!((found.mean_voxels - expected.mean_voxels).abs() < 1e-5, "{found:?}, expected {expected:?}");
            assert!(
                (found.largest_voxels - expected.largest_voxels).abs() < 1e-4,
                "{found:?}, expected {expected:?}"
            );
        }
        assert!(warp_then_inverse != inverse_then_warp && forward != backward);
    }
}

#[test]
fn sigmas_in_mm_are_those_in_voxels_where_all_voxels_are_alike() {
    let pair = pair();
    // Fixed and moving image have the same grid. Here the grid gets an isotropic spacing, so that voxels and mm are
    // proportional.
    let alike = |volume: &Volume| Volume {
        grid: Grid { spacing: Vector3::repeat(2.0), ..volume.grid.clone() },
        voxels: volume.voxels.clone(),
    };
    let pair = Pair { fixed: alike(&pair.fixed), moving: alike(&pair.moving), affine: AffineTransform::identity() };
    let of_voxels = Options { levels: options().levels[..1].to_vec(), ..options() };
    let in_mm = Options { sigmas_mm: Some(vec![4.0]), ..of_voxels.clone() };
    let other = Options { sigmas_mm: Some(vec![2.0]), ..of_voxels.clone() };
    let [voxels, mm, other] = [of_voxels, in_mm, other].map(|options| run(&pair, &options).warp);
    assert_eq!(voxels, mm);
    assert_ne!(voxels, other);
}

#[test]
fn histograms_are_matched_after_winsorising() {
    let pair = pair();
    let options = Options { levels: options().levels[..2].to_vec(), winsorise: Some((0.01, 0.98)), ..options() };
    let matched = Options { match_histograms: true, ..options.clone() };
    // For comparison, the test clips the intensities and matches the histograms of the images itself, and registers the
    // images without winsorising.
    let plain = Options { winsorise: None, ..options.clone() };
    let clipped = |volume: &Volume| {
        let range = intensity::foreground_quantiles(&volume.voxels, 0.01, 0.98).low_high.expect("voxels");
        Volume { grid: volume.grid.clone(), voxels: intensity::rescaled(&volume.voxels, range) }
    };
    let (fixed, mut moving) = (clipped(&pair.fixed), clipped(&pair.moving));
    let [from, to] = [&moving, &fixed].map(|volume| Landmarks::of(&volume.voxels).expect("voxels"));
    from.match_to(&to, &mut moving.voxels);
    let by_hand = run(&Pair { fixed, moving, affine: pair.affine }, &plain).warp;
    let [found, without] = [matched, options].map(|options| run(&pair, &options).warp);
    assert_eq!(found, by_hand);
    assert_ne!(found, without);
}

#[test]
fn headers_in_another_unit_give_the_same_voxels() {
    let pair = pair();
    let level = |shrink, sigma_voxels, iterations| Level { shrink, sigma_voxels, iterations, reinvert_every: 1 };
    let few = Options { levels: vec![level(2, 1.0, 4), level(1, 0.0, 2)], ..Options::default() };
    let mattes = vec![antsreg_syn::Channel { metric: antsreg_syn::Metric::Mattes, weight: 1.0 }];
    for options in [
        Options { edge_weight: 0.5, ..few.clone() },
        Options { channels: mattes, restrict: [1.0, 0.5, 0.0], exact: true, ..few },
    ] {
        let found = |factor: f64| {
            let scaled = |volume: &Volume| {
                let grid = &volume.grid;
                let grid = Grid { spacing: grid.spacing * factor, origin: grid.origin * factor, ..grid.clone() };
                Volume { grid, voxels: volume.voxels.clone() }
            };
            let affine = AffineTransform { translation: pair.affine.translation * factor, ..pair.affine };
            run(&Pair { fixed: scaled(&pair.fixed), moving: scaled(&pair.moving), affine }, &options)
        };
        let expected = found(1.0);
        for factor in [1.0 / 16.0, 16.0] {
            let found = found(factor);
            assert_eq!(found.iterations, expected.iterations, "{factor}");
            for (found, expected) in [(&found.warp, &expected.warp), (&found.inverse_warp, &expected.inverse_warp)] {
                let mut voxels = found.vectors.iter().flatten().zip(expected.vectors.iter().flatten());
                assert!(voxels.all(|(found, expected)| *found == expected * factor as f32), "{factor}");
            }
        }
    }
}
