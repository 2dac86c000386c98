//! Splits a subject's transform into an affine part and a warp. On a device, the displacements of the warp are in
//! voxels of the template's grid.

use antsreg_core::{AffineTransform, DisplacementField, Grid, Volume};
use antsreg_kernels::{Backend, Error};
use nalgebra::{Matrix3, Matrix4, Matrix4x3, Point3, Vector3, Vector4};
use rayon::prelude::*;

use super::shape::before_affine;

/// The affine map nearest to a warp is fitted to every n-th voxel along each axis, where n is this number. Warps are
/// smooth over this distance.
const EVERY: usize = 2;

/// Reduces a mask to the voxels at which [`nearest_affine`] reads the warp.
pub fn sparse(mask: &Volume) -> Volume {
    let Grid { shape, spacing, .. } = &mask.grid;
    let [nx, ny, _] = *shape;
    let every = shape.map(|voxels| if voxels > 1 { EVERY } else { 1 });
    let sparse: [usize; 3] = std::array::from_fn(|axis| shape[axis].div_ceil(every[axis]));
    let spacing = Vector3::from_fn(|axis, _| spacing[axis] * every[axis] as f64);
    let mut few = Volume::filled(Grid { shape: sparse, spacing, ..mask.grid.clone() }, 0.0);
    few.voxels.par_chunks_mut(sparse[0]).with_min_len(64).enumerate().for_each(|(row, few)| {
        let from = (row / sparse[1] * every[2] * ny + row % sparse[1] * every[1]) * nx;
        let all = mask.voxels[from..from + nx].iter().step_by(every[0]);
        few.iter_mut().zip(all).for_each(|(value, all)| *value = *all);
    });
    few
}

/// The affine map nearest to a transform (`warp`, then `affine`): it has the least mean squared distance where a mask
/// exceeds ½. `sparse` is that mask, reduced by [`sparse`](self::sparse). Returns `affine` if the mask has too few
/// voxels to determine a map, and for a slice, which has no extent across its plane.
///
/// An affine registration would not give this map. An affine registration mainly aligns edges, and its error is similar
/// in all subjects. Without this fit, the error would count as part of the subjects' shape.
pub fn nearest_affine<B: Backend>(
    backend: &B,
    affine: &AffineTransform,
    grid: &Grid,
    warp: &B::Field,
    sparse: &Volume,
) -> Result<AffineTransform, Error> {
    if grid.shape.contains(&1) {
        return Ok(*affine);
    }
    let mut few = backend.field(sparse.grid.shape)?;
    let to_warp = grid.world_to_voxel().after(&sparse.grid.voxel_to_world());
    backend.resize_field(warp, &to_warp, &grid.voxel_to_world().matrix, &mut few)?;
    let warp = DisplacementField { grid: sparse.grid.clone(), vectors: backend.download_field(&few)? };
    Ok(fit(affine, &warp, sparse))
}

/// Returns the warp w that keeps a transform the same when its affine part `from` is replaced by `to`: `to` ∘ (id + w)
/// = `from` ∘ (id + `warp`). Returns `None` if `to` has no inverse.
pub fn warp_before<B: Backend>(
    backend: &B,
    to: &AffineTransform,
    from: &AffineTransform,
    grid: &Grid,
    warp: &B::Field,
) -> Result<Option<B::Field>, Error> {
    to.inverse().map(|inverse| before_affine(backend, grid, warp, &inverse.after(from))).transpose()
}

/// Fits an affine map to the warp by least squares, and returns the composition of `affine` after this map. Only voxels
/// where `mask` exceeds ½ count. Displacements are in mm, on the grid of `mask`.
fn fit(affine: &AffineTransform, warp: &DisplacementField, mask: &Volume) -> AffineTransform {
    let [nx, ny, _] = warp.grid.shape;
    let to_world = warp.grid.voxel_to_world();
    let centre = warp.grid.centre();
    // Sums for the least-squares fit of an affine map to the warp: the products x·xᵀ of positions relative to the
    // grid's centre, and the products of x with the displaced positions. Each slice has its own sums, and these are
    // added in order.
    type Moments = (Matrix4<f64>, Matrix4x3<f64>);
    let of_slice = |(k, mask): (usize, &[f32])| -> Moments {
        let mut sums = (Matrix4::zeros(), Matrix4x3::zeros());
        for (n, _) in mask.iter().enumerate().filter(|(_, mask)| **mask > 0.5) {
            let x = to_world.apply(&Point3::new((n % nx) as f64, (n / nx) as f64, k as f64)) - centre;
            let moved = x + Vector3::from(warp.vectors[k * nx * ny + n].map(f64::from));
            let row = Vector4::new(x.x, x.y, x.z, 1.0);
            sums.0 += row * row.transpose();
            sums.1 += row * moved.transpose();
        }
        sums
    };
    let slices: Vec<Moments> = mask.voxels.par_chunks_exact(nx * ny).enumerate().map(of_slice).collect();
    let (own, mixed) = slices
        .iter()
        .fold((Matrix4::zeros(), Matrix4x3::zeros()), |(own, mixed), slice| (own + slice.0, mixed + slice.1));
    let Some(fit) = own.cholesky().map(|own| own.solve(&mixed)) else { return *affine };
    let matrix: Matrix3<f64> = fit.fixed_view::<3, 3>(0, 0).transpose();
    let shift: Vector3<f64> = fit.row(3).transpose();
    // The affine map that was fitted to the warp takes a point x to centre + matrix·(x − centre) + shift.
    let fitted = AffineTransform { matrix, translation: centre.coords + shift - matrix * centre.coords };
    if fitted.inverse().is_some() { affine.after(&fitted) } else { *affine }
}

#[cfg(test)]
mod tests {
    use antsreg_kernels::Cpu;
    use antsreg_kernels::ops::Memory;
    use nalgebra::Rotation3;

    use super::*;

    fn grid() -> Grid {
        let direction = Rotation3::from_euler_angles(0.2, -0.1, 0.4).into_inner();
        Grid {
            shape: [13, 9, 11],
            spacing: Vector3::new(1.2, 2.0, 0.9),
            origin: Point3::new(30.0, -12.0, 4.0),
            direction,
        }
    }

    fn turned() -> AffineTransform {
        let matrix = Rotation3::from_euler_angles(0.3, 0.1, -0.2).into_inner() * 1.1;
        AffineTransform { matrix, translation: Vector3::new(4.0, -7.0, 2.0) }
    }

    fn world(grid: &Grid, n: usize) -> Point3<f64> {
        let [nx, ny, _] = grid.shape;
        grid.voxel_to_world().apply(&Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / (nx * ny)) as f64))
    }

    fn on_grid(grid: &Grid, displacement: impl Fn(Point3<f64>) -> Vector3<f64>) -> DisplacementField {
        let vectors = (0..grid.len()).map(|n| displacement(world(grid, n)).map(|c| c as f32).into()).collect();
        DisplacementField { grid: grid.clone(), vectors }
    }

    fn upload(warp: &DisplacementField) -> <Cpu as Memory>::Field {
        let to_voxels = warp.grid.world_to_voxel().matrix.cast();
        Cpu.upload_field_in(warp.grid.shape, &warp.vectors, &to_voxels).expect("it fits")
    }

    fn nearest(warp: &DisplacementField, mask: &Volume) -> AffineTransform {
        nearest_affine(&Cpu, &turned(), &warp.grid, &upload(warp), &sparse(mask)).expect("shapes fit")
    }

    fn before(to: &AffineTransform, warp: &DisplacementField) -> DisplacementField {
        let rest = warp_before(&Cpu, to, &turned(), &warp.grid, &upload(warp)).expect("shapes fit");
        let to_world = warp.grid.voxel_to_world().matrix.cast();
        let vectors = Cpu.download_field_in(&rest.expect("an inverse"), &to_world, None).expect("it fits");
        DisplacementField { grid: warp.grid.clone(), vectors }
    }

    #[test]
    fn every_other_voxel_is_looked_at() {
        for (shape, few) in [([13, 9, 10], [7, 5, 5]), ([4, 1, 3], [2, 1, 2])] {
            let grid = Grid { shape, ..grid() };
            let mask = Volume { voxels: (0..grid.len()).map(|n| n as f32).collect(), grid };
            let sparse = sparse(&mask);
            assert_eq!(sparse.grid.shape, few);
            // The thickness of a slice stays.
            let spacing =
                Vector3::from_fn(|axis, _| mask.grid.spacing[axis] * if shape[axis] > 1 { 2.0 } else { 1.0 });
            assert_eq!(sparse.grid.spacing, spacing);
            for n in 0..sparse.voxels.len() {
                let there = world(&mask.grid, sparse.voxels[n] as usize);
                assert!((world(&sparse.grid, n) - there).norm() < 1e-12);
            }
        }
    }

    #[test]
    fn an_affine_part_leaves_the_warp_and_nothing_else_changes() {
        let grid = grid();
        let part = AffineTransform {
            matrix: Matrix3::new(1.02, 0.01, 0.0, -0.02, 0.97, 0.03, 0.0, 0.01, 1.01),
            translation: Vector3::new(0.4, -0.3, 0.6),
        };
        let affine_part = on_grid(&grid, |x| part.apply(&x) - x);
        let mask = Volume::filled(grid.clone(), 1.0);
        let fitted = nearest(&affine_part, &mask);
        // Tolerance: the fitted affine matrix may differ from the expected matrix by 1e-6, because the warp's
        // displacements of up to 2 mm are stored in single precision.
        let expected = turned().after(&part);
        assert!((fitted.matrix - expected.matrix).amax() < 1e-6, "{fitted:?}");
        assert!((fitted.apply(&grid.centre()) - expected.apply(&grid.centre())).norm() < 1e-6);
        assert!(before(&fitted, &affine_part).longest_mm() < 1e-5);
        let bent = on_grid(&grid, |x| Vector3::new(0.3 * (0.5 * x.y).sin(), 0.1, 0.2 * (0.4 * x.x).cos()));
        let fitted = nearest(&bent, &mask);
        let rest = before(&fitted, &bent);
        for n in 0..grid.len() {
            let [old, new] =
                [&bent, &rest].map(|warp| world(&grid, n) + Vector3::from(warp.vectors[n].map(f64::from)));
            assert!((turned().apply(&old) - fitted.apply(&new)).norm() < 1e-5);
        }
        // The remaining warp must have no affine part at the voxels that the fit read: it must be orthogonal to all
        // affine maps.
        let sparse = sparse(&mask).grid;
        let to_voxels = grid.world_to_voxel();
        let mut moments = Matrix4x3::zeros();
        for n in 0..sparse.len() {
            let x = world(&sparse, n);
            let row = (x - sparse.centre()).push(1.0);
            moments += row * rest.at_voxel(&to_voxels.apply(&x)).transpose() / sparse.len() as f64;
        }
        assert!(moments.amax() < 1e-4, "{moments}");
    }

    #[test]
    fn only_the_mask_counts_and_it_must_be_enough() {
        let grid = grid();
        let mut mask = Volume::filled(grid.clone(), 1.0);
        let mut warp = DisplacementField::zeros(grid.clone());
        for n in 0..200 {
            mask.voxels[n] = 0.5;
            warp.vectors[n] = [5.0, -9.0, 3.0];
        }
        assert!((nearest(&warp, &mask).matrix - turned().matrix).amax() < 1e-12);
        assert_eq!(nearest(&warp, &Volume::filled(grid, 0.0)), turned());
    }
}
