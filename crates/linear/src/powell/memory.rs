//! The points (sets of transform parameters) that a Powell search has evaluated, with their costs.

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
    /// Makes an empty list of points that a Powell search has evaluated, for a resolution level with voxels of `mm`.
    /// Parameters that differ by less than a resolution count as equal; this resolution is proportional to `mm`, as the
    /// parameters' tolerances are.
    pub fn new(mm: f64) -> Memory {
        Memory { resolution: std::array::from_fn(|i| RESOLUTION[i / 3] * mm), points: Vec::new() }
    }

    /// The size of a difference between two sets of transform parameters: its largest component, in units of each
    /// parameter's resolution (points that differ by less count as the same point).
    pub fn resolutions(&self, difference: &Parameters) -> f64 {
        difference.iter().zip(&self.resolution).map(|(part, resolution)| part.abs() / resolution).fold(0.0, f64::max)
    }

    /// Whether two points (sets of transform parameters) are closer than the resolution in every parameter, so that
    /// they count as the same point.
    pub fn are_near(&self, a: &Parameters, b: &Parameters) -> bool {
        self.distance(a, b) < 1.0
    }

    /// The cost of the nearest point that was already evaluated, if this point is closer than the resolution of the
    /// parameters; `None` if there is no such point.
    pub fn cost_near(&self, point: &Parameters) -> Option<f64> {
        let distances = self.points.iter().map(|known| (self.distance(&known.parameters, point), known.cost));
        let nearest = distances.min_by(|a, b| a.0.total_cmp(&b.0))?;
        (nearest.0 < 1.0).then_some(nearest.1)
    }

    /// From the given points (sets of transform parameters), returns those that are farther than the resolution from
    /// every evaluated point and from every earlier point of the list.
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

    /// Stores points (sets of transform parameters) that were evaluated, with their costs.
    pub fn learn(&mut self, points: impl Iterator<Item = (Parameters, f64)>) {
        self.points.extend(points.map(|(parameters, cost)| Candidate { parameters, cost }));
    }

    /// The evaluated point (set of transform parameters) with the lowest cost; `None` before any evaluation.
    pub fn best(&self) -> Option<Candidate> {
        self.points.iter().copied().min_by(|a, b| a.cost.total_cmp(&b.cost))
    }

    fn distance(&self, a: &Parameters, b: &Parameters) -> f64 {
        self.resolutions(&std::array::from_fn(|i| a[i] - b[i]))
    }
}
