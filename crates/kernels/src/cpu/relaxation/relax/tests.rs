//! Tests of single steps of the workspace.

use crate::cpu::intensity::smooth;
use crate::cpu::relaxation::relax::*;

/// A small generator of pseudo-random numbers: the next number below `count`.
fn below(state: &mut u64, count: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize % count
}

/// The indices of all voxels of a shape, x fastest.
fn voxels([nx, ny, nz]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..nz).flat_map(move |k| (0..ny).flat_map(move |j| (0..nx).map(move |i| [i, j, k])))
}

fn round(unfolds: bool, reach_voxels: usize) -> RelaxRound {
    RelaxRound {
        limits: RelaxLimits { smallest_jacobian: 0.5, largest_residual_voxels: f32::INFINITY },
        variance_voxels: 1.0,
        reach_voxels,
        unfolds,
        allowed: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        follow: InversionLimits { steps: 50, tolerance_voxels: 1e-3, untouched_voxels: 0.0 },
    }
}

#[test]
fn bricks_around_a_point_are_those_with_a_voxel_within_the_margin() {
    let shape = [24, 17, 8];
    let mut state = 1;
    for call in 0..400 {
        let margin = [1, 3][call % 2];
        // Some points lie outside the volume, at most as far as the margin.
        let point = shape.map(|n| below(&mut state, n + 2 * margin) as f32 - margin as f32);
        let marks = Marks::none(shape);
        marks.around(point, margin as f32);
        let mut expected = vec![false; 3 * 3];
        for at in voxels(shape) {
            if (0..3).all(|axis| (at[axis] as f32 - point[axis]).abs() <= margin as f32) {
                expected[at[0] / 8 + 3 * (at[1] / 8 + 3 * (at[2] / 8))] = true;
            }
        }
        let found: Vec<bool> = marks.marked.into_iter().map(AtomicBool::into_inner).collect();
        assert_eq!(found, expected, "{point:?}, margin {margin}");
    }
}

#[test]
fn each_voxel_that_gets_a_weight_is_listed_once() {
    let shape = [9, 8, 7];
    let beyond = [([3, 3, 3], Beyond::Misses(0.5)), ([4, 3, 3], Beyond::Folds), ([0, 7, 6], Beyond::Misses(1.0))];
    let mut weights = vec![0.0; 9 * 8 * 7];
    let mut reached = spread(&beyond, &round(true, 2), shape, &mut weights);
    let mut expected = Vec::new();
    for (at, weight) in voxels(shape).zip(&weights) {
        let squared = |place: [usize; 3]| (0..3).map(|axis| place[axis].abs_diff(at[axis]).pow(2)).sum::<usize>();
        let within = |place: [usize; 3]| (0..3).all(|axis| place[axis].abs_diff(at[axis]) <= 2);
        let share = |place| if within(place) { (1.0 - squared(place) as f32 / 9.0).max(0.0) } else { 0.0 };
        let share = if squared([4, 3, 3]) <= 1 { 2.0 } else { share([0, 7, 6]).max(0.5 * share([3, 3, 3])) };
        // The tolerance is the rounding error of a quotient in single precision.
        assert!((weight - share).abs() < 1e-6, "{weight} for {share} at {at:?}");
        if share > 0.0 {
            expected.push(at);
        }
    }
    reached.sort_by_key(|[i, j, k]| (*k, *j, *i));
    assert_eq!(reached, expected);
}

#[test]
fn a_voxel_is_smoothed_as_the_whole_field_is() {
    for shape in [[9, 8, 7], [12, 9, 1], [1, 9, 8], [1, 1, 13]] {
        let mut state = 5;
        let vectors: Vec<[f32; 3]> =
            voxels(shape).map(|_| [0; 3].map(|_| below(&mut state, 2000) as f32 / 700.0 - 1.5)).collect();
        for variance in [0.5, 3.0] {
            let field = Field::from_vectors(shape, &vectors).unwrap();
            let mut whole = field.clone();
            smooth::smooth_field(&mut whole, variance);
            let smoothing = Smoothing::new(shape, variance);
            for (at, expected) in voxels(shape).zip(whole.vectors()) {
                assert_eq!(smoothing.at(&field, at), *expected, "{at:?} of {shape:?}, variance {variance}");
            }
        }
    }
}

#[test]
fn a_change_is_followed_to_where_the_field_leads_and_back() {
    let (shape, place) = ([40, 24, 9], [12, 12, 4]);
    // The field moves everything by 12 voxels, and one voxel by 0.7 more. Between this voxel and the next one along
    // x, the Jacobian determinant is 0.3.
    let mut field = Field::from_vectors(shape, &[[12.0, 0.0, 0.0]; 40 * 24 * 9]).unwrap();
    let mut inverse = Field::from_vectors(shape, &[[-12.0, 0.0, 0.0]; 40 * 24 * 9]).unwrap();
    let index = field.index(place);
    field.vectors_mut()[index][0] = 12.7;
    let round = round(false, 1);
    invert::invert(&field, &mut inverse, &round.follow);
    let farthest = |field: &Field, inverse: &Field| {
        let squared = |at| residual::squared_residual_at(&field.sampler(), inverse, at);
        voxels(shape).filter(|at| !on_edge(*at, shape)).map(squared).fold(0.0, f32::max).sqrt()
    };
    assert!(farthest(&field, &inverse) < 2e-3);
    let before = inverse.clone();
    let mut workspace = RelaxWorkspace::new(shape);
    assert_eq!(half(&mut field, &mut inverse, 0, &round, &mut workspace), 2);
    assert!(farthest(&field, &before) > 0.2, "hardly anything changed");
    // The inverse changed around x = 24.
    assert!(farthest(&field, &inverse) < 2e-3);
    // Only voxels 11 to 14 along x changed, which lie in brick 1 with all their neighbours. But the inverse leads
    // from voxel 26 to near voxel 14, and brick 2 begins less than 3 voxels from there.
    assert_eq!(field.vectors()[field.index([10, 12, 4])], [12.0, 0.0, 0.0]);
    assert_eq!(field.vectors()[field.index([15, 12, 4])], [12.0, 0.0, 0.0]);
    let brick = |[x, y, z]: [usize; 3]| x + 5 * (y + 3 * z);
    let examined = |at| workspace.examine[0].marked[brick(at)].load(Relaxed);
    assert!(examined([1, 1, 0]) && examined([2, 1, 0]));
    assert!(!examined([4, 1, 0]));
}
