use std::io::Read;

use antsreg_core::AffineTransform;
use antsreg_kernels::ops::{Fields, Memory};
use antsreg_kernels::{AxisMap, Cpu, Error, InversionLimits};
use nalgebra::{Matrix3, Vector3};

use super::naive::{self, displaced, field_at, index, on_border};
use super::scene::{self, SHAPES, voxels};
use super::worst;

/// Tolerance for coordinates in single precision and trilinear interpolation of vectors of up to 3 voxels.
const INTERPOLATION: f64 = 1e-4;

type Field = <Cpu as Memory>::Field;

fn uploaded(shape: [usize; 3], vectors: &[[f32; 3]]) -> Field {
    Cpu.upload_field(shape, vectors).unwrap()
}

/// Smooths a field with the operation that takes two fields, and returns the smoothed field.
fn smoothed(shape: [usize; 3], vectors: &[[f32; 3]], variance: f64) -> Vec<[f32; 3]> {
    let (mut field, mut other) = (uploaded(shape, vectors), uploaded(shape, vectors));
    let [mut scratch, mut other_scratch] = Cpu.field_pair(shape).unwrap();
    Cpu.smooth_both_fields([&mut other, &mut field], variance, [&mut other_scratch, &mut scratch]).unwrap();
    assert_eq!(downloaded(&field), downloaded(&other), "both sides are smoothed alike");
    downloaded(&field)
}

fn downloaded(field: &Field) -> Vec<[f32; 3]> {
    Cpu.download_field(field).unwrap()
}

#[test]
fn vectors_are_turned_on_their_way_in_and_out() {
    let matrix = Matrix3::new(-1.0, 0.02, 0.1, 0.0, 1.1, -0.03, 0.05, 0.3, 2.5);
    for shape in SHAPES {
        let vectors = scene::rough_field(shape, 2.5, 8);
        let turned = |vector: &[f32; 3]| -> [f64; 3] {
            std::array::from_fn(|row| {
                (0..3).map(|column| f64::from(matrix[(row, column)] as f32) * f64::from(vector[column])).sum()
            })
        };
        let expected = || vectors.iter().flat_map(turned);
        let matrix = matrix.cast();
        let in_voxels = downloaded(&Cpu.upload_field_in(shape, &vectors, &matrix).unwrap());
        let in_millimetres = Cpu.download_field_in(&uploaded(shape, &vectors), &matrix, None).unwrap();
        for found in [in_voxels, in_millimetres] {
            // The tolerance is the rounding error of three products of up to 7 in single precision.
            assert!(worst(found.as_flattened(), expected()) < 2e-6, "shape {shape:?}");
        }
    }
}

#[test]
fn fields_are_rounded_in_millimetres() {
    let to_mm = Matrix3::new(-1.0, 0.02, 0.1, 0.0, 1.1, -0.03, 0.05, 0.3, 2.5);
    let (there, back) = (to_mm.cast(), to_mm.try_inverse().unwrap().cast());
    let step = 0.25;
    for shape in SHAPES {
        let vectors = scene::rough_field(shape, 2.5, 9);
        let field = uploaded(shape, &vectors);
        let in_mm = |field, step| Cpu.download_field_in(field, &there, step).unwrap();
        let (exact, found) = (in_mm(&field, None), in_mm(&field, Some(step as f32)));
        let nearest = |value: &f32| (f64::from(*value) / step).round_ties_even() * step;
        assert!(found.as_flattened().iter().copied().map(f64::from).eq(exact.as_flattened().iter().map(nearest)));
        // `round_field` rounds displacements to multiples of the step in mm. So a download of its result in mm must not
        // round anything.
        let rounded = Cpu.round_field(&field, [&there, &back], step as f32).unwrap();
        let expected = found.iter().flat_map(|mm| {
            let voxels = to_mm.try_inverse().unwrap() * nalgebra::Vector3::from(mm.map(f64::from));
            <[f64; 3]>::from(voxels)
        });
        // The tolerance is the rounding error of three products of up to 7 in single precision.
        assert!(worst(downloaded(&rounded).as_flattened(), expected) < 2e-6, "shape {shape:?}");
        assert_eq!(in_mm(&rounded, Some(step as f32)), found);
    }
}

#[test]
fn components_are_compressed_one_after_the_other() {
    let matrix = Matrix3::new(-1.0, 0.02, 0.1, 0.0, 1.1, -0.03, 0.05, 0.3, 2.5);
    for shape in SHAPES {
        let field = uploaded(shape, &scene::rough_field(shape, 2.5, 8));
        for factors in [[-1.0, -2.0, 1.0].as_slice(), &[-1.0, 3.0]] {
            let vectors = Cpu.download_field_in(&field, &matrix, Some(0.25)).unwrap();
            let found = Cpu.deflate_field_in(&field, &matrix, Some(0.25), factors).unwrap();
            let mut bytes = Vec::new();
            flate2::read::DeflateDecoder::new(found.bytes.as_slice()).read_to_end(&mut bytes).unwrap();
            let numbers = bytes.as_chunks().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes)));
            let expected = (0..factors.len()).flat_map(|axis| {
                // A product of a number of few bits and a small integer has no rounding error.
                vectors.iter().map(move |vector| f64::from(factors[axis]) * f64::from(vector[axis]))
            });
            assert!(numbers.eq(expected), "shape {shape:?}");
            assert_eq!(found.count, factors.len() * vectors.len());
        }
    }
}

#[test]
fn smoothing_fields_has_itks_border_and_blend() {
    for shape in SHAPES.into_iter().chain([[1, 9, 7]]) {
        for variance in [0.0, 0.3, 3.0] {
            let vectors = scene::rough_field(shape, 1.0, 5);
            let found = smoothed(shape, &vectors, variance);
            for component in 0..3 {
                let before: Vec<f64> = vectors.iter().map(|v| f64::from(v[component])).collect();
                let variances = shape.map(|n| if n > 1 { variance } else { 0.0 });
                let smoothed = naive::smooth(&before, shape, variances);
                let weight = f64::min(variance / 0.5, 1.0);
                let expected = voxels(shape).map(|voxel| {
                    let at = index(shape, voxel);
                    match variance {
                        0.0 => before[at],
                        _ if on_border(shape, voxel) => 0.0,
                        _ => weight * smoothed[at] + (1.0 - weight) * before[at],
                    }
                });
                let found: Vec<f32> = found.iter().map(|v| v[component]).collect();
                assert!(worst(&found, expected) < 2e-6, "shape {shape:?}, variance {variance}");
            }
        }
    }
}

#[test]
fn updates_are_measured_and_added() {
    for shape in SHAPES {
        let (first, other) = (scene::rough_field(shape, 2.5, 8), scene::rough_field(shape, 0.4, 9));
        let square: f64 = first.iter().flatten().map(|c| f64::from(*c).powi(2)).sum();
        let mut field = uploaded(shape, &first);
        // The tolerance is small, because the computed magnitude of the field and the expected one are both square
        // roots of sums in double precision.
        assert!((Cpu.magnitude(&field).unwrap() / square.sqrt() - 1.0).abs() < 1e-12, "shape {shape:?}");
        Cpu.add_scaled(&mut field, &uploaded(shape, &other), -1.7).unwrap();
        let expected = first.iter().flatten().zip(other.iter().flatten());
        let expected = expected.map(|(a, b)| f64::from(*a) - 1.7 * f64::from(*b));
        // The tolerance allows for three roundings to single precision: of the scale, the product and the sum.
        assert!(worst(downloaded(&field).as_flattened(), expected) < 1e-6, "shape {shape:?}");
    }
    assert_eq!(Cpu.magnitude(&Cpu.field(SHAPES[0]).unwrap()).unwrap(), 0.0);
}

#[test]
fn compose_and_advance_follow_the_displaced_point() {
    for shape in SHAPES {
        let (first, then) = (scene::rough_field(shape, 2.5, 6), scene::rough_field(shape, 1.5, 7));
        let longest_of = |vectors: &[[f32; 3]]| {
            vectors.iter().map(|v| v.iter().map(|c| f64::from(c * c)).sum::<f64>().sqrt()).fold(0.0, f64::max)
        };
        let longest = longest_of(&then);
        let (first_field, then_field) = (uploaded(shape, &first), uploaded(shape, &then));
        let mut composed = uploaded(shape, &first);
        Cpu.compose(&mut composed, &then_field).unwrap();
        // The operation advances two displacement fields in one call, each along its own update. In this test, each of
        // the two fields is the update of the other.
        let other_longest = longest_of(&first);
        let [mut advanced, mut other] = [uploaded(shape, &first), uploaded(shape, &then)];
        Cpu.advance_both([&mut advanced, &mut other], [&then_field, &first_field], -0.3).unwrap();
        for (field, scale, from, along) in [
            (composed, 1.0, &first, &then),
            (advanced, -0.3 / longest, &first, &then),
            (other, -0.3 / other_longest, &then, &first),
        ] {
            let expected = voxels(shape).zip(from).flat_map(|(voxel, u)| {
                let v = field_at(along, shape, displaced(voxel, *u));
                std::array::from_fn::<_, 3, _>(|axis| f64::from(u[axis]) + scale * v[axis])
            });
            assert!(worst(downloaded(&field).as_flattened(), expected) < INTERPOLATION, "shape {shape:?}");
        }
    }
}

#[test]
fn advancing_by_nothing_changes_nothing() {
    let shape = SHAPES[0];
    let vectors = scene::rough_field(shape, 2.0, 8);
    let (field, nothing) = (uploaded(shape, &vectors), Cpu.field(shape).unwrap());
    let [mut still, mut moved] = [0, 1].map(|_| uploaded(shape, &vectors));
    Cpu.advance_both([&mut still, &mut moved], [&nothing, &field], 0.3).unwrap();
    assert_eq!(downloaded(&still), vectors);
    assert_ne!(downloaded(&moved), vectors);
}

#[test]
fn invert_finds_the_inverse_even_where_space_is_stretched() {
    let limits = InversionLimits { steps: 20, tolerance_voxels: 0.01, untouched_voxels: 0.0 };
    for shape in SHAPES {
        // With a steepness of 0.4, the derivatives of the field are small. With 0.6, some derivatives exceed 1, and a
        // plain fixed-point iteration diverges.
        for steepness in [0.4, 0.6] {
            let field = uploaded(shape, &scene::smooth_field(shape, steepness));
            let mut jacobian = Cpu.image(shape).unwrap();
            Cpu.jacobian_determinant(&field, &mut jacobian).unwrap();
            let folded = Cpu.download(&jacobian).unwrap().into_iter().fold(f32::INFINITY, f32::min);
            assert!(folded > 0.05, "the field has no inverse: its smallest Jacobian is {folded}");
            let mut inverse = Cpu.field(shape).unwrap();
            let before = Cpu.inverse_consistency(&inverse, &field, None).unwrap();
            Cpu.invert(&field, &mut inverse, &limits).unwrap();
            let after = Cpu.inverse_consistency(&inverse, &field, None).unwrap();
            assert!(before.largest_voxels > 0.3, "{before:?}: the field should move something");
            assert!(after.largest_voxels < 0.02, "{after:?} for shape {shape:?}, steepness {steepness}");
        }
    }
}

#[test]
fn resize_brings_vectors_to_another_grid() {
    let (coarse, fine) = ([9, 11, 7], [18, 22, 15]);
    let vectors = scene::rough_field(coarse, 1.0, 11);
    let map = AffineTransform {
        matrix: Matrix3::from_diagonal(&Vector3::new(0.5, 0.5, 0.48)),
        translation: Vector3::new(-0.25, -0.25, 0.1),
    };
    let matrix = Matrix3::new(2.0, 0.1, -0.2, 0.0, -2.0, 0.3, 0.4, 0.0, 2.1);
    let mut out = Cpu.field(fine).unwrap();
    Cpu.resize_field(&uploaded(coarse, &vectors), &map, &matrix, &mut out).unwrap();
    let expected = voxels(fine).flat_map(|voxel| {
        let v = field_at(&vectors, coarse, naive::apply(&map, voxel.map(|i| i as f64)));
        <[f64; 3]>::from(matrix * Vector3::from(v))
    });
    assert!(worst(downloaded(&out).as_flattened(), expected) < INTERPOLATION);
}

#[test]
fn on_its_own_grid_a_field_is_multiplied_by_the_matrix_and_by_nothing_else() {
    for shape in SHAPES {
        let vectors = scene::rough_field(shape, 3.0, 12);
        let field = uploaded(shape, &vectors);
        let turned = |matrix: &Matrix3<f64>| {
            let mut out = Cpu.field(shape).unwrap();
            Cpu.resize_field(&field, &AffineTransform::identity(), matrix, &mut out).unwrap();
            downloaded(&out)
        };
        // The last voxel along an axis is interpolated as the end of a cell between two values a and b: a + 1·(b − a).
        // This expression has a rounding error; all other voxels are exact.
        let last = |voxel: [usize; 3]| (0..3).any(|axis| shape[axis] > 1 && voxel[axis] + 1 == shape[axis]);
        for held in 0..3 {
            let weights = Vector3::from_fn(|axis, _| if axis == held { 0.0 } else { 1.0 });
            for ((voxel, u), found) in voxels(shape).zip(&vectors).zip(turned(&Matrix3::from_diagonal(&weights))) {
                assert_eq!(found[held], 0.0, "shape {shape:?}, voxel {voxel:?}");
                for axis in (0..3).filter(|axis| *axis != held) {
                    let tolerance = if last(voxel) { 2e-6 } else { 0.0 };
                    assert!((found[axis] - u[axis]).abs() <= tolerance, "shape {shape:?}, voxel {voxel:?}");
                }
            }
        }
        let matrix = Matrix3::new(0.75, 0.4, -0.2, 0.1, 0.25, 0.3, -0.3, 0.5, 0.125);
        let expected = vectors.iter().flat_map(|u| <[f64; 3]>::from(matrix * Vector3::from(u.map(f64::from))));
        // The tolerance is the rounding error of sums of three products of up to 3 in single precision.
        assert!(worst(turned(&matrix).as_flattened(), expected) < 2e-6, "shape {shape:?}");
    }
}

#[test]
fn jacobian_is_the_determinant_of_the_derivatives() {
    for shape in SHAPES {
        let vectors = scene::rough_field(shape, 0.4, 12);
        let mut out = Cpu.image(shape).unwrap();
        Cpu.jacobian_determinant(&uploaded(shape, &vectors), &mut out).unwrap();
        let components: [Vec<f32>; 3] = std::array::from_fn(|c| vectors.iter().map(|v| v[c]).collect());
        let expected = voxels(shape).map(|voxel| {
            let rows = components.each_ref().map(|component| naive::gradient(component, shape, voxel));
            let derivative = Matrix3::from_fn(|row, column| rows[row][column]);
            (Matrix3::identity() + derivative).determinant()
        });
        // The tolerance is the rounding error of products of three numbers of at most 2 in single precision.
        assert!(worst(&Cpu.download(&out).unwrap(), expected) < 1e-5, "shape {shape:?}");
    }
}

#[test]
fn invert_leaves_alone_what_is_close_enough() {
    let shape = SHAPES[0];
    let field = uploaded(shape, &scene::smooth_field(shape, 0.3));
    let mut inverse = Cpu.field(shape).unwrap();
    let loose = InversionLimits { steps: 20, tolerance_voxels: 0.01, untouched_voxels: 0.2 };
    Cpu.invert(&field, &mut inverse, &loose).unwrap();
    let (moved, still): (Vec<[f32; 3]>, Vec<[f32; 3]>) = downloaded(&inverse).iter().partition(|v| **v != [0.0; 3]);
    assert!(!moved.is_empty() && !still.is_empty());
    let error = Cpu.inverse_consistency(&inverse, &field, None).unwrap();
    assert!(error.largest_voxels <= 0.2 + 1e-4, "{error:?}");
}

#[test]
fn the_inverse_is_zero_at_the_border() {
    let limits = InversionLimits { steps: 20, tolerance_voxels: 0.01, untouched_voxels: 0.0 };
    for shape in SHAPES {
        let field = uploaded(shape, &scene::rough_field(shape, 0.2, 13));
        let mut inverse = uploaded(shape, &scene::rough_field(shape, 0.2, 14));
        Cpu.invert(&field, &mut inverse, &limits).unwrap();
        for (voxel, v) in voxels(shape).zip(downloaded(&inverse)) {
            assert_eq!(v == [0.0; 3], on_border(shape, voxel), "{voxel:?} of {shape:?}");
        }
    }
}

#[test]
fn two_steps_of_an_inversion_are_plain_and_the_next_is_newtons() {
    let shape = [9, 8, 7];
    let vectors = scene::rough_field(shape, 0.25, 15);
    let residual = |voxel: [usize; 3], v: Vector3<f64>| {
        let reached = std::array::from_fn(|axis| voxel[axis] as f64 + v[axis]);
        v + Vector3::from(field_at(&vectors, shape, reached))
    };
    let mut farthest = 0.0_f64;
    for steps in [1, 2, 3] {
        let mut inverse = Cpu.field(shape).unwrap();
        let limits = InversionLimits { steps, tolerance_voxels: 0.0, untouched_voxels: 0.0 };
        Cpu.invert(&uploaded(shape, &vectors), &mut inverse, &limits).unwrap();
        for (voxel, found) in voxels(shape).zip(downloaded(&inverse)).filter(|(voxel, _)| !on_border(shape, *voxel)) {
            let mut expected = Vector3::zeros();
            for _ in 0..steps.min(2) {
                expected -= residual(voxel, expected);
            }
            if steps == 3 {
                // The derivative of v + u(x + v) in the cell of the point.
                let columns = [0, 1, 2].map(|axis| {
                    let h = Vector3::ith(axis, 1e-6);
                    (residual(voxel, expected + h) - residual(voxel, expected - h)) / 2e-6
                });
                let derivative = Matrix3::from_columns(&columns);
                assert!(derivative.determinant() > 0.05, "the step is Newton's at {voxel:?}");
                let plain = residual(voxel, expected);
                let step = derivative.try_inverse().unwrap() * plain;
                assert!(step.norm() < 1.0, "the step is not limited at {voxel:?}");
                expected -= step;
                farthest = farthest.max((step - plain).norm());
            }
            let error = (expected - Vector3::from(found.map(f64::from))).norm();
            assert!(error < INTERPOLATION, "{error} at {voxel:?} after {steps} steps");
        }
    }
    assert!(farthest > 100.0 * INTERPOLATION, "Newton's step is like a plain one: {farthest}");
}

#[test]
fn two_fields_are_inverted_as_each_alone() {
    let limits = InversionLimits { steps: 20, tolerance_voxels: 0.01, untouched_voxels: 0.0 };
    let shape = SHAPES[1];
    let fields = [0.3, 0.4].map(|steepness| uploaded(shape, &scene::smooth_field(shape, steepness)));
    let [mut first, mut second] = Cpu.field_pair(shape).unwrap();
    Cpu.invert_both(fields.each_ref(), [&mut first, &mut second], &limits).unwrap();
    for (field, found) in fields.iter().zip([first, second]) {
        let mut alone = Cpu.field(shape).unwrap();
        Cpu.invert(field, &mut alone, &limits).unwrap();
        assert_eq!(downloaded(&found), downloaded(&alone));
        assert!(downloaded(&found).iter().any(|v| *v != [0.0; 3]));
    }
}

#[test]
fn one_thread_advances_and_adds_a_column_of_voxels() {
    let shape = [1, 1, 60];
    let (first, then) = (scene::rough_field(shape, 2.5, 6), scene::rough_field(shape, 1.5, 7));
    let longest = then.iter().map(|v| Vector3::from(v.map(f64::from)).norm()).fold(0.0, f64::max);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (advanced, added) = pool.install(|| {
        let (mut field, update) = (uploaded(shape, &first), uploaded(shape, &then));
        let mut advanced = uploaded(shape, &first);
        Cpu.advance(&mut advanced, &update, 0.3).unwrap();
        Cpu.add_scaled(&mut field, &update, -1.7).unwrap();
        (downloaded(&advanced), downloaded(&field))
    });
    let expected = voxels(shape).zip(&first).flat_map(|(voxel, u)| {
        let v = field_at(&then, shape, displaced(voxel, *u));
        std::array::from_fn::<_, 3, _>(|axis| f64::from(u[axis]) + 0.3 / longest * v[axis])
    });
    assert!(worst(advanced.as_flattened(), expected) < INTERPOLATION);
    let expected = first.iter().flatten().zip(then.iter().flatten());
    // The tolerance allows for three roundings to single precision: of the scale, the product and the sum.
    assert!(worst(added.as_flattened(), expected.map(|(a, b)| f64::from(*a) - 1.7 * f64::from(*b))) < 1e-6);
}

#[test]
fn a_map_along_an_axis_is_a_weighted_sum_of_successive_vectors() {
    for shape in SHAPES {
        let vectors = scene::rough_field(shape, 2.0, 13);
        for axis in 0..3 {
            // Rows of different lengths, of which some begin near the end of the axis.
            let length = shape[axis];
            let rows: Vec<(usize, Vec<f64>)> = (0..length + 2)
                .map(|row| {
                    let first = row * 7 % length;
                    let weights = (0..(length - first).min(1 + row % 5)).map(|k| 0.3 - 0.1 * (k + row) as f64 % 0.7);
                    (first, weights.collect())
                })
                .collect();
            let map = AxisMap::new(length, &rows).unwrap();
            let mut out = Cpu.field(map.mapped(shape, axis)).unwrap();
            Cpu.map_axis(&uploaded(shape, &vectors), axis, &Cpu.axis_map(&map).unwrap(), &mut out).unwrap();
            let expected = voxels(map.mapped(shape, axis)).flat_map(|voxel| {
                let (first, weights) = &rows[voxel[axis]];
                let mut sum = [0.0; 3];
                for (k, weight) in weights.iter().enumerate() {
                    let mut from = voxel;
                    from[axis] = first + k;
                    let vector = vectors[index(shape, from)];
                    (0..3).for_each(|c| sum[c] += weight * f64::from(vector[c]));
                }
                sum
            });
            // The tolerance is the rounding error of five products of up to 1 in single precision.
            assert!(worst(downloaded(&out).as_flattened(), expected) < 2e-6, "shape {shape:?}, axis {axis}");
        }
    }
}

#[test]
fn a_map_that_does_not_fit_is_refused() {
    for (length, rows) in [(3, vec![]), (0, vec![(0, vec![])]), (3, vec![(1, vec![1.0; 3])])] {
        assert!(matches!(AxisMap::new(length, &rows), Err(Error::AxisMap { .. })), "{length} {rows:?}");
    }
    let map = AxisMap::new(4, &[(0, vec![1.0]), (3, vec![1.0])]).unwrap();
    let field = uploaded([4, 5, 3], &[[1.0; 3]; 60]);
    let mut out = Cpu.field([2, 5, 3]).unwrap();
    assert!(Cpu.map_axis(&field, 0, &map, &mut out).is_ok());
    assert!(matches!(Cpu.map_axis(&field, 1, &map, &mut out), Err(Error::AxisMap { .. })));
    assert!(matches!(Cpu.map_axis(&field, 3, &map, &mut out), Err(Error::AxisMap { .. })));
    let mut other = Cpu.field([2, 5, 4]).unwrap();
    assert!(matches!(Cpu.map_axis(&field, 0, &map, &mut other), Err(Error::Shape { .. })));
}
