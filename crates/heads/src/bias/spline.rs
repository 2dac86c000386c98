//! Cubic B-splines along one axis of a mesh: the control points that influence a position, and their weights.

use antsreg_kernels::bias::Reach;

/// Returns the control points that influence a position from 0 to `elements`, in units of mesh elements.
pub fn reach(place: f64, elements: usize) -> Reach {
    let first = (place.max(0.0).floor() as usize).min(elements - 1);
    let t = place - first as f64;
    let s = 1.0 - t;
    let weights = [
        s * s * s / 6.0,
        (3.0 * t * t * t - 6.0 * t * t + 4.0) / 6.0,
        (3.0 * s * s * s - 6.0 * s * s + 4.0) / 6.0,
        t * t * t / 6.0,
    ];
    Reach { first, weights }
}

/// Number of control points that a cubic B-spline has along an axis with this number of mesh elements.
pub fn points(elements: usize) -> usize {
    elements + 3
}
