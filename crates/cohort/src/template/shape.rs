//! The update of a template's shape: where each of its points comes from, and what that makes of the subjects' transforms.

use antsreg_core::same_grid::{GridMismatch, same_grid};
use antsreg_core::{AffineTransform, DisplacementField, Grid};
use nalgebra::{Point3, Vector3};
use rayon::prelude::*;

use super::StretchError;

/// How far a template goes towards the mean shape of its subjects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShapeStep {
    /// Share of the mean warp that one step undoes.
    pub gradient: f64,
    /// Steps, each reading the mean warp where the last one led.
    pub times: usize,
}

/// ANTs' own: a quarter, four times.
impl Default for ShapeStep {
    fn default() -> Self {
        ShapeStep { gradient: 0.25, times: 4 }
    }
}

/// Where points of the new template lie in the old one, as displacements on the old one's grid, mm.
///
/// The mean subject lies at Ū(x + w̄(x)), Ū the mean stretch and w̄ the mean warp, and its inverse brings the template there:
/// y ↦ Ū⁻¹y, then `times` steps p ↦ p − gradient·w̄(p). (ANTs resamples w̄ by the affine before it does so; here the points
/// are in the space of w̄ already.)
pub fn shape_update(
    stretch: &AffineTransform,
    mean_warp: &DisplacementField,
    step: ShapeStep,
) -> Result<DisplacementField, StretchError> {
    let inverse = stretch.inverse().ok_or(StretchError::Singular(0))?;
    let warp = mean_warp.sampler();
    Ok(on_grid(&mean_warp.grid, |_, y| {
        let mut p = inverse.apply(&y);
        for _ in 0..step.times {
            p -= step.gradient * warp.at(&p);
        }
        p - y
    }))
}

/// A subject's transform from the old template (affine after `warp`) → the same from the new one.
///
/// affine ∘ (id + warp) ∘ shape, split so that the affine keeps the subject's own stretch relative to the mean and the warp
/// stays small: affine ∘ Ū⁻¹, and Ū ∘ (id + warp) ∘ shape.
pub fn from_new_template(
    affine: &AffineTransform,
    warp: &DisplacementField,
    stretch: &AffineTransform,
    shape: &DisplacementField,
) -> Result<(AffineTransform, DisplacementField), CarryError> {
    same_grid("the warp and the shape update", &warp.grid, &shape.grid)?;
    let inverse = stretch.inverse().ok_or(StretchError::Singular(0))?;
    let sampler = warp.sampler();
    let carried = on_grid(&shape.grid, |n, y| {
        let p = y + Vector3::from(shape.vectors[n].map(f64::from));
        stretch.apply(&(p + sampler.at(&p))) - y
    });
    Ok((affine.after(&inverse), carried))
}

/// Why transforms cannot be carried on.
#[derive(Debug, thiserror::Error)]
pub enum CarryError {
    /// The warp belongs to another template.
    #[error(transparent)]
    Grid(#[from] GridMismatch),
    /// The mean stretch has no inverse.
    #[error(transparent)]
    Stretch(#[from] StretchError),
}

/// A field of `displacement(voxel, its world position)`.
pub(super) fn on_grid(
    grid: &Grid,
    displacement: impl Fn(usize, Point3<f64>) -> Vector3<f64> + Sync,
) -> DisplacementField {
    let mut field = DisplacementField::zeros(grid.clone());
    change(&mut field, |n, x, _| displacement(n, x));
    field
}

/// Replaces every vector by `displacement(voxel, its world position, the vector)`.
pub(super) fn change(
    field: &mut DisplacementField,
    displacement: impl Fn(usize, Point3<f64>, Vector3<f64>) -> Vector3<f64> + Sync,
) {
    let [nx, ny, _] = field.grid.shape;
    let to_world = field.grid.voxel_to_world();
    field.vectors.par_chunks_exact_mut(nx).enumerate().with_min_len(16).for_each(|(row, vectors)| {
        let (j, k) = ((row % ny) as f64, (row / ny) as f64);
        for (i, vector) in vectors.iter_mut().enumerate() {
            let world = to_world.apply(&Point3::new(i as f64, j, k));
            let changed = displacement(row * nx + i, world, Vector3::from(vector.map(f64::from)));
            *vector = changed.map(|c| c as f32).into();
        }
    });
}

#[cfg(test)]
mod tests {
    use nalgebra::{Matrix3, Rotation3};

    use super::*;

    fn oblique(shape: [usize; 3]) -> Grid {
        let direction = Rotation3::from_euler_angles(0.3, -0.2, 0.4).into_inner();
        let spacing = Vector3::new(1.3, 0.8, 2.1);
        Grid { shape, spacing, origin: Point3::new(-4.0, 11.0, 3.0), direction }
    }

    /// A smooth warp that vanishes near the border.
    fn bump(grid: &Grid, height: [f64; 3]) -> DisplacementField {
        let centre = grid.centre();
        on_grid(grid, |_, x| Vector3::from(height) * (-(x - centre).norm_squared() / 20.0).exp())
    }

    fn world(grid: &Grid, n: usize) -> Point3<f64> {
        let [nx, ny, _] = grid.shape;
        grid.voxel_to_world().apply(&Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / (nx * ny)) as f64))
    }

    fn stretch(grid: &Grid) -> AffineTransform {
        let matrix = Matrix3::new(1.05, 0.02, 0.0, 0.02, 0.97, -0.01, 0.0, -0.01, 1.02);
        let centre = grid.centre().coords;
        AffineTransform { matrix, translation: centre - matrix * centre }
    }

    #[test]
    fn a_stretch_alone_is_undone_exactly() {
        let grid = oblique([9, 11, 7]);
        let stretch = stretch(&grid);
        let zero = DisplacementField::zeros(grid.clone());
        let shape = shape_update(&stretch, &zero, ShapeStep::default()).expect("an inverse");
        for n in 0..grid.len() {
            let y = world(&grid, n);
            let there = y + Vector3::from(shape.vectors[n].map(f64::from));
            // Vectors of a millimetre, kept in single precision.
            assert!((stretch.apply(&there) - y).norm() < 1e-6);
        }
    }

    #[test]
    fn a_mean_warp_is_undone_step_by_step() {
        let grid = oblique([21, 25, 13]);
        let warp = bump(&grid, [0.6, -0.4, 0.3]);
        let step = ShapeStep { gradient: 0.25, times: 4 };
        let shape = shape_update(&AffineTransform::identity(), &warp, step).expect("an inverse");
        let (mut before, mut after) = (0.0f64, 0.0f64);
        for n in 0..grid.len() {
            let y = world(&grid, n);
            let mut naive = y;
            (0..4).for_each(|_| naive -= 0.25 * warp.at(&naive));
            let p = y + Vector3::from(shape.vectors[n].map(f64::from));
            assert!((p - naive).norm() < 1e-6);
            before = before.max(warp.at(&y).norm());
            after = after.max((p + warp.at(&p) - y).norm());
        }
        // Quarter steps miss the inverse by terms of second order: about the slope of the warp, here up to 0.15.
        assert!(after < 0.15 * before, "{after} of {before} is left");
    }

    #[test]
    fn carried_transforms_lead_where_the_old_ones_did() {
        let grid = oblique([17, 15, 11]);
        let (warp, mean) = (bump(&grid, [1.0, 0.5, -0.5]), bump(&grid, [0.3, 0.2, 0.1]));
        let turn = Rotation3::from_euler_angles(0.2, 0.5, -0.1).into_inner();
        let affine = AffineTransform { matrix: turn * 1.1, translation: Vector3::new(40.0, -20.0, 5.0) };
        let stretch = stretch(&grid);
        let shape = shape_update(&stretch, &mean, ShapeStep::default()).expect("an inverse");
        let (new_affine, new_warp) = from_new_template(&affine, &warp, &stretch, &shape).expect("one grid");
        for n in 0..grid.len() {
            let y = world(&grid, n);
            let old = y + Vector3::from(shape.vectors[n].map(f64::from));
            let expected = affine.apply(&(old + warp.at(&old)));
            let found = new_affine.apply(&(y + Vector3::from(new_warp.vectors[n].map(f64::from))));
            // One rounding to single precision.
            assert!((found - expected).norm() < 1e-5);
        }
        let elsewhere = DisplacementField::zeros(oblique([5, 5, 5]));
        assert!(from_new_template(&affine, &elsewhere, &stretch, &shape).is_err());
    }

    #[test]
    fn warps_that_cancel_leave_the_template_alone_and_their_mean_becomes_zero() {
        let grid = oblique([21, 25, 13]);
        let warps = [bump(&grid, [1.0, 0.2, 0.0]), bump(&grid, [-0.2, 0.2, 0.4])];
        let mut mean = crate::template::means::WarpMean::new(&grid);
        warps.iter().for_each(|warp| mean.add(warp).expect("one grid"));
        let mean = mean.finish();
        let identity = AffineTransform::identity();
        let shape = shape_update(&identity, &mean, ShapeStep::default()).expect("an inverse");
        let mut after = crate::template::means::WarpMean::new(&grid);
        for warp in &warps {
            let (_, carried) = from_new_template(&identity, warp, &identity, &shape).expect("one grid");
            after.add(&carried).expect("one grid");
        }
        assert!(after.finish().longest_mm() < 0.15 * mean.longest_mm());
    }
}
