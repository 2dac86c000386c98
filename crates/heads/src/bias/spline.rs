//! One axis of a mesh of cubic B-splines: which control points reach a place, and with what weights.

/// The first of four control points that reach a place, and their weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// The first control point.
    pub first: usize,
    /// Weights of the first control point and the next three; the weights add up to 1.
    pub weights: [f64; 4],
}

/// The control points that reach a place from 0 to `elements`, in units of mesh elements.
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

/// Control points of an axis with this number of elements.
pub fn points(elements: usize) -> usize {
    elements + 3
}
