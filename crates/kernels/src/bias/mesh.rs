//! One axis of a mesh of cubic B-splines.

use crate::Error;

/// The four neighbouring control points along one axis that influence a position, and their weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// Four successive control points influence the spline at a position. This is the index of the first of them along
    /// the axis.
    pub first: usize,
    /// Weights of the four control points; they add up to 1.
    pub weights: [f64; 4],
}

/// One axis of a B-spline mesh: its control points, and for each position (sample or voxel) along the axis the control
/// points that influence the spline there.
#[derive(Debug, Clone, PartialEq)]
pub struct MeshAxis {
    reaches: Vec<Reach>,
    points: usize,
}

impl MeshAxis {
    /// Makes an axis of `points` control points. `reaches` has, for each position (sample or voxel) in order, the
    /// control points that influence the spline there.
    ///
    /// # Errors
    /// [`Error::Reach`]: a position is influenced by control points that do not exist, or by control points before
    /// those of the previous position.
    pub fn new(reaches: Vec<Reach>, points: usize) -> Result<MeshAxis, Error> {
        let mut least = 0;
        for (place, reach) in reaches.iter().enumerate() {
            if reach.first < least || reach.first.checked_add(4).is_none_or(|end| end > points) {
                return Err(Error::Reach { place, first: reach.first, least, points });
            }
            least = reach.first;
        }
        Ok(MeshAxis { reaches, points })
    }

    /// For each position (sample or voxel) along the axis: the control points that influence the spline there, with
    /// their B-spline weights.
    pub fn reaches(&self) -> &[Reach] {
        &self.reaches
    }

    /// Number of control points along the axis.
    pub fn points(&self) -> usize {
        self.points
    }

    /// For each control point: the positions (samples or voxels) along the axis whose spline values the control point
    /// influences.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn places(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let before = |point: usize| self.reaches.partition_point(|reach| reach.first < point);
        (0..self.points).map(move |point| before(point.saturating_sub(3))..before(point + 1))
    }

    /// For each position (sample or voxel) along the axis: the control points that influence the spline there, with the
    /// square of each B-spline weight.
    pub(crate) fn squared(&self) -> Vec<Reach> {
        self.with(|weights| weights.map(|w| w * w))
    }

    /// For each position (sample or voxel) along the axis: the control points that influence the spline there, with w³
    /// / Σ w² instead of each B-spline weight w. A control point of a fit is a weighted mean over samples; these values
    /// are needed for its numerator.
    pub(crate) fn asked(&self) -> Vec<Reach> {
        self.with(|weights| {
            let squares: f64 = weights.iter().map(|w| w * w).sum();
            weights.map(|w| w * w * w / squares)
        })
    }

    fn with(&self, weights: impl Fn([f64; 4]) -> [f64; 4]) -> Vec<Reach> {
        self.reaches.iter().map(|reach| Reach { first: reach.first, weights: weights(reach.weights) }).collect()
    }
}

/// Checks that the mesh axes have the shape of a volume, and that `points` is the number of control points of the mesh.
pub(crate) fn check(
    operation: &'static str,
    axes: &[MeshAxis; 3],
    shape: [usize; 3],
    points: usize,
) -> Result<(), Error> {
    let of_axes = axes.each_ref().map(|axis| axis.reaches.len());
    if of_axes != shape {
        return Err(Error::Shape { operation, expected: of_axes, found: shape });
    }
    Error::check_length(operation, axes.each_ref().map(|axis| axis.points), points)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(firsts: &[usize], points: usize) -> Result<MeshAxis, Error> {
        MeshAxis::new(firsts.iter().map(|first| Reach { first: *first, weights: [0.25; 4] }).collect(), points)
    }

    #[test]
    fn places_are_those_whose_reach_has_the_control_point() {
        let firsts = [0, 0, 1, 1, 1, 3, 4, 4];
        let axis = axis(&firsts, 8).expect("within the points");
        let places: Vec<std::ops::Range<usize>> = axis.places().collect();
        assert_eq!(places.len(), 8);
        for (point, range) in places.into_iter().enumerate() {
            let reached = |place: &usize| (firsts[*place]..firsts[*place] + 4).contains(&point);
            assert_eq!(range.collect::<Vec<_>>(), (0..firsts.len()).filter(reached).collect::<Vec<_>>(), "{point}");
        }
    }

    #[test]
    fn reaches_beyond_the_points_and_out_of_order_are_refused() {
        assert!(axis(&[0, 1, 2], 6).is_ok());
        for firsts in [&[0, 3][..], &[1, 0], &[usize::MAX]] {
            assert!(matches!(axis(firsts, 6), Err(Error::Reach { .. })), "{firsts:?}");
        }
    }
}
