//! What of a subject's transform is affine, and what is left to the warp.

use antsreg_core::same_grid::{GridMismatch, same_grid};
use antsreg_core::{AffineTransform, DisplacementField, Volume};
use nalgebra::{Matrix3, Matrix4, Matrix4x3, Point3, Vector3, Vector4};
use rayon::prelude::*;

use super::shape::change;

/// The affine map nearest to a transform (affine after `warp`) where `mask` exceeds ½: least squares of the distance. `affine`
/// itself where too little counts to tell.
///
/// An affine registration does not find it. It sees edges where a warp sees more, and misses in the same way for all
/// subjects: what it misses would be taken for their shape.
pub fn nearest_affine(
    affine: &AffineTransform,
    warp: &DisplacementField,
    mask: &Volume,
) -> Result<AffineTransform, GridMismatch> {
    same_grid("the warp and the mask", &warp.grid, &mask.grid)?;
    let [nx, ny, _] = warp.grid.shape;
    let to_world = warp.grid.voxel_to_world();
    let centre = warp.grid.centre();
    // Moments of x about the grid's centre, and of the displaced x with them; a slice each, added in order.
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
    let Some(fit) = own.cholesky().map(|own| own.solve(&mixed)) else { return Ok(*affine) };
    let matrix: Matrix3<f64> = fit.fixed_view::<3, 3>(0, 0).transpose();
    let shift: Vector3<f64> = fit.row(3).transpose();
    // x ↦ centre + matrix (x − centre) + shift.
    let fitted = AffineTransform { matrix, translation: centre.coords + shift - matrix * centre.coords };
    Ok(if fitted.inverse().is_some() { affine.after(&fitted) } else { *affine })
}

/// The warp that makes the same of space before `to` as `warp` does before `from`; `warp` itself if `to` has no inverse.
pub fn warp_before(to: &AffineTransform, from: &AffineTransform, mut warp: DisplacementField) -> DisplacementField {
    if let Some(inverse) = to.inverse() {
        let onto = inverse.after(from);
        change(&mut warp, |_, x, u| onto.apply(&(x + u)) - x);
    }
    warp
}

#[cfg(test)]
mod tests {
    use antsreg_core::Grid;
    use nalgebra::Rotation3;

    use super::super::shape::on_grid;
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

    #[test]
    fn an_affine_part_leaves_the_warp_and_nothing_else_changes() {
        let grid = grid();
        let part = AffineTransform {
            matrix: Matrix3::new(1.02, 0.01, 0.0, -0.02, 0.97, 0.03, 0.0, 0.01, 1.01),
            translation: Vector3::new(0.4, -0.3, 0.6),
        };
        let affine_part = on_grid(&grid, |_, x| part.apply(&x) - x);
        let mask = Volume::filled(grid.clone(), 1.0);
        let fitted = nearest_affine(&turned(), &affine_part, &mask).expect("one grid");
        // Displacements are kept in single precision, at most 2 mm of them.
        let expected = turned().after(&part);
        assert!((fitted.matrix - expected.matrix).amax() < 1e-6, "{fitted:?}");
        assert!((fitted.apply(&grid.centre()) - expected.apply(&grid.centre())).norm() < 1e-6);
        let rest = warp_before(&fitted, &turned(), affine_part);
        assert!(rest.longest_mm() < 1e-5);
        let bent = on_grid(&grid, |_, x| Vector3::new(0.3 * (0.5 * x.y).sin(), 0.1, 0.2 * (0.4 * x.x).cos()));
        let fitted = nearest_affine(&turned(), &bent, &mask).expect("one grid");
        let rest = warp_before(&fitted, &turned(), bent.clone());
        let [nx, ny, _] = grid.shape;
        let mut moments = Matrix4x3::zeros();
        for n in 0..grid.len() {
            let at = Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / (nx * ny)) as f64);
            let x = grid.voxel_to_world().apply(&at);
            let [old, new] = [&bent, &rest].map(|warp| x + Vector3::from(warp.vectors[n].map(f64::from)));
            assert!((turned().apply(&old) - fitted.apply(&new)).norm() < 1e-5);
            let row = (x - grid.centre()).push(1.0);
            moments += row * Vector3::from(rest.vectors[n].map(f64::from)).transpose() / grid.len() as f64;
        }
        // What is left has no affine part: it is at right angles to all of them.
        assert!(moments.amax() < 1e-4, "{moments}");
    }

    #[test]
    fn only_the_mask_counts_and_it_must_be_enough() {
        let grid = grid();
        let mut mask = Volume::filled(grid.clone(), 1.0);
        let mut warp = DisplacementField::zeros(grid.clone());
        for n in 0..200 {
            mask.voxels[n] = 0.0;
            warp.vectors[n] = [5.0, -9.0, 3.0];
        }
        let same = nearest_affine(&turned(), &warp, &mask).expect("one grid");
        assert!((same.matrix - turned().matrix).amax() < 1e-12);
        let nothing = nearest_affine(&turned(), &warp, &Volume::filled(grid, 0.0)).expect("one grid");
        assert_eq!(nothing, turned());
    }
}
