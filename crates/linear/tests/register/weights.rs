//! Tests that weight images select the voxels that count.

use crate::object::{affine, error_mm, fixed, fixed_grid, sampled};
use antsreg_core::Volume;
use antsreg_kernels::Cpu;
use antsreg_linear::{Dof, Options, Search, Start, register};
use nalgebra::Point3;

/// Adds a bright bar below the object to a test volume. Tests move the bar in the direction opposite to the object's,
/// so that it disturbs the registration unless a mask excludes it.
pub fn with_bar(mut volume: Volume, at_y: f64) -> Volume {
    for_each(&mut volume, |at, value| {
        if (at.y - at_y).abs() < 12.0 && at.z < -46.0 {
            *value += 1500.0;
        }
    });
    volume
}

/// A mask for a test volume with an object and a bright bar: 1 at the object, 0 at the bar.
pub fn mask(volume: &Volume) -> Volume {
    let mut mask = volume.clone();
    for_each(&mut mask, |at, value| *value = if at.z < -38.0 { 0.0 } else { 1.0 });
    mask
}

fn for_each(volume: &mut Volume, mut change: impl FnMut(&Point3<f64>, &mut f32)) {
    let to_world = volume.grid.voxel_to_world();
    let [nx, ny, _] = volume.grid.shape;
    for (i, value) in volume.voxels.iter_mut().enumerate() {
        let index = Point3::new((i % nx) as f64, (i / nx % ny) as f64, (i / nx / ny) as f64);
        change(&to_world.apply(&index), value);
    }
}

#[test]
fn what_has_no_weight_does_not_pull() {
    let truth = affine([0.0, 0.0, 3.0], [1.0; 3], [2.0, 6.0, 0.0]);
    let fixed = with_bar(fixed(), 20.0);
    let moving = with_bar(sampled(fixed_grid(), &truth), -30.0);
    let (fixed_mask, moving_mask) = (mask(&fixed), mask(&moving));
    let options = Options { dof: Dof::Rigid6, search: Search::None, ..Options::default() };
    let error = |fixed_mask: Option<&Volume>, moving_mask: Option<&Volume>| {
        let found = register(&Cpu, &fixed, &moving, fixed_mask, moving_mask, &options, Start::Headers, &mut ())
            .expect("a result");
        error_mm(&found.transform, &truth)
    };
    let pulled = error(None, None);
    let (by_fixed, by_moving) = (error(Some(&fixed_mask), None), error(None, Some(&moving_mask)));
    let by_both = error(Some(&fixed_mask), Some(&moving_mask));
    assert!(pulled > 5.0, "the bars pull by {pulled} mm only");
    // The tolerance of the error is a tenth of a voxel. If only one image has a mask, the bar of the other image has no
    // counterpart inside the mask and does not count either.
    assert!(by_fixed.max(by_moving).max(by_both) < 0.4, "{by_fixed}, {by_moving}, {by_both} mm");
}

#[test]
fn a_weight_of_one_everywhere_changes_nothing_that_matters() {
    let truth = affine([4.0, -6.0, 3.0], [1.0; 3], [2.0, 6.0, -4.0]);
    let (fixed, moving) = (fixed(), sampled(fixed_grid(), &truth));
    let ones = Volume::filled(fixed_grid(), 1.0);
    let options = Options { dof: Dof::Rigid6, ..Options::default() };
    let run = |weights: [Option<&Volume>; 2]| {
        register(&Cpu, &fixed, &moving, weights[0], weights[1], &options, Start::CentreOfMass, &mut ())
            .expect("a result")
            .transform
    };
    let difference = error_mm(&run([Some(&ones), Some(&ones)]), &run([None, None]));
    assert!(difference < 0.1, "{difference} mm");
}
