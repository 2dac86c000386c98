//! Cubic B-splines along one axis of a mesh: the control points that influence a position, and their weights.

/// The four neighbouring control points along one axis that influence a position, and their weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// Index of the first of the four neighbouring control points along the axis.
    pub first: usize,
    /// Weights of the four control points; they add up to 1.
    pub weights: [f64; 4],
}

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

/// Number of control points along an axis with this number of mesh elements.
pub fn points(elements: usize) -> usize {
    elements + 3
}
