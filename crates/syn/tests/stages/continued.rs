//! Tests of stages that continue from the fields of an earlier stage.

use antsreg_core::schedule::Level;
use antsreg_core::{AffineTransform, DisplacementField, Grid, Volume};
use antsreg_kernels::Cpu;
use antsreg_kernels::ops::{Fields, Memory};
use antsreg_syn::{Error, Fixed, Options};
use nalgebra::{Matrix3, Vector3};

use crate::scene::{self, brain, displacement, sampled};
use crate::{apart, downloaded, levels, staged};

const FIRST: [(usize, f64, usize); 2] = [(4, 2.0, 15), (2, 1.0, 15)];

fn options(of: &[(usize, f64, usize)]) -> Options {
    Options { levels: levels(of), ..Options::default() }
}

fn grid() -> Grid {
    Grid { shape: [40, 44, 36], ..scene::grid() }
}

fn pair() -> [Volume; 2] {
    [sampled(&grid(), brain), sampled(&grid(), |p| brain(p + displacement(p)))]
}

#[test]
fn levels_in_two_stages_give_the_bits_of_one_stage() {
    let [fixed, moving] = pair();
    let finest = (1, 0.0, 8);
    let (one, iterations) = staged(&fixed, &moving, &[options(&[FIRST[0], FIRST[1], finest])]);
    let (two, both) = staged(&fixed, &moving, &[options(&FIRST), options(&[finest])]);
    assert_eq!(downloaded(&one), downloaded(&two));
    assert_eq!(iterations, both);
    let (first, _) = staged(&fixed, &moving, &[options(&FIRST)]);
    assert_ne!(downloaded(&first), downloaded(&two));
}

#[test]
fn a_stage_without_iterations_changes_nothing() {
    let [fixed, moving] = pair();
    let (alone, iterations) = staged(&fixed, &moving, &[options(&FIRST)]);
    for idle in [&[(1, 0.0, 0)][..], &[(4, 2.0, 0), (1, 0.0, 0)], &[(8, 0.0, 0)]] {
        let (after, both) = staged(&fixed, &moving, &[options(&FIRST), options(idle)]);
        assert_eq!(downloaded(&alone), downloaded(&after), "{idle:?}");
        assert_eq!(both.levels.len(), iterations.levels.len() + idle.len());
        assert!(both.levels[2..].iter().all(|level| level.energies.is_empty() && !level.undone));
    }
}

#[test]
fn a_stage_without_iterations_leaves_fields_on_their_own_grid() {
    let [fixed, moving] = pair();
    let find = |of: &[(usize, f64, usize)], from| {
        let side = Fixed::new(&Cpu, &fixed, &options(of), &mut ()).expect("a fixed side");
        side.find(&Cpu, &moving, &AffineTransform::identity(), from, &mut ()).expect("it registers")
    };
    let (fields, _) = find(&[(4, 2.0, 1)], None);
    let (fields, levels) = find(&[(2, 0.0, 0), (1, 0.0, 0)], Some(fields));
    assert_eq!((fields.shrink(), levels.len()), (4, 2));
}

#[test]
fn fields_are_inverted_again_after_every_so_many_iterations() {
    let small = Grid { shape: [24, 26, 22], ..scene::grid() };
    let [fixed, moving] = [sampled(&small, brain), sampled(&small, |p| brain(p + displacement(p)))];
    // The steps are long, so that the inverses are not exact and inverting again changes the fields.
    let reached = |iterations, reinvert_every| {
        let level = Level { reinvert_every, ..levels(&[(1, 1.0, iterations)])[0] };
        let options = Options { levels: vec![level], gradient_step: 0.8, ..Options::default() };
        let (warps, outcomes) = staged(&fixed, &moving, &[options]);
        assert!(!outcomes.levels[0].undone, "{outcomes:?}");
        downloaded(&warps)
    };
    assert!(reached(1, 2) == reached(1, 9));
    assert!(reached(1, 1) != reached(1, 9));
    assert!(reached(2, 2) != reached(2, 9));
    assert!(reached(3, 4) == reached(3, 9));
}

/// The warp after resampling on a grid shrunken by 4, and back on the full grid. This loses detail.
fn through_coarse(warp: &DisplacementField) -> DisplacementField {
    let coarse = warp.grid.shrink([4; 3]);
    let there = warp.grid.world_to_voxel().after(&coarse.voxel_to_world());
    let back = coarse.world_to_voxel().after(&warp.grid.voxel_to_world());
    let field = Cpu.upload_field(warp.grid.shape, &warp.vectors).expect("a field");
    let (mut small, mut large) = (Cpu.field(coarse.shape).expect("room"), Cpu.field(warp.grid.shape).expect("room"));
    Cpu.resize_field(&field, &there, &Matrix3::identity(), &mut small).expect("it is resized");
    Cpu.resize_field(&small, &back, &Matrix3::identity(), &mut large).expect("it is resized");
    DisplacementField { grid: warp.grid.clone(), vectors: Cpu.download_field(&large).expect("it is here") }
}

#[test]
fn a_coarser_second_stage_keeps_the_detail_of_the_first() {
    let [fixed, moving] = pair();
    let first = options(&[FIRST[0], FIRST[1], (1, 0.0, 10)]);
    let (alone, _) = staged(&fixed, &moving, std::slice::from_ref(&first));
    // Each step is 0.001 voxels of a grid shrunken by 4. So the second stage moves points by at most 0.008 voxels of
    // the full grid in total.
    let second = Options { gradient_step: 1e-3, ..options(&[(4, 2.0, 2)]) };
    let (after, iterations) = staged(&fixed, &moving, &[first, second]);
    assert_eq!(iterations.levels.last().map(|level| level.energies.len()), Some(2));
    for (before, after) in downloaded(&alone).iter().zip(&downloaded(&after)) {
        let (changed, lost) = (apart(before, after), apart(before, &through_coarse(before)));
        // The fields of both images are inverted again, with errors of up to 0.03 voxels of up to 1.2 mm each, that is
        // 0.07 mm together. The remaining change comes from the steps of the second stage.
        assert!(changed < 0.1 && lost > 5.0 * changed, "{changed} mm changed, {lost} mm would be lost");
    }
}

#[test]
fn a_coarser_second_stage_corrects_what_the_first_left() {
    let [fixed, moving] = pair();
    let finest = Options { gradient_step: 0.1, ..options(&[(1, 0.0, 3)]) };
    let residual = |stages: &[Options]| {
        let (warps, _) = staged(&fixed, &moving, stages);
        let [warp, inverse_warp] = downloaded(&warps);
        assert!(apart(&warp, &inverse_warp) > 0.1, "nothing has moved");
        let reached = antsreg_kernels::apply::resample(
            &moving,
            &fixed.grid,
            &antsreg_core::TransformChain::from(vec![antsreg_core::Transform::Displacement(warp)]),
            antsreg_kernels::apply::Interpolation::Linear,
            0.0,
        );
        let pairs = reached.voxels.iter().zip(&fixed.voxels);
        pairs.map(|(a, b)| f64::from((a - b).abs())).sum::<f64>() / fixed.voxels.len() as f64
    };
    let (first, both) = (residual(std::slice::from_ref(&finest)), residual(&[finest, options(&[(2, 1.0, 20)])]));
    assert!(both < 0.8 * first, "mean difference {first} after the first stage, {both} after both");
}

#[test]
fn a_restricted_second_stage_hardly_changes_the_held_components() {
    let aligned = Grid { direction: Matrix3::identity(), ..grid() };
    let mostly_free = |p| displacement(p).component_mul(&Vector3::new(1.0, 0.3, 0.3));
    let [fixed, moving] = [sampled(&aligned, brain), sampled(&aligned, |p| brain(p + mostly_free(p)))];
    // The first stage has few and short steps, so that the images are still far from aligned after it.
    let first = Options { gradient_step: 0.1, ..options(&[(2, 1.0, 3)]) };
    let second = Options { restrict: [1.0, 0.0, 0.0], ..options(&[(1, 0.0, 8)]) };
    let (before, _) = staged(&fixed, &moving, std::slice::from_ref(&first));
    let (after, iterations) = staged(&fixed, &moving, &[first, second]);
    assert!(!iterations.levels[1].undone, "{iterations:?}");
    for (before, after) in downloaded(&before).iter().zip(&downloaded(&after)) {
        let changed = |axis: usize| {
            let changes =
                before.vectors.iter().zip(&after.vectors).map(|(a, b)| f64::from((a[axis] - b[axis]).abs()));
            changes.sum::<f64>() / before.vectors.len() as f64
        };
        let [free, held, other] = [changed(0), changed(1), changed(2)];
        // The restricted components may change a little, for two reasons. They are interpolated at points that moved
        // along the unrestricted component. And the fields are inverted again, with errors of up to 0.03 voxels.
        assert!(free > 0.03 && held < 0.25 * free && other < 0.25 * free, "{free}, {held} and {other} mm");
    }
}

#[test]
fn fields_of_another_grid_are_refused() {
    let [fixed, moving] = pair();
    let side = |fixed: &Volume| Fixed::new(&Cpu, fixed, &options(&[(4, 2.0, 1)]), &mut ()).expect("a fixed side");
    let identity = AffineTransform::identity();
    let mut elsewhere = fixed.clone();
    elsewhere.grid.origin += Vector3::new(0.0, 3.0, 0.0);
    let fields = || side(&fixed).find(&Cpu, &moving, &identity, None, &mut ()).expect("it registers").0;
    assert_eq!((fields().shrink(), fields().grid()), (4, &fixed.grid.shrink([4; 3])));
    let refused = side(&elsewhere).find(&Cpu, &moving, &identity, Some(fields()), &mut ());
    assert!(matches!(refused, Err(Error::FieldsGrid)));
    assert!(matches!(side(&elsewhere).warps(&Cpu, fields(), &mut ()), Err(Error::FieldsGrid)));
}
