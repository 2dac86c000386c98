//! The points that a Powell search has evaluated, with their costs.

use crate::lockstep::Candidate;
use crate::parameters::Parameters;

/// Resolution of each kind of parameter on the 1 mm level: angle 0.05°, translation 0.02 mm (Shams 2010), and
/// differences of scale and skew that move a brain's surface by about the same distance. Points that differ by less in
/// all parameters count as the same point.
const RESOLUTION: [f64; 4] = [0.05 * std::f64::consts::PI / 180.0, 0.02, 0.0005, 0.0005];

/// All points that one search has evaluated, with their costs.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    resolution: Parameters,
    points: Vec<Candidate>,
}

impl Memory {
    /// Makes an empty list of evaluated points, for a resolution level with voxels of `mm`. The resolution of each
    /// parameter is proportional to `mm`, as the parameter's tolerance is.
    pub fn new(mm: f64) -> Memory {
        Memory { resolution: std::array::from_fn(|i| RESOLUTION[i / 3] * mm), points: Vec::new() }
    }

    /// The largest component of a difference between two sets of parameters, in units of each parameter's resolution.
    pub fn resolutions(&self, difference: &Parameters) -> f64 {
        difference.iter().zip(&self.resolution).map(|(part, resolution)| part.abs() / resolution).fold(0.0, f64::max)
    }

    /// Whether two points are closer than the resolution, so that they count as the same point.
    pub fn are_near(&self, a: &Parameters, b: &Parameters) -> bool {
        self.distance(a, b) < 1.0
    }

    /// The known cost at the nearest point already evaluated that is closer than the resolution; `None` if there is no
    /// such point.
    pub fn cost_near(&self, point: &Parameters) -> Option<f64> {
        let distances = self.points.iter().map(|known| (self.distance(&known.parameters, point), known.cost));
        let nearest = distances.min_by(|a, b| a.0.total_cmp(&b.0))?;
        (nearest.0 < 1.0).then_some(nearest.1)
    }

    /// Returns those of the given points that are not near an evaluated point, nor near an earlier given point.
    pub fn unknown(&self, points: Vec<Parameters>) -> Vec<Parameters> {
        let mut unknown: Vec<Parameters> = Vec::with_capacity(points.len());
        for point in points {
            let before = unknown.iter().any(|other| self.are_near(other, &point));
            if !before && self.cost_near(&point).is_none() {
                unknown.push(point);
            }
        }
        unknown
    }

    /// Stores points that were evaluated, with their costs.
    pub fn learn(&mut self, points: impl Iterator<Item = (Parameters, f64)>) {
        self.points.extend(points.map(|(parameters, cost)| Candidate { parameters, cost }));
    }

    /// The evaluated point with the lowest cost.
    pub fn best(&self) -> Option<Candidate> {
        self.points.iter().copied().min_by(|a, b| a.cost.total_cmp(&b.cost))
    }

    fn distance(&self, a: &Parameters, b: &Parameters) -> f64 {
        self.resolutions(&std::array::from_fn(|i| a[i] - b[i]))
    }
}
