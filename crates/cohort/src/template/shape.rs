//! The shape update of a template: the map from points of the new template to points of the old one, and the transforms
//! from points of the new template to points of the subjects. All are computed on a device, as fields in voxels of the
//! template's grid.

use antsreg_core::{AffineTransform, DisplacementField, Grid};
use antsreg_kernels::{Backend, Error};
use nalgebra::{Matrix3, Point3, Vector3};

use super::StretchError;

/// Options of the update that moves a template towards the mean shape of its subjects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShapeStep {
    /// Share of the mean warp that one step removes from the template, 0 to 1.
    pub gradient: f64,
    /// Number of steps by which a point is moved against the mean warp of the subjects. Each step reads the mean warp
    /// at the position to which the previous step has moved the point.
    pub times: usize,
}

/// The defaults of the update that moves a template towards the mean shape of its subjects. They are those of ANTs:
/// four steps, each of which removes a quarter of the mean warp from the template.
impl Default for ShapeStep {
    fn default() -> Self {
        ShapeStep { gradient: 0.25, times: 4 }
    }
}

/// The map from points of the new template to points of the old template.
///
/// Ū is the mean stretch matrix of the subjects, and w̄ is their mean warp. On average, the subjects' transforms map a
/// point x of the old template to Ū(x + w̄(x)). The returned map is an approximate inverse of this average. First y is
/// mapped to Ū⁻¹y, then several steps follow: p ↦ p − s·w̄(p). Here s is the share of the mean warp that one step
/// removes; `step` has s and the number of steps. ANTs first resamples w̄ by the affine map. This is not needed here,
/// because Ū⁻¹ maps points into the space of w̄.
pub fn shape_update<B: Backend>(
    backend: &B,
    grid: &Grid,
    stretch: &AffineTransform,
    mean_warp: Option<&DisplacementField>,
    step: ShapeStep,
) -> Result<B::Field, ShapeError> {
    let inverse = stretch.inverse().ok_or(StretchError::Singular(0))?;
    let mut shape = affine_field(backend, grid, &inverse)?;
    let Some(warp) = mean_warp else { return Ok(shape) };
    let back = -step.gradient * grid.world_to_voxel().matrix;
    let back = backend.upload_field_in(grid.shape, &warp.vectors, &back.cast())?;
    for _ in 0..step.times {
        backend.compose(&mut shape, &back)?;
    }
    Ok(shape)
}

/// Returns a subject's transform from the new template, given its transform from the old template (`warp`, then
/// `affine`).
///
/// The whole transform is affine ∘ (id + warp) ∘ shape. Here `shape` maps points of the new template to points of the
/// old template, and Ū (`stretch`) is the mean stretch matrix of the subjects. The transform is split so that its
/// affine part keeps the subject's own stretch relative to the mean, and its warp stays small: the affine part is
/// affine ∘ Ū⁻¹, the warp is Ū ∘ (id + warp) ∘ shape.
pub fn from_new_template<B: Backend>(
    backend: &B,
    grid: &Grid,
    affine: &AffineTransform,
    warp: &B::Field,
    stretch: &AffineTransform,
    shape: &B::Field,
) -> Result<(AffineTransform, B::Field), ShapeError> {
    let inverse = stretch.inverse().ok_or(StretchError::Singular(0))?;
    let mut joined = backend.field(grid.shape)?;
    backend.add_scaled(&mut joined, shape, 1.0)?;
    backend.compose(&mut joined, warp)?;
    Ok((affine.after(&inverse), before_affine(backend, grid, &joined, stretch)?))
}

/// The displacement field of `map` ∘ (id + field): the field first, then the affine map.
pub(super) fn before_affine<B: Backend>(
    backend: &B,
    grid: &Grid,
    field: &B::Field,
    map: &AffineTransform,
) -> Result<B::Field, Error> {
    let mut carried = affine_field(backend, grid, map)?;
    let mut turned = backend.field(grid.shape)?;
    backend.resize_field(field, &AffineTransform::identity(), &in_voxels(grid, map).matrix, &mut turned)?;
    backend.add_scaled(&mut carried, &turned, 1.0)?;
    Ok(carried)
}

/// An affine map of world coordinates, expressed in voxels of a grid.
fn in_voxels(grid: &Grid, map: &AffineTransform) -> AffineTransform {
    grid.world_to_voxel().after(map).after(&grid.voxel_to_world())
}

/// An affine map as a displacement field on a grid. The field is exact at the corners of the grid and interpolated
/// linearly in between.
fn affine_field<B: Backend>(backend: &B, grid: &Grid, map: &AffineTransform) -> Result<B::Field, Error> {
    let map = in_voxels(grid, map);
    let last = grid.shape.map(|voxels| voxels as f64 - 1.0);
    let displacement = |corner: usize| {
        let at = Point3::from(Vector3::from_fn(|axis, _| (corner >> axis & 1) as f64 * last[axis]));
        (map.apply(&at) - at).map(|component| component as f32).into()
    };
    let corners: Vec<[f32; 3]> = (0..8).map(displacement).collect();
    let corners = backend.upload_field([2; 3], &corners)?;
    // An axis with one voxel has index 0 only, so every share is right.
    let share = Vector3::from(last.map(|last| last.max(1.0).recip()));
    let to_corners = AffineTransform { matrix: Matrix3::from_diagonal(&share), translation: Vector3::zeros() };
    let mut field = backend.field(grid.shape)?;
    backend.resize_field(&corners, &to_corners, &Matrix3::identity(), &mut field)?;
    Ok(field)
}

/// Reason why the shape of a template cannot be updated.
#[derive(Debug, thiserror::Error)]
pub enum ShapeError {
    /// The mean stretch matrix of the subjects cannot be computed, or has no inverse.
    #[error(transparent)]
    Stretch(#[from] StretchError),
    /// A device failed.
    #[error(transparent)]
    Device(#[from] Error),
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::Cpu;
    use antsreg_kernels::ops::Memory;
    use nalgebra::Rotation3;

    use super::*;

    /// A test field with the vectors `displacement(world position)` on a grid.
    fn on_grid(grid: &Grid, displacement: impl Fn(Point3<f64>) -> Vector3<f64>) -> DisplacementField {
        let vectors = (0..grid.len()).map(|n| displacement(world(grid, n)).map(|c| c as f32).into()).collect();
        DisplacementField { grid: grid.clone(), vectors }
    }

    fn oblique(shape: [usize; 3]) -> Grid {
        let direction = Rotation3::from_euler_angles(0.3, -0.2, 0.4).into_inner();
        let spacing = Vector3::new(1.3, 0.8, 2.1);
        Grid { shape, spacing, origin: Point3::new(-4.0, 11.0, 3.0), direction }
    }

    /// A smooth test warp that vanishes near the border of the grid.
    fn bump(grid: &Grid, height: [f64; 3]) -> DisplacementField {
        let centre = grid.centre();
        on_grid(grid, |x| Vector3::from(height) * (-(x - centre).norm_squared() / 20.0).exp())
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

    type OnCpu = <Cpu as Memory>::Field;

    fn upload(field: &DisplacementField) -> OnCpu {
        let to_voxels = field.grid.world_to_voxel().matrix.cast();
        Cpu.upload_field_in(field.grid.shape, &field.vectors, &to_voxels).expect("it fits")
    }

    fn download(grid: &Grid, field: &OnCpu) -> DisplacementField {
        let vectors = Cpu.download_field_in(field, &grid.voxel_to_world().matrix.cast(), None).expect("it fits");
        DisplacementField { grid: grid.clone(), vectors }
    }

    fn update(grid: &Grid, stretch: &AffineTransform, warp: Option<&DisplacementField>) -> OnCpu {
        shape_update(&Cpu, grid, stretch, warp, ShapeStep::default()).expect("an inverse")
    }

    fn carry(
        affine: &AffineTransform,
        warp: &DisplacementField,
        stretch: &AffineTransform,
        shape: &OnCpu,
    ) -> (AffineTransform, DisplacementField) {
        let carried = from_new_template(&Cpu, &warp.grid, affine, &upload(warp), stretch, shape);
        let (affine, carried) = carried.expect("an inverse");
        (affine, download(&warp.grid, &carried))
    }

    /// World position to which a displacement field moves voxel `n`.
    fn moved(field: &DisplacementField, n: usize) -> Point3<f64> {
        world(&field.grid, n) + Vector3::from(field.vectors[n].map(f64::from))
    }

    /// The displacement of a field at a point. Outside the grid, the value of the nearest border voxel is used.
    fn at(field: &DisplacementField, point: &Point3<f64>) -> Vector3<f64> {
        let index = field.grid.world_to_voxel().apply(point);
        let last = Vector3::from(field.grid.shape.map(|voxels| voxels as f64 - 1.0));
        field.at_voxel(&Point3::from(index.coords.zip_map(&last, |index, last| index.clamp(0.0, last))))
    }

    /// Largest accepted error of positions in the tests, mm: the rounding error in single precision of coordinates up
    /// to 25 voxels of up to 2 mm, after a few operations.
    const ROUNDING_MM: f64 = 2e-5;

    #[test]
    fn a_stretch_alone_is_undone() {
        for shape in [[9, 11, 7], [9, 1, 7]] {
            let grid = oblique(shape);
            let stretch = stretch(&grid);
            let shape = download(&grid, &update(&grid, &stretch, None));
            for n in 0..grid.len() {
                assert!((stretch.apply(&moved(&shape, n)) - world(&grid, n)).norm() < ROUNDING_MM);
            }
        }
    }

    #[test]
    fn a_mean_warp_is_undone_step_by_step() {
        let grid = oblique([21, 25, 13]);
        let (warp, stretch) = (bump(&grid, [0.6, -0.4, 0.3]), stretch(&grid));
        let inverse = stretch.inverse().expect("an inverse");
        let shape = download(&grid, &update(&grid, &stretch, Some(&warp)));
        let unstretched = download(&grid, &update(&grid, &AffineTransform::identity(), Some(&warp)));
        let (mut before, mut after) = (0.0f64, 0.0f64);
        for n in 0..grid.len() {
            let mut naive = inverse.apply(&world(&grid, n));
            (0..4).for_each(|_| naive -= 0.25 * at(&warp, &naive));
            assert!((moved(&shape, n) - naive).norm() < ROUNDING_MM);
            before = before.max(warp.at(&world(&grid, n)).norm());
            let p = moved(&unstretched, n);
            after = after.max((p + at(&warp, &p) - world(&grid, n)).norm());
        }
        // Four steps that each remove a quarter of the mean warp differ from the exact inverse by terms of second
        // order. These terms are proportional to the slope of the warp, here up to 0.15.
        assert!(after < 0.15 * before, "{after} of {before} is left");
    }

    #[test]
    fn carried_transforms_lead_where_the_old_ones_did() {
        let grid = oblique([17, 15, 11]);
        let (warp, mean) = (bump(&grid, [1.0, 0.5, -0.5]), bump(&grid, [0.3, 0.2, 0.1]));
        let turn = Rotation3::from_euler_angles(0.2, 0.5, -0.1).into_inner();
        let affine = AffineTransform { matrix: turn * 1.1, translation: Vector3::new(40.0, -20.0, 5.0) };
        let stretch = stretch(&grid);
        let shape = update(&grid, &stretch, Some(&mean));
        let (new_affine, carried) = carry(&affine, &warp, &stretch, &shape);
        let shape = download(&grid, &shape);
        for n in 0..grid.len() {
            let old = moved(&shape, n);
            let expected = affine.apply(&(old + at(&warp, &old)));
            let found = new_affine.apply(&moved(&carried, n));
            assert!((found - expected).norm() < ROUNDING_MM);
        }
    }

    #[test]
    fn warps_that_cancel_leave_the_template_alone_and_their_mean_becomes_zero() {
        let grid = oblique([21, 25, 13]);
        let warps = [bump(&grid, [1.0, 0.2, 0.0]), bump(&grid, [-0.2, 0.2, 0.4])];
        let mean = |warps: [&DisplacementField; 2]| crate::template::WarpMean::of(&grid, &warps).expect("one grid");
        let before = mean(warps.each_ref());
        let identity = AffineTransform::identity();
        let shape = update(&grid, &identity, Some(&before));
        let carried = warps.map(|warp| carry(&identity, &warp, &identity, &shape).1);
        assert!(mean(carried.each_ref()).longest_mm() < 0.15 * before.longest_mm());
    }
}
