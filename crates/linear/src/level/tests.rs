//! Tests of the costs on a resolution level, of the order of its axes, and of the optimisation on it.

use antsreg_core::{Grid, Unit, Volume};
use antsreg_kernels::{Cpu, Input};
use nalgebra::{Matrix3, Point3};

use super::*;
use crate::fixed::Fixed;
use crate::images::{Images, Order};
use crate::parameters::{IDENTITY, SCALE};
use crate::polish::Rejected;
use crate::{Cost, Dof, Options};

/// A ball whose intensity changes along all axes.
fn ball() -> Volume {
    let mut grid = Grid::axis_aligned([24; 3], [8.0; 3]);
    grid.origin = Point3::new(-92.0, -92.0, -92.0);
    let to_world = grid.voxel_to_world();
    let at = |n: usize| to_world.apply(&Point3::from([n % 24, n / 24 % 24, n / 576].map(|i| i as f64))).coords;
    let value = |n: usize| if at(n).norm() < 80.0 { 100.0 + at(n).x + 0.3 * at(n).y - 0.2 * at(n).z } else { 0.0 };
    Volume { voxels: (0..grid.len()).map(|n| value(n) as f32).collect(), grid }
}

#[test]
fn a_sliver_costs_one_whatever_the_images_are() {
    for cost in [Cost::CorrelationRatio, Cost::NormalisedCorrelation] {
        let (image, options) = (ball(), Options::of(cost));
        let fixed = Fixed::new(&Cpu, &image, None, &options).expect("a fixed image");
        let images = Images::new(&Cpu, &fixed, &Input::from(&image), None).expect("a moving image");
        let start = AffineTransform::identity();
        let overlap = images.overlap(Order::Given, &[start]);
        let level = images.level(Order::Given, 8.0, &start, &overlap).expect("a level");
        let frame = Frame::new(&start, Matrix3::identity(), Point3::origin(), false).expect("a frame");
        // The moving image is shrunk to 0.4³ = 0.064 of the fixed image.
        let mut sliver = IDENTITY;
        sliver[SCALE..SCALE + 3].fill(0.4);
        let transforms = [IDENTITY, sliver].map(|parameters| frame.transform(&parameters).expect("a transform"));
        let plain = level.costs_of(&transforms).expect("costs");
        let found =
            level.costs(&frame, &[IDENTITY, sliver], &mut Progress::new(&mut (), Unit::MILLIMETRE)).expect("costs");
        assert_eq!(found, [plain[0], 1.0], "{cost}, without regard to the overlap {plain:?}");
        assert!(plain[1] < 1.0, "{cost}: {plain:?}");
    }
}

#[test]
fn the_axes_of_the_moving_image_are_in_the_order_in_which_the_fixed_grid_reads_them() {
    let (image, options) = (ball(), Options::default());
    let fixed = Fixed::new(&Cpu, &image, None, &options).expect("a fixed image");
    let images = Images::new(&Cpu, &fixed, &Input::from(&image), None).expect("a moving image");
    // Rotations by 90° about the z axis, the x axis, and the diagonal.
    for matrix in [
        Matrix3::new(0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0),
        Matrix3::new(1.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0),
        Matrix3::new(0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0),
    ] {
        let turn = AffineTransform { matrix, ..AffineTransform::identity() };
        let overlap = images.overlap(Order::Given, &[turn]);
        let level = images.level(Order::Given, 8.0, &turn, &overlap).expect("a level");
        let between = level.between_voxels(&turn).matrix;
        let off_diagonal = between - Matrix3::from_diagonal(&between.diagonal());
        assert!(off_diagonal.amax() < 1e-9, "{between}");
    }
}

/// Calls `test` with the 8 mm level of the ball as both images.
fn on_a_level(options: &Options, test: impl FnOnce(&Level<Cpu>, &Frame)) {
    let image = ball();
    let fixed = Fixed::new(&Cpu, &image, None, options).expect("a fixed image");
    let images = Images::new(&Cpu, &fixed, &Input::from(&image), None).expect("a moving image");
    let start = AffineTransform::identity();
    let overlap = images.overlap(Order::Given, &[start]);
    let level = images.level(Order::Given, 8.0, &start, &overlap).expect("a level");
    test(&level, &Frame::new(&start, Matrix3::identity(), Point3::origin(), false).expect("a frame"));
}

/// The parameters of the start, moved along x.
fn moved(mm: f64) -> Parameters {
    let mut parameters = IDENTITY;
    parameters[3] = mm;
    parameters
}

#[test]
fn every_cost_has_its_own_formula() {
    let costs = Cost::ALL.map(|cost| {
        let mut found = Vec::new();
        on_a_level(&Options::of(cost), |level, frame| {
            found = level.costs(frame, &[moved(12.0)], &mut Progress::new(&mut (), Unit::MILLIMETRE)).expect("costs");
        });
        found[0]
    });
    for (n, cost) in costs.iter().enumerate() {
        assert!(*cost > 0.0 && *cost < 1.0 && !costs[..n].contains(cost), "{costs:?}");
    }
}

#[test]
fn candidates_close_to_a_better_one_are_left_out() {
    on_a_level(&Options::default(), |level, _| {
        // On the 8 mm level, the tolerance of a translation is 1.6 mm.
        let rated = [(-3.3, 0.4), (20.5, 0.6), (1.0, 0.2), (0.0, 0.1), (3.2, 0.3), (20.0, 0.5)];
        let candidates = rated.map(|(mm, cost)| Candidate { parameters: moved(mm), cost });
        let places = |count| -> Vec<f64> {
            level.distinct(&candidates, count).iter().map(|candidate| candidate.parameters[3]).collect()
        };
        assert_eq!(places(9), [0.0, 3.2, -3.3, 20.0]);
        assert_eq!(places(3), [0.0, 3.2, -3.3]);
    });
}

#[test]
fn every_start_is_improved_and_only_newton_steps_measure_the_curvature() {
    for optimiser in [Optimiser::Flirt, Optimiser::Powell, Optimiser::Descent] {
        let options = Options { optimiser, ..Options::of(Cost::NormalisedCorrelation) };
        on_a_level(&options, |level, frame| {
            let starts = [moved(9.0), moved(-4.0)];
            let (mut observer, dof) = ((), Dof::Translation3);
            let progress = &mut Progress::new(&mut observer, Unit::MILLIMETRE);
            let before = level.costs(frame, &starts, progress).expect("costs");
            let found = level.optimise(frame, &starts, dof, progress).expect("results");
            let rough = level.approach(frame, &starts, dof, progress).expect("results");
            for found in [found, rough] {
                assert_eq!(found.len(), 2, "{optimiser}");
                assert!((0..2).all(|n| found[n].cost < 0.1 * before[n]), "{optimiser}: {found:?} from {before:?}");
            }
            let polished = level.polish(frame, &starts, dof, None, Rejected::Ends, progress).expect("results");
            assert!(polished.len() == 2 && polished[0].0.cost <= polished[1].0.cost, "{optimiser}");
            let measured = polished.iter().filter(|(_, curvature)| curvature.is_some()).count();
            assert_eq!(measured, if optimiser == Optimiser::Flirt { 2 } else { 0 }, "{optimiser}");
        });
    }
}
