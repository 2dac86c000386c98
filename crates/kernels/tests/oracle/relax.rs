//! Tests of the relaxation of a pair of fields, against a naive implementation on whole volumes in double precision.

use antsreg_kernels::ops::{Fields, Memory, Relaxation};
use antsreg_kernels::{Cpu, InversionLimits, RelaxLimits, RelaxRound};

use super::naive::{self, displaced, field_at, index};
use super::scene::{self, SHAPES, voxels};
use super::worst;

type Field = <Cpu as Memory>::Field;
type Vectors = Vec<[f32; 3]>;

const SHAPE: [usize; 3] = SHAPES[0];
const PLACE: [usize; 3] = [18, 20, 11];
const ANYTHING: RelaxLimits =
    RelaxLimits { smallest_jacobian: f32::NEG_INFINITY, largest_residual_voxels: f32::INFINITY };
/// Settings of the inversion of a field with which the inversion makes no step.
const STAY: InversionLimits = InversionLimits { steps: 0, tolerance_voxels: 0.0, untouched_voxels: 0.0 };
const FREE: [[f32; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
const FOLLOW: InversionLimits = InversionLimits { steps: 50, tolerance_voxels: 0.005, untouched_voxels: 0.2 };

fn round(limits: RelaxLimits, follow: InversionLimits) -> RelaxRound {
    RelaxRound { limits, variance_voxels: 1.0, reach_voxels: 1, unfolds: false, allowed: FREE, follow }
}

fn uploaded(vectors: &[[f32; 3]]) -> Field {
    Cpu.upload_field(SHAPE, vectors).unwrap()
}

fn downloaded(field: &Field) -> Vectors {
    Cpu.download_field(field).unwrap()
}

/// A smooth test field and its inverse field.
fn pair() -> (Vectors, Vectors) {
    let vectors = scene::smooth_field(SHAPE, 0.3);
    let mut inverse = Cpu.field(SHAPE).unwrap();
    let tight = InversionLimits { steps: 20, tolerance_voxels: 1e-4, untouched_voxels: 0.0 };
    Cpu.invert(&uploaded(&vectors), &mut inverse, &tight).unwrap();
    (vectors, downloaded(&inverse))
}

/// For each voxel, the smallest Jacobian determinant at the corners of the trilinear cells that meet at the voxel.
fn determinants(field: &Field) -> Vec<f64> {
    naive::smallest_at_corners(&downloaded(field), SHAPE)
}

/// The residual of two fields at each voxel, ‖v(x + u(x)) + u(x)‖, in voxels.
fn residuals(u: &[[f32; 3]], v: &[[f32; 3]]) -> Vec<f64> {
    let at = |(voxel, u): ([usize; 3], &[f32; 3])| {
        let v = field_at(v, SHAPE, displaced(voxel, *u));
        (0..3).map(|axis| (v[axis] + f64::from(u[axis])).powi(2)).sum::<f64>().sqrt()
    };
    voxels(SHAPE).zip(u).map(at).collect()
}

/// The expected first component of a field after it was smoothed around some voxels. `pulls` gives these voxels and the
/// share of the smoothed field there.
fn smoothed_around(pulls: &[([usize; 3], f64)], vectors: &[[f32; 3]], variance: f64, reach: usize) -> Vec<f64> {
    let before: Vec<f64> = vectors.iter().map(|v| f64::from(v[0])).collect();
    let smoothed = naive::smooth(&before, SHAPE, [variance; 3]);
    let weight = |voxel: [usize; 3]| {
        let near = pulls.iter().filter(|(place, _)| (0..3).all(|a| place[a].abs_diff(voxel[a]) <= reach));
        let squared = |place: &[usize; 3]| (0..3).map(|a| place[a].abs_diff(voxel[a]).pow(2)).sum::<usize>() as f64;
        let share = |place: &[usize; 3]| 1.0 - squared(place) / (reach as f64 + 1.0).powi(2);
        near.map(|(place, pull)| pull * share(place)).fold(0.0, f64::max)
    };
    let drawn = |voxel| {
        let at = index(SHAPE, voxel);
        before[at] + weight(voxel) * (smoothed[at] - before[at])
    };
    voxels(SHAPE).map(drawn).collect()
}

#[test]
fn what_folds_is_smoothed_and_nothing_else() {
    let (mut vectors, _) = pair();
    // This displacement makes two neighbouring voxels exchange their positions, so the field folds.
    vectors[index(SHAPE, PLACE)][0] += 2.5;
    let limits = RelaxLimits { smallest_jacobian: 0.05, ..ANYTHING };
    let jacobian = determinants(&uploaded(&vectors));
    let places: Vec<[usize; 3]> = voxels(SHAPE).filter(|voxel| jacobian[index(SHAPE, *voxel)] < 0.05).collect();
    assert!(!places.is_empty());
    let pulls: Vec<([usize; 3], f64)> = places.iter().map(|place| (*place, 1.0)).collect();
    for (variance_voxels, reach_voxels) in [(1.0, 1), (4.0, 3)] {
        let (mut there, mut back) = (uploaded(&vectors), Cpu.field(SHAPE).unwrap());
        let mut relaxation = Cpu.relax_workspace(SHAPE).unwrap();
        let round = RelaxRound { variance_voxels, reach_voxels, ..round(limits, STAY) };
        let beyond = Cpu.relax([&mut there, &mut back], &round, &mut relaxation).unwrap();
        assert_eq!(beyond, [places.len(), 0]);
        let found: Vec<f32> = downloaded(&there).iter().map(|v| v[0]).collect();
        // The tolerance is the rounding error of sums of up to 17³ products in single precision.
        assert!(worst(&found, smoothed_around(&pulls, &vectors, variance_voxels, reach_voxels)) < 2e-6);
        assert!(downloaded(&back).iter().all(|v| *v == [0.0; 3]));
    }
}

#[test]
fn what_folds_is_moved_by_what_its_corners_want() {
    let held = [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
    for (shape, allowed) in [(SHAPES[0], FREE), (SHAPES[0], held), ([19, 17, 1], FREE)] {
        let mut vectors = scene::rough_field(shape, 0.7, 31);
        for (voxel, v) in voxels(shape).zip(&mut vectors) {
            // The test fields are as in a registration: there is no displacement at the border, and none out of the
            // plane of a slice.
            if (0..3).any(|axis| shape[axis] > 1 && (voxel[axis] == 0 || voxel[axis] + 1 == shape[axis])) {
                *v = [0.0; 3];
            }
            if shape[2] == 1 {
                v[2] = 0.0;
            }
        }
        let smallest = naive::smallest_at_corners(&vectors, shape);
        // No determinant may be within 1e-6 of the limit. Otherwise rounding errors could decide whether a voxel counts
        // as folded.
        let limit = 0.05;
        assert!(smallest.iter().all(|found| (found - limit).abs() > 1e-6));
        let expected = naive::unfolded(&vectors, shape, limit, allowed);
        let mut there = Cpu.upload_field(shape, &vectors).unwrap();
        let (mut back, mut relaxation) = (Cpu.field(shape).unwrap(), Cpu.relax_workspace(shape).unwrap());
        let limits = RelaxLimits { smallest_jacobian: limit as f32, ..ANYTHING };
        let round = RelaxRound { unfolds: true, allowed, ..round(limits, STAY) };
        let beyond = Cpu.relax([&mut there, &mut back], &round, &mut relaxation).unwrap();
        let folds = smallest.iter().filter(|found| **found < limit).count();
        assert!(folds > 10 && beyond == [folds, 0], "{beyond:?} of {folds}");
        let found = downloaded(&there);
        for c in 0..3 {
            let of = |vectors: &[[f32; 3]]| vectors.iter().map(|v| v[c]).collect::<Vec<f32>>();
            // The tolerance is the rounding error of quotients of sums over a few voxels, where a sum may be a
            // hundredth of its terms.
            assert!(worst(&of(&found), expected.iter().map(|v| v[c])) < 2e-4, "shape {shape:?}, component {c}");
        }
        let wanted = voxels(shape)
            .zip(&expected)
            .zip(&vectors)
            .filter(|((_, after), before)| (0..3).any(|c| (after[c] - f64::from(before[c])).abs() > 1e-3));
        assert!(wanted.count() > folds / 2, "hardly anything had to move");
    }
}

#[test]
fn where_the_inverse_misses_a_little_the_field_is_made_its_inverse() {
    let (mut vectors, inverse) = pair();
    vectors[index(SHAPE, PLACE)][1] += 0.7;
    let limits = RelaxLimits { largest_residual_voxels: 0.3, ..ANYTHING };
    let expected = residuals(&vectors, &inverse).iter().filter(|residual| **residual > 0.3).count();
    assert_eq!(expected, 1);
    let (mut there, mut back) = (uploaded(&vectors), uploaded(&inverse));
    let mut relaxation = Cpu.relax_workspace(SHAPE).unwrap();
    let round = round(limits, InversionLimits { untouched_voxels: f32::INFINITY, ..FOLLOW });
    assert_eq!(Cpu.relax([&mut there, &mut back], &round, &mut relaxation).unwrap(), [1, 0]);
    assert_eq!(downloaded(&back), inverse);
    let mut found = downloaded(&there);
    // The tolerance allows for inversion steps that end at a residual of 0.005 voxel.
    assert!(residuals(&found, &inverse)[index(SHAPE, PLACE)] < 0.006);
    found[index(SHAPE, PLACE)] = vectors[index(SHAPE, PLACE)];
    assert_eq!(found, vectors, "elsewhere nothing changed");
}

#[test]
fn where_the_inverse_misses_much_the_field_is_smoothed_by_how_much() {
    let (mut vectors, inverse) = pair();
    vectors[index(SHAPE, PLACE)][0] += 1.7;
    let missed = residuals(&vectors, &inverse)[index(SHAPE, PLACE)];
    for (largest_residual_voxels, gently) in [(0.3, false), (1.2, true)] {
        let limits = RelaxLimits { largest_residual_voxels, ..ANYTHING };
        let (mut there, mut back) = (uploaded(&vectors), uploaded(&inverse));
        let mut relaxation = Cpu.relax_workspace(SHAPE).unwrap();
        let round = round(limits, InversionLimits { untouched_voxels: f32::INFINITY, ..FOLLOW });
        assert_eq!(Cpu.relax([&mut there, &mut back], &round, &mut relaxation).unwrap()[0], 1);
        let pull = (0.5 * (missed / f64::from(largest_residual_voxels) - 1.0) + 0.05).min(1.0);
        assert_eq!(pull < 0.5, gently, "{pull}");
        let found: Vec<f32> = downloaded(&there).iter().map(|v| v[0]).collect();
        // The tolerance allows for two roundings to single precision: of the residual, and of the share of the smoothed
        // field, which is computed from the residual.
        assert!(worst(&found, smoothed_around(&[(PLACE, pull)], &vectors, 1.0, 1)) < 2e-6);
    }
}

#[test]
fn the_field_is_made_the_inverse_by_short_steps_that_succeed_only() {
    let still = vec![[0.0; 3]; SHAPE.iter().product()];
    let none = InversionLimits { untouched_voxels: f32::INFINITY, ..STAY };
    let many = InversionLimits { untouched_voxels: f32::INFINITY, ..FOLLOW };
    // The inverse of no displacement is no displacement. A voxel is set to it if that changes it by at most 1, and if
    // the residual is then at most 0.1. Without any step, the residual stays what it is.
    for (miss, follow, expected) in
        [(0.95_f32, many, Some(0.0)), (1.1, many, None), (0.09, none, Some(0.09)), (0.2, none, None)]
    {
        let mut vectors = still.clone();
        vectors[index(SHAPE, PLACE)][0] = miss;
        let largest_residual_voxels = 0.07;
        let limits = RelaxLimits { largest_residual_voxels, ..ANYTHING };
        let (mut there, mut back) = (uploaded(&vectors), uploaded(&still));
        let mut relaxation = Cpu.relax_workspace(SHAPE).unwrap();
        let beyond = Cpu.relax([&mut there, &mut back], &round(limits, follow), &mut relaxation).unwrap();
        assert_eq!(beyond[0], 1, "{miss}");
        let found: Vec<f32> = downloaded(&there).iter().map(|v| v[0]).collect();
        let expected = match expected {
            Some(value) => {
                vectors[index(SHAPE, PLACE)][0] = value;
                vectors.iter().map(|v| f64::from(v[0])).collect()
            }
            None => {
                let pull = (0.5 * (f64::from(miss / largest_residual_voxels) - 1.0) + 0.05).min(1.0);
                smoothed_around(&[(PLACE, pull)], &vectors, 1.0, 1)
            }
        };
        assert!(worst(&found, expected) < 2e-6, "{miss}");
    }
}

#[test]
fn a_voxel_at_the_limits_is_not_beyond_them() {
    // All determinants are 1. The residual is half a voxel everywhere.
    let vectors = vec![[0.0, 0.5, 0.0]; SHAPE.iter().product()];
    for (smallest_jacobian, largest_residual_voxels, all) in
        [(1.0, 0.5, false), (1.001, 0.5, true), (1.0, 0.499, true)]
    {
        let limits = RelaxLimits { smallest_jacobian, largest_residual_voxels };
        let (mut there, mut back) = (uploaded(&vectors), Cpu.field(SHAPE).unwrap());
        let mut relaxation = Cpu.relax_workspace(SHAPE).unwrap();
        let beyond = Cpu.relax([&mut there, &mut back], &round(limits, STAY), &mut relaxation).unwrap();
        assert_eq!(beyond[0], if all { vectors.len() } else { 0 }, "{limits:?}");
    }
}

#[test]
fn the_other_field_follows_where_it_must() {
    let (mut vectors, _) = pair();
    // One displacement is increased by 1.2 voxels. The Jacobian determinant there becomes so small that the field is
    // smoothed around it, but the field can still be inverted.
    vectors[index(SHAPE, PLACE)][0] += 1.2;
    let mut there = uploaded(&vectors);
    let mut back = Cpu.field(SHAPE).unwrap();
    Cpu.invert(&there, &mut back, &FOLLOW).unwrap();
    let inverse = downloaded(&back);
    let limits = RelaxLimits { smallest_jacobian: 0.5, ..ANYTHING };
    let expected = determinants(&there).iter().filter(|determinant| **determinant < 0.5).count();
    let mut relaxation = Cpu.relax_workspace(SHAPE).unwrap();
    let beyond = Cpu.relax([&mut there, &mut back], &round(limits, FOLLOW), &mut relaxation).unwrap();
    assert_eq!(beyond[0], expected);
    let (there, followed) = (downloaded(&there), downloaded(&back));
    assert!(residuals(&inverse, &there).iter().any(|residual| *residual > 0.2), "nothing had to follow");
    let worst = residuals(&followed, &there).into_iter().fold(0.0, f64::max);
    assert!(worst <= 0.2 + 1e-4, "{worst}");
    let moved = followed.iter().zip(&inverse).filter(|(after, before)| after != before).count();
    assert!((1..100).contains(&moved), "{moved} voxels moved");
}

/// Two rough test fields. They are far from being inverse to each other.
fn rough() -> [Field; 2] {
    let mut field = uploaded(&scene::rough_field(SHAPE, 9.0, 5));
    let [mut other, mut scratch] = Cpu.field_pair(SHAPE).unwrap();
    Cpu.smooth_both_fields([&mut field, &mut other], 2.0, [&mut scratch, &mut Cpu.field(SHAPE).unwrap()]).unwrap();
    let mut inverse = Cpu.field(SHAPE).unwrap();
    Cpu.invert(&field, &mut inverse, &FOLLOW).unwrap();
    [field, inverse]
}

const LIMITS: RelaxLimits = RelaxLimits { smallest_jacobian: 0.05, largest_residual_voxels: 0.4 };

#[test]
fn looking_where_something_changed_finds_what_looking_everywhere_finds() {
    let ([mut there, mut back], [mut all_there, mut all_back]) = (rough(), rough());
    let (mut relaxation, mut everywhere) = (Cpu.relax_workspace(SHAPE).unwrap(), Cpu.relax_workspace(SHAPE).unwrap());
    for call in 0..8 {
        let round = RelaxRound { unfolds: call % 2 == 0, ..round(LIMITS, FOLLOW) };
        let beyond = Cpu.relax([&mut there, &mut back], &round, &mut relaxation).unwrap();
        Cpu.examine_all(&mut everywhere).unwrap();
        let all_beyond = Cpu.relax([&mut all_there, &mut all_back], &round, &mut everywhere).unwrap();
        assert_eq!(beyond, all_beyond, "call {call}");
        assert_eq!(downloaded(&there), downloaded(&all_there), "call {call}");
        assert_eq!(downloaded(&back), downloaded(&all_back), "call {call}");
        assert!(beyond[0] > 0 || call > 2, "call {call}: nothing left to do");
    }
}

#[test]
fn in_the_end_both_fields_are_within_the_limits() {
    let [mut there, mut back] = rough();
    let mut relaxation = Cpu.relax_workspace(SHAPE).unwrap();
    let mut calls = 0;
    loop {
        let round = RelaxRound { unfolds: calls % 3 > 0, ..round(LIMITS, FOLLOW) };
        if Cpu.relax([&mut there, &mut back], &round, &mut relaxation).unwrap() == [0, 0] {
            break;
        }
        calls += 1;
        assert!(calls < 60, "still beyond the limits");
        if calls % 10 == 0 {
            Cpu.examine_all(&mut relaxation).unwrap();
        }
    }
    for field in [&there, &back] {
        assert!(determinants(field).iter().all(|determinant| *determinant >= 0.05 - 1e-5));
    }
    let (there, back) = (downloaded(&there), downloaded(&back));
    for (u, v) in [(&there, &back), (&back, &there)] {
        assert!(residuals(u, v).iter().all(|residual| *residual <= 0.4 + 1e-4));
    }
}

#[test]
fn a_round_looks_everywhere_only_if_told() {
    let (mut vectors, _) = pair();
    let limits = RelaxLimits { smallest_jacobian: 0.05, ..ANYTHING };
    let mut relaxation = Cpu.relax_workspace(SHAPE).unwrap();
    let mut relaxed = |there: &mut Field, everywhere: bool| {
        if everywhere {
            Cpu.examine_all(&mut relaxation).unwrap();
        }
        let mut back = Cpu.field(SHAPE).unwrap();
        Cpu.relax([there, &mut back], &round(limits, STAY), &mut relaxation).unwrap()[0]
    };
    assert_eq!(relaxed(&mut uploaded(&vectors), false), 0);
    // Now the field folds, but the relaxation knows of no change.
    vectors[index(SHAPE, PLACE)][0] += 2.5;
    let mut folded = uploaded(&vectors);
    assert_eq!(relaxed(&mut folded, false), 0);
    assert_eq!(downloaded(&folded), vectors);
    let folds = determinants(&folded).iter().filter(|determinant| **determinant < 0.05).count();
    assert_eq!(relaxed(&mut folded, true), folds);
    assert!(folds > 0);
}
