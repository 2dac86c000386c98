//! Inversion of a displacement field by fixed-point and Newton steps, for each voxel on its own.

mod row;

use super::newton::{PLAIN_STEPS, newton};
use super::residual::squared_length;
use crate::InversionLimits;
use crate::cpu::blocks::each_row_with;
use crate::cpu::field::{Field, FieldSampler, lanes, on_edge, vector};
use crate::cpu::points::Points;
use row::Row;

/// Improves `inverse`, the inverse v of a field u, until u(x + v(x)) + v(x) is within the limits at each voxel.
pub(in crate::cpu) fn invert(field: &Field, inverse: &mut Field, limits: &InversionLimits) {
    let [_, ny, nz] = field.shape;
    let sampler = field.sampler();
    each_row_with(
        inverse.vectors_mut(),
        field.shape,
        Row::new,
        #[inline(always)]
        |row, [j, k], vectors| {
            if on_edge([0, j, k], [1, ny, nz]) {
                return vectors.fill([0.0; 3]);
            }
            // Both ends of a row are at the border, unless the axis has one voxel.
            let inner = match vectors {
                [only] => std::slice::from_mut(only),
                [first, inner @ .., last] => {
                    (*first, *last) = ([0.0; 3], [0.0; 3]);
                    inner
                }
                [] => return,
            };
            let begin = usize::from(field.shape[0] > 1);
            for (n, vectors) in inner.chunks_mut(Points::MOST).enumerate() {
                row.run(&sampler, [begin + n * Points::MOST, j, k], vectors, limits);
            }
        },
    );
}

/// Computes the inverse displacement at one voxel, starting from `start`; zero on the border.
#[inline(always)]
pub(in crate::cpu) fn inverse_at(
    sampler: &FieldSampler,
    shape: [usize; 3],
    at: [usize; 3],
    start: [f32; 3],
    limits: &InversionLimits,
) -> [f32; 3] {
    if on_edge(at, shape) {
        return [0.0; 3];
    }
    invert_at(sampler, at.map(|n| n as f32), start, limits)
}

/// Computes the inverse displacement at one voxel by fixed-point steps, then Newton steps.
#[inline(always)]
fn invert_at(sampler: &FieldSampler, point: [f32; 3], start: [f32; 3], limits: &InversionLimits) -> [f32; 3] {
    let (point, mut v) = (lanes(point), lanes(start));
    let tolerance = limits.tolerance_voxels * limits.tolerance_voxels;
    let untouched = limits.untouched_voxels * limits.untouched_voxels;
    for step in 0..limits.steps {
        let reached = point + v;
        let residual = sampler.at(reached) + v;
        let squared = squared_length(residual);
        if step == 0 && squared <= untouched {
            break;
        }
        let close = squared <= tolerance;
        v -= if close || step < PLAIN_STEPS {
            residual
        } else {
            let [x, y, z] = sampler.derivative(reached);
            lanes(newton([vector(x), vector(y), vector(z)], vector(residual)))
        };
        if close {
            break;
        }
    }
    vector(v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_voxels_get_the_inverse_that_each_of_them_gets_alone() {
        let limits = [(1, 0.0, 0.0), (20, 0.03, 0.0), (50, 0.005, 0.3)];
        let limits = limits.map(|(steps, tolerance_voxels, untouched_voxels)| InversionLimits {
            steps,
            tolerance_voxels,
            untouched_voxels,
        });
        for (nx, limits) in [1, 2, 3, 66, 130].into_iter().flat_map(|nx| limits.map(|limits| (nx, limits))) {
            let shape = [nx, 6, 5];
            let wave = |at: [usize; 3], phase: f32| {
                let [x, y, z] = at.map(|n| n as f32);
                [0.9 * (0.5 * x + phase).sin(), 0.6 * (x + y + phase).cos(), 0.8 * (0.7 * z - 0.3 * x + phase).sin()]
            };
            let field = |phase: f32| {
                let mut field = Field::zeros(shape);
                let at = |n: usize| [n % nx, n / nx % 6, n / nx / 6];
                field.vectors_mut().iter_mut().enumerate().for_each(|(n, vector)| *vector = wave(at(n), phase));
                field
            };
            let (field, start) = (field(0.0), field(2.9));
            let mut inverse = start.clone();
            invert(&field, &mut inverse, &limits);
            let alone: Vec<[f32; 3]> = (0..nx * 30)
                .map(|n| {
                    let at = [n % nx, n / nx % 6, n / nx / 6];
                    inverse_at(&field.sampler(), shape, at, start.vectors()[n], &limits)
                })
                .collect();
            assert_eq!(inverse.vectors(), alone, "{nx} voxels, {limits:?}");
        }
    }

    fn scaling(x: f32, y: f32, z: f32) -> [[f32; 3]; 3] {
        [[x - 1.0, 0.0, 0.0], [0.0, y - 1.0, 0.0], [0.0, 0.0, z - 1.0]]
    }

    #[test]
    fn where_the_derivative_is_nearly_singular_half_the_residual_is_taken() {
        let residual = [0.25, -0.5, 0.125];
        assert_eq!(newton(scaling(1.0, 1.0, 0.0), residual), [0.125, -0.25, 0.0625]);
        assert_eq!(newton(scaling(1.0, 1.0, 0.005), residual), [0.125, -0.25, 0.0625]);
        assert_eq!(newton(scaling(1.0, 1.0, -0.005), residual), [0.125, -0.25, 0.0625]);
        // From a determinant of 0.01 on, the step is Newton's. 1/64 and 0.64 − 1 have exact binary forms.
        let y = 1.0 / 64.0;
        assert_eq!(scaling(1.0, y, 0.64)[1][1] + 1.0, y);
        let determinant = (scaling(1.0, y, 0.64)[2][2] + 1.0) * y;
        assert_eq!(determinant, 0.01);
        for z in [0.64, 0.8, -0.8] {
            let step = newton(scaling(1.0, y, z), [0.25, 0.25 * y, 0.125 * z]);
            [0.25, 0.25, 0.125].into_iter().zip(step).for_each(|(expected, found)| {
                assert!((found - expected).abs() < 1e-6, "{step:?} at {z}");
            });
        }
    }

    #[test]
    fn newton_steps_are_at_most_one_voxel_long() {
        let step = newton(scaling(1.0, 1.0, 1.0), [3.0, 0.0, -4.0]);
        [0.6, 0.0, -0.8].into_iter().zip(step).for_each(|(expected, found): (f32, f32)| {
            assert!((found - expected).abs() < 1e-6, "{step:?}");
        });
        assert_eq!(newton(scaling(1.0, 1.0, 2.0), [0.25, 0.0, 0.5]), [0.25, 0.0, 0.25]);
    }
}
