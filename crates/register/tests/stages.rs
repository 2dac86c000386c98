//! Tests of sequences of stages on an object with a known transform, and of registrations that an observer stops.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use antsreg_core::report::{Observer, Report};
use antsreg_core::schedule::Level;
use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_register::linear::{self, Dof, Search, Start};
use antsreg_register::{
    Device, Error, Fixed, Mask, Options, Progress, Registered, Registration, Side, Stage, StageOutcome, register, syn,
};
use nalgebra::{Point3, Rotation3, Vector3};

/// The true transform from fixed to moving points, RAS mm: rotation, stretch, shift, and a smooth bend along y.
fn truth(point: &Point3<f64>) -> Point3<f64> {
    let bend = 6.0 * (-((point.x / 35.0).powi(2) + (point.z / 40.0).powi(2))).exp();
    affine().apply(&(point + Vector3::new(0.0, bend, 0.0)))
}

fn affine() -> AffineTransform {
    let turn = Rotation3::from_euler_angles(0.06, -0.04, 0.09).into_inner();
    let stretch = nalgebra::Matrix3::from_diagonal(&Vector3::new(1.06, 0.97, 1.03));
    AffineTransform { matrix: turn * stretch, translation: Vector3::new(7.0, -5.0, 4.0) }
}

/// The intensities of a head-sized test object without symmetry, at a world point of the moving image.
fn object(p: &Point3<f64>) -> f32 {
    let blob = |x: f64, y: f64, z: f64, size: f64| {
        (-((p.x - x).powi(2) + (p.y - y).powi(2) + (p.z - z).powi(2)) / (2.0 * size * size)).exp()
    };
    let shell = ((p.x / 58.0).powi(2) + (p.y / 70.0).powi(2) + (p.z / 52.0).powi(2)).sqrt();
    let head = 1.0 / (1.0 + (12.0 * (shell - 1.0)).exp());
    let inside = 0.8 * blob(25.0, 30.0, 5.0, 14.0) + 0.6 * blob(-30.0, -10.0, 20.0, 10.0)
        - 0.7 * blob(5.0, -35.0, -15.0, 12.0)
        - 0.5 * blob(-20.0, 35.0, -10.0, 9.0)
        + 0.2 * (0.12 * p.x).sin() * (0.1 * p.y).cos();
    (100.0 * head * (1.0 + inside)) as f32
}

fn image(at: impl Fn(&Point3<f64>) -> f32) -> Volume {
    let mut grid = Grid::axis_aligned([40, 46, 36], [4.0; 3]);
    grid.origin = Point3::origin() - (grid.centre() - Point3::origin());
    let [nx, ny, _] = grid.shape;
    let to_world = grid.voxel_to_world();
    let point = |n: usize| Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / (nx * ny)) as f64);
    let voxels = (0..grid.len()).map(|n| at(&to_world.apply(&point(n)))).collect();
    Volume { grid, voxels }
}

fn sides() -> [Side; 2] {
    [Side::new(image(|point| object(&truth(point)))), Side::new(image(object))]
}

fn linear_stage(dof: Dof, search: Search) -> Stage {
    Stage::Linear(linear::Options { dof, search, ..linear::Options::default() })
}

fn deformable(levels: &[(usize, usize)], restrict: [f64; 3]) -> Stage {
    let level =
        |&(shrink, iterations)| Level { shrink, sigma_voxels: shrink as f64 / 2.0, iterations, reinvert_every: 1 };
    let levels = levels.iter().map(level).collect();
    Stage::Deformable(syn::Options { levels, restrict, ..syn::Options::default() })
}

fn run(stages: Vec<Stage>) -> Registration {
    let [fixed, moving] = sides();
    let options = Options { stages, ..Options::default() };
    register(&fixed, &moving, &options, &Device::cpu(), &mut ()).and_then(Registered::finish).expect("a result")
}

/// Mean distance between the found and the true moving points, over the object, mm.
fn error_mm(found: &Registration) -> f64 {
    let point = |n: usize| {
        let turn = 2.4 * n as f64;
        Point3::new(40.0 * turn.cos(), 48.0 * (1.7 * turn).sin(), 35.0 * (0.6 * turn).cos())
    };
    let distance = |n| (found.forward.apply(&point(n)) - truth(&point(n))).norm();
    (0..200).map(distance).sum::<f64>() / 200.0
}

#[test]
fn each_stage_goes_on_from_the_one_before() {
    let search = || linear::Options::default().search;
    let all = vec![
        linear_stage(Dof::Translation3, Search::None),
        linear_stage(Dof::Rigid6, search()),
        linear_stage(Dof::Affine12, Search::None),
        deformable(&[(4, 40), (2, 30)], [1.0; 3]),
        deformable(&[(2, 20), (1, 10)], [0.0, 1.0, 0.0]),
    ];
    let errors: Vec<f64> = (1..=all.len()).map(|count| error_mm(&run(all[..count].to_vec()))).collect();
    assert!(errors.is_sorted_by(|a, b| a >= b), "{errors:?}");
    assert!(errors[4] < 1.0, "{errors:?}");
    let found = run(all);
    let deformable = found.outcomes.iter().map(|outcome| matches!(outcome, StageOutcome::Deformable(_)));
    assert_eq!(deformable.collect::<Vec<_>>(), [false, false, false, true, true]);
    assert_eq!(found.seconds.stages.len(), 5);
    assert_eq!(found.levels().count(), 4);
    let scores = found.scores.expect("wanted by default");
    assert_eq!((scores.warp.folded, scores.inverse_warp.folded), (0, 0));
}

#[test]
fn a_restricted_stage_moves_along_its_axes_alone() {
    let stages =
        vec![linear_stage(Dof::Rigid6, Search::None), deformable(&[(4, 20), (2, 20), (1, 5)], [0.0, 1.0, 0.0])];
    let found = run(stages);
    for field in [found.warp(), found.inverse_warp()] {
        let vectors = &field.expect("a deformable stage").vectors;
        assert!(vectors.iter().all(|vector| vector[0] == 0.0 && vector[2] == 0.0));
        assert!(vectors.iter().any(|vector| vector[1].abs() > 2.0));
    }
}

#[test]
fn masks_may_differ_from_stage_to_stage() {
    let [fixed, moving] = sides();
    let front = Volume {
        voxels: fixed
            .image
            .volume()
            .expect("in main memory")
            .voxels
            .iter()
            .enumerate()
            .map(|(n, _)| f32::from(u8::from(n % 40 > 12)))
            .collect(),
        grid: fixed.grid().clone(),
    };
    let stages = || vec![linear_stage(Dof::Rigid6, Search::None), linear_stage(Dof::Affine12, Search::None)];
    let with = |masks: Mask, stages| {
        let side = Side { mask: masks, ..fixed.clone() };
        register(&side, &moving, &Options { stages, ..Options::default() }, &Device::cpu(), &mut ())
            .and_then(Registered::finish)
            .map(|found| found.affine)
    };
    let mask = std::sync::Arc::new(front);
    let second = with(Mask::PerStage(vec![None, Some(mask.clone())]), stages()).expect("a result");
    let first_alone = with(Mask::None, stages()[..1].to_vec()).expect("a result");
    // The second stage alone computes the expected result. This stage begins at the affine that the first stage finds
    // without masks.
    let options =
        Options { start: Start::Transform(first_alone), stages: stages()[1..].to_vec(), ..Options::default() };
    let side = fixed.clone().with_mask(mask.clone());
    let by_hand = register(&side, &moving, &options, &Device::cpu(), &mut ())
        .and_then(Registered::finish)
        .expect("a result")
        .affine;
    assert_eq!(second, by_hand);
    assert_ne!(Some(second), with(Mask::None, stages()).ok());
    let refused = with(Mask::PerStage(vec![None]), stages());
    assert!(matches!(refused, Err(Error::Masks { expected: 2, found: 1, .. })), "{refused:?}");
}

#[test]
fn a_prepared_side_gives_the_same_result_any_number_of_times() {
    let [fixed, moving] = sides();
    let stages = vec![linear_stage(Dof::Affine12, Search::None), deformable(&[(4, 10), (2, 5)], [1.0; 3])];
    let options = Options { stages, ..Options::default() };
    let alone =
        register(&fixed, &moving, &options, &Device::cpu(), &mut ()).and_then(Registered::finish).expect("a result");
    let prepared = Fixed::new(&Device::cpu(), fixed.clone(), options).expect("prepared");
    prepared.register(&fixed, &mut ()).expect("another moving image");
    for _ in 0..2 {
        let found = prepared.register(&moving, &mut ()).and_then(Registered::finish).expect("a result");
        assert_eq!((found.affine, found.warp()), (alone.affine, alone.warp()));
        assert_eq!(found.warped, alone.warped);
    }
}

/// An observer that stops the registration at the n-th call, and records the time of this stop.
struct Stopper {
    left: usize,
    stopped: Option<Instant>,
}

impl Stopper {
    fn call(&mut self) -> ControlFlow<()> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                ControlFlow::Continue(())
            }
            None => {
                self.stopped.get_or_insert_with(Instant::now);
                ControlFlow::Break(())
            }
        }
    }
}

impl Observer for Stopper {
    fn report(&mut self, _: &Report) -> ControlFlow<()> {
        self.call()
    }

    fn poll(&mut self) -> ControlFlow<()> {
        self.call()
    }
}

impl Progress for Stopper {}

#[test]
fn a_registration_that_is_stopped_returns_at_once() {
    let [fixed, moving] = sides();
    let stages = vec![linear_stage(Dof::Affine12, Search::None), deformable(&[(4, 10), (2, 5)], [1.0; 3])];
    let options = Options { stages, ..Options::default() };
    for calls in [0, 1, 7, 20, 60, 100] {
        let mut stopper = Stopper { left: calls, stopped: None };
        let found = register(&fixed, &moving, &options, &Device::cpu(), &mut stopper);
        assert!(matches!(found, Err(Error::Stopped)), "after {calls} calls");
        let since = stopper.stopped.expect("it was called so often").elapsed();
        assert!(since < Duration::from_secs(1), "{since:?} after {calls} calls");
    }
}

#[test]
fn what_cannot_be_registered_is_refused_before_anything_is_computed() {
    let [fixed, moving] = sides();
    let refused = |options: Options, moving: &Side| {
        register(&fixed, moving, &options, &Device::cpu(), &mut ()).expect_err("refused").to_string()
    };
    let stages = |stages| Options { stages, ..Options::default() };
    let syn = || deformable(&[(1, 1)], [1.0; 3]);
    assert!(refused(stages(Vec::new()), &moving).contains("empty"));
    assert!(refused(stages(vec![syn(), linear_stage(Dof::Rigid6, Search::None)]), &moving).contains("stage 2"));
    assert!(refused(stages(vec![deformable(&[(0, 1)], [1.0; 3])]), &moving).contains("shrink"));
    assert!(refused(stages(vec![deformable(&[(9, 1)], [1.0; 3])]), &moving).contains("6 voxels"));
    let mut far = (**moving.image.volume().expect("in main memory")).clone();
    far.grid.origin.z += 1000.0;
    let headers = Options { start: Start::Headers, ..stages(vec![syn()]) };
    assert!(refused(headers, &Side::new(far)).contains("do not overlap"));
    let flat = AffineTransform { matrix: nalgebra::Matrix3::zeros(), translation: Vector3::zeros() };
    assert!(refused(Options { start: Start::Transform(flat), ..stages(vec![syn()]) }, &moving).contains("singular"));
}

#[test]
fn options_are_the_same_after_a_round_trip_through_text() {
    let options = Options {
        stages: vec![linear_stage(Dof::Translation3, Search::None), deformable(&[(2, 3)], [0.0, 1.0, 0.0])],
        start: Start::Transform(affine()),
        ..Options::default()
    };
    let text = serde_json::to_string(&options).expect("text");
    assert_eq!(serde_json::from_str::<Options>(&text).expect("options"), options);
    assert_eq!(serde_json::from_str::<Options>("{}").expect("options"), Options::default());
    assert!(serde_json::from_str::<Options>(r#"{"stage": []}"#).is_err());
}

/// The options of a channel for each of these many pairs.
fn channels(stage: Stage, pairs: usize) -> Stage {
    match stage {
        Stage::Deformable(options) => {
            Stage::Deformable(syn::Options { channels: vec![Default::default(); pairs], ..options })
        }
        linear => linear,
    }
}

#[test]
fn a_stage_compares_the_pairs_of_its_list_alone() {
    let stages = || vec![linear_stage(Dof::Rigid6, Search::None), deformable(&[(4, 5)], [1.0; 3])];
    let run = |sides: &[Side; 2], stages, pairs: &[&[usize]]| {
        let pairs = pairs.iter().map(|numbers| numbers.to_vec()).collect();
        let options = Options { stages, pairs, ..Options::default() };
        let [fixed, moving] = sides;
        register(fixed, moving, &options, &Device::cpu(), &mut ()).and_then(Registered::finish)
    };
    let (right, mut more) = (sides(), sides());
    let other = [image(|p| object(&truth(p)).sqrt()), image(|p| object(p).sqrt())];
    for (side, other) in more.iter_mut().zip(&other) {
        side.channels.push(other.clone().into());
    }
    let turned = [0, 1].map(|n| {
        let [first, second] = [&right[n].image, &more[n].channels[0]].map(Clone::clone);
        Side { channels: vec![first], ..Side::new(second) }
    });
    let alone = run(&right, stages(), &[]).expect("a result");
    for (sides, pairs) in [(&more, [[0], [0]]), (&turned, [[1], [1]])] {
        let found = run(sides, stages(), &pairs.each_ref().map(|numbers| numbers.as_slice())).expect("a result");
        assert_eq!((found.affine, found.warp()), (alone.affine, alone.warp()), "{pairs:?}");
    }
    let both = vec![stages().remove(0), channels(stages().remove(1), 2)];
    let usual = run(&more, both.clone(), &[]).expect("a result");
    let listed = run(&more, both.clone(), &[&[0], &[0, 1]]).expect("a result");
    assert_eq!(usual.warp(), listed.warp());
    assert_ne!(usual.warp(), alone.warp());
    // A warp that two stages share, of different images.
    let [one, two] = [vec![both[0].clone(), stages().remove(1), both[1].clone()], vec![stages().remove(1); 2]];
    assert!(error_mm(&run(&more, one, &[&[0], &[0], &[0, 1]]).expect("a result")) < error_mm(&alone));
    assert!(run(&more, two, &[&[0], &[1]]).is_ok());
}

#[test]
fn lists_of_pairs_that_do_not_fit_are_refused() {
    let refused = |pairs: &[&[usize]], sides: &[Side; 2]| {
        let stages = vec![deformable(&[(4, 5)], [1.0; 3]); 2];
        let pairs = pairs.iter().map(|numbers| numbers.to_vec()).collect();
        Options { stages, pairs, ..Options::default() }.precheck(sides.each_ref()).expect_err("refused")
    };
    let mut sides = sides();
    assert!(matches!(refused(&[&[0]], &sides), Error::Pairs { expected: 2, found: 1 }));
    assert!(matches!(refused(&[&[0], &[0, 1]], &sides), Error::PairOfStage { stage: 2 }));
    assert!(matches!(refused(&[&[], &[0]], &sides), Error::PairOfStage { stage: 1 }));
    let mut coarse = image(object);
    coarse.grid.spacing *= 1.1;
    sides.iter_mut().for_each(|side| side.channels.push(coarse.clone().into()));
    let expected = |error| matches!(error, Error::GridOfStage { stage: 1, side: linear::Side::Fixed });
    assert!(expected(refused(&[&[1], &[0]], &sides)));
}
