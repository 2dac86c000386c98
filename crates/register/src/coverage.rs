//! Coverage: the share of the fixed image that the moving image covers. After a failed search, the images may hardly
//! overlap.

use antsreg_core::{AffineTransform, Grid, Volume};
use nalgebra::Point3;
use serde::{Deserialize, Serialize};

/// Largest number of points along an axis at which the overlap is sampled.
const POINTS: usize = 40;

/// Share of the fixed image's voxels that lie inside the grid of the moving image. Only voxels inside the fixed mask
/// count or, without a mask, all voxels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// Share (0 to 1) of the fixed image that lies inside the moving image under the initial affine.
    pub at_start: Option<f64>,
    /// Share (0 to 1) of the fixed image that lies inside the moving image under the resulting affine.
    pub now: Option<f64>,
}

impl Coverage {
    /// Computes which share of the fixed image lies inside the moving image, under the initial and under the resulting
    /// affine (both fixed → moving, RAS mm).
    pub fn of(fixed: &Grid, mask: Option<&Volume>, moving: &Grid, [start, found]: [&AffineTransform; 2]) -> Coverage {
        let share = |affine| share(fixed, mask, moving, affine);
        Coverage { at_start: share(start), now: share(found) }
    }
}

/// Computes which share of the fixed image lies inside the moving image under one affine, at points `step` voxels
/// apart. `None` if no point lies in the mask.
fn share(fixed: &Grid, mask: Option<&Volume>, moving: &Grid, affine: &AffineTransform) -> Option<f64> {
    let map = moving.world_to_voxel().after(affine).after(&fixed.voxel_to_world());
    let [nx, ny, nz] = fixed.shape;
    let step = fixed.shape.map(|n| n.div_ceil(POINTS).max(1));
    // If the images are slices, a point is inside the moving image if its two coordinates in the plane are inside: its
    // position along the normal of the plane does not matter.
    let axes = if moving.is_slice() { 2 } else { 3 };
    let (mut counted, mut covered) = (0usize, 0usize);
    for k in (step[2] / 2..nz).step_by(step[2]) {
        for j in (step[1] / 2..ny).step_by(step[1]) {
            for i in (step[0] / 2..nx).step_by(step[0]) {
                if mask.is_some_and(|mask| mask.voxels.get(i + nx * (j + ny * k)).is_none_or(|value| *value <= 0.5)) {
                    continue;
                }
                let at = map.apply(&Point3::new(i as f64, j as f64, k as f64));
                let within = |axis: usize| (-0.5..moving.shape[axis] as f64 - 0.5).contains(&at[axis]);
                counted += 1;
                covered += usize::from((0..axes).all(within));
            }
        }
    }
    (counted > 0).then(|| covered as f64 / counted as f64)
}

#[cfg(test)]
mod tests {
    use nalgebra::{Matrix3, Vector3};

    use super::*;

    fn shift(x: f64, y: f64, z: f64) -> AffineTransform {
        AffineTransform { matrix: Matrix3::identity(), translation: Vector3::new(x, y, z) }
    }

    #[test]
    fn it_is_the_share_of_voxels_that_meet() {
        let fixed = Grid::axis_aligned([100, 20, 3], [1.0, 2.0, 5.0]);
        let covered = |moving: &Grid, mask: Option<&Volume>, shift| share(&fixed, mask, moving, &shift);
        assert_eq!(covered(&fixed, None, shift(0.0, 0.0, 0.0)), Some(1.0));
        // The moving grid is the fixed grid shifted by 30 of 100 voxels along x, 5 of 20 along y, and one of 3 along z.
        // Along x, the overlap is sampled at every third voxel, from the second voxel on.
        let expected = [23.0 / 33.0, 0.75, 2.0 / 3.0];
        for (n, shift) in
            [shift(30.0, 0.0, 0.0), shift(0.0, -10.0, 0.0), shift(0.0, 0.0, 5.0)].into_iter().enumerate()
        {
            let found = covered(&fixed, None, shift).expect("voxels count");
            assert!((found - expected[n]).abs() < 1e-12, "{found}, {}", expected[n]);
        }
        let mut mask = Volume::filled(fixed.clone(), 0.0);
        assert_eq!(covered(&fixed, Some(&mask), shift(0.0, 0.0, 0.0)), None);
        // After the shift, half of the mask lies outside the moving image.
        (0..fixed.len()).filter(|n| n % 100 < 40).for_each(|n| mask.voxels[n] = 1.0);
        let found = covered(&fixed, Some(&mask), shift(-20.0, 0.0, 0.0)).expect("voxels count");
        assert!((found - 0.5).abs() < 0.04, "{found}");
    }

    #[test]
    fn slices_cover_each_other_wherever_they_lie_along_their_normal() {
        let slice = Grid::axis_aligned([20, 30, 1], [1.0; 3]);
        assert_eq!(share(&slice, None, &slice, &shift(0.0, 0.0, 700.0)), Some(1.0));
        assert_eq!(share(&slice, None, &slice, &shift(10.0, 0.0, 700.0)), Some(0.5));
    }
}
