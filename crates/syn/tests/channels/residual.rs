//! Measures the error of a warp against the known displacement of the test brain.

use antsreg_core::{DisplacementField, Grid};
use nalgebra::{Point3, Vector3};

use crate::scene::displacement;

/// Mean distance between the warp and the known displacement inside the brain, mm.
pub fn residual(warp: &DisplacementField) -> f64 {
    let (map, centre) = (warp.grid.voxel_to_world(), warp.grid.centre());
    let [nx, ny, _] = warp.grid.shape;
    let (mut sum, mut count) = (0.0, 0.0);
    for (n, u) in warp.vectors.iter().enumerate() {
        let index = Point3::new((n % nx) as f64, (n / nx % ny) as f64, (n / nx / ny) as f64);
        let p = map.apply(&index) - centre;
        if p.norm() < 15.0 {
            // The moving image at p is the fixed image at q, where q + displacement(q) = p.
            let q = p + Vector3::from(*u).cast::<f64>();
            sum += (q + displacement(q) - p).norm();
            count += 1.0;
        }
    }
    sum / count
}

/// Mean distance between a zero warp and the known displacement inside the brain, mm: the error without registration.
pub fn residual_of_nothing(grid: &Grid) -> f64 {
    residual(&DisplacementField { grid: grid.clone(), vectors: vec![[0.0; 3]; grid.len()] })
}
