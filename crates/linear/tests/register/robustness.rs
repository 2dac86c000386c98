//! Tests with objects whose outline determines the scales of the transform well, but its orientation badly.

use antsreg_core::{AffineTransform, Grid, Volume};
use antsreg_kernels::Cpu;
use antsreg_linear::{Options, Start, register};
use nalgebra::Point3;

use crate::object::{affine, error_mm, object};

/// A grid that is large enough for the stretched objects.
fn grid() -> Grid {
    let mut grid = Grid::axis_aligned([60, 64, 52], [4.0; 3]);
    grid.origin = Point3::new(-118.0, -126.0, -102.0);
    grid
}

/// A solid test ellipsoid with little inner structure, moved by `fixed_to_moving`.
fn ellipsoid(radii: [f64; 3], fixed_to_moving: &AffineTransform) -> Volume {
    let back = fixed_to_moving.inverse().expect("an invertible transform");
    let grid = grid();
    let to_world = grid.voxel_to_world();
    let [nx, ny, _] = grid.shape;
    let voxels = (0..grid.len())
        .map(|i| {
            let index = Point3::new((i % nx) as f64, (i / nx % ny) as f64, (i / nx / ny) as f64);
            let at = back.apply(&to_world.apply(&index));
            let radius = (0..3).map(|axis| (at[axis] / radii[axis]).powi(2)).sum::<f64>().sqrt();
            let inside = 1.0 / (1.0 + ((radius - 1.0) * 15.0).exp());
            (inside * (1000.0 + 0.3 * object(&at))) as f32
        })
        .collect();
    Volume { grid, voxels }
}

#[test]
fn finds_unequal_scales_of_what_is_nearly_an_ellipsoid() {
    // In the search with only a common scale, and if only the principal axes are aligned, wrong orientations align the
    // outlines of these objects better than the correct orientation does.
    let cases = [
        ([60.0, 72.0, 66.0], [1.15, 0.9, 1.05]),
        ([60.0, 64.0, 62.0], [1.2, 0.95, 1.0]),
        ([60.0, 72.0, 66.0], [1.3, 1.3, 1.0]),
        ([60.0, 64.0, 62.0], [1.3, 1.0, 1.3]),
        ([60.0, 72.0, 66.0], [0.77, 0.77, 1.0]),
    ];
    for (radii, scales) in cases {
        let truth = affine([5.0, 3.0, -4.0], scales, [8.0, 0.0, -6.0]);
        let fixed = ellipsoid(radii, &AffineTransform::identity());
        let moving = ellipsoid(radii, &truth);
        let found = register(&Cpu, &fixed, &moving, None, None, &Options::default(), Start::CentreOfMass, &mut ())
            .expect("a result");
        let error = error_mm(&found.transform, &truth);
        // The tolerance is a tenth of a voxel. Wrong orientations have errors of centimetres.
        assert!(error < 0.4, "{error} mm for {scales:?}");
    }
}
