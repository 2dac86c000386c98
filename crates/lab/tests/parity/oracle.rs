//! Test cases of histograms, with expected sums and counts in double precision and the tolerances of single precision.

use antsreg_core::AffineTransform;
use antsreg_lab::schemes::{CrScheme, CrSums, Settings, Values};
use rayon::prelude::*;

use crate::world::{Noise, World};

/// A test case: fixed and moving values, and the map from fixed to moving voxels.
pub struct Case {
    pub name: &'static str,
    pub shape: [usize; 3],
    pub fixed: Vec<f32>,
    moving_shape: [usize; 3],
    moving: Vec<f32>,
    /// Map from fixed to moving voxels. `None` if `moving` already has one value for each fixed voxel.
    map: Option<AffineTransform>,
    filtered: bool,
    edge: f64,
    pub bins: usize,
}

impl Case {
    /// Makes all test cases: structured values, uniform noise, and values that all fall into one bin.
    pub fn all(world: &World) -> Vec<Case> {
        let voxels: usize = world.shape.iter().product();
        let mut noise = Noise(5);
        let mut uniform = || (0..voxels).map(|_| (0.5 + 0.5 * noise.next()) as f32).collect::<Vec<f32>>();
        let fixed = World::image(world.shape, 1);
        let sampled_from = |moving, name, filtered, edge, bins| Case {
            name,
            shape: world.shape,
            fixed: fixed.clone(),
            moving_shape: world.other_shape,
            moving,
            map: Some(world.map(0.15)),
            filtered,
            edge,
            bins,
        };
        let sampled =
            |name, filtered, edge, bins| sampled_from(World::image(world.other_shape, 2), name, filtered, edge, bins);
        let island = || World::island(world.other_shape, 2, 0.27);
        let given = |name, fixed, moving, bins| Case {
            name,
            shape: world.shape,
            fixed,
            moving_shape: world.shape,
            moving,
            map: None,
            filtered: false,
            edge: 0.0,
            bins,
        };
        let mut cases = vec![
            given("uniform", uniform(), uniform(), 64),
            given("uniform", uniform(), uniform(), 2),
            given("uniform", uniform(), uniform(), 300),
            given("degenerate", vec![0.3; voxels], vec![0.7; voxels], 256),
            given("one fixed bin", vec![0.3; voxels], uniform(), 37),
        ];
        // Test cases with interpolation need at least two voxels along each axis, because a thinner volume consists
        // only of border.
        if world.other_shape.iter().all(|n| *n > 1) {
            cases.extend([
                sampled("sampled", false, 0.0, 256),
                sampled("sampled, ramp", false, 3.0, 64),
                sampled("sampled, ramp", false, 4.5, 1000),
                sampled("by texture", true, 2.0, 100),
                sampled_from(island(), "mostly empty", false, 0.0, 64),
                sampled_from(island(), "mostly empty, ramp", false, 2.5, 256),
                sampled_from(island(), "mostly empty, by texture", true, 0.0, 32),
            ]);
        }
        cases
    }

    /// The moving values of this test case, in the form in which the histogram algorithms take them.
    pub fn values(&self) -> Values<'_> {
        match self.map {
            None => Values::Given(&self.moving),
            Some(fixed_to_moving) => Values::Sampled {
                shape: self.moving_shape,
                voxels: &self.moving,
                fixed_to_moving,
                filtered: self.filtered,
                edge_voxels: [self.edge; 3],
            },
        }
    }

    /// Samples the moving volume at the point to which each fixed voxel is mapped: the weight, the value, and the
    /// distance of the point from the border of the moving volume.
    fn samples(&self) -> Vec<Sample> {
        let [nx, ny, _] = self.shape;
        let voxel = |at: usize| [at % nx, at / nx % ny, at / nx / ny];
        let sample = |at: usize| match &self.map {
            None => Sample { weight: 1.0, value: f64::from(self.moving[at]), inside: f64::INFINITY },
            Some(map) => self.sample(std::array::from_fn(|row| {
                (0..3).map(|column| map.matrix[(row, column)] * voxel(at)[column] as f64).sum::<f64>()
                    + map.translation[row]
            })),
        };
        (0..self.fixed.len()).into_par_iter().map(sample).collect()
    }

    fn sample(&self, place: [f64; 3]) -> Sample {
        let last = self.moving_shape.map(|n| n as f64 - 1.0);
        let distance: [f64; 3] = std::array::from_fn(|axis| place[axis].min(last[axis] - place[axis]));
        let inside = distance.iter().copied().fold(f64::INFINITY, f64::min);
        let ramp = |distance: f64| if self.edge > 0.0 { (distance / self.edge).clamp(0.0, 1.0) } else { 1.0 };
        let weight = if inside < 0.0 { 0.0 } else { distance.map(ramp).iter().product() };
        let low = place.map(|at| at.max(0.0).floor() as usize);
        let mut value = 0.0;
        for corner in 0..8_usize {
            let step = [corner & 1, corner >> 1 & 1, corner >> 2];
            let share: f64 = (0..3)
                .map(|axis| {
                    let t = place[axis].clamp(0.0, last[axis]) - low[axis] as f64;
                    if step[axis] == 1 { t } else { 1.0 - t }
                })
                .product();
            let [x, y, z] = std::array::from_fn(|axis| (low[axis] + step[axis]).min(self.moving_shape[axis] - 1));
            let [nx, ny, _] = self.moving_shape;
            value += share * f64::from(self.moving[(z * ny + y) * nx + x]);
        }
        Sample { weight, value, inside }
    }
}

struct Sample {
    weight: f64,
    value: f64,
    inside: f64,
}

/// Tolerance, in voxels, of the moving image's coordinates to which fixed voxels are mapped. Their rounding error is
/// about 1e-5 voxel.
const COORDINATES: f64 = 1e-4;
/// Tolerance of interpolated values: the rounding error of coordinates, times a gradient of up to 2 per voxel.
const VALUES: f64 = 4e-5;
/// Tolerance of values that the GPU's texture unit interpolates, because its weights have only eight bits. On each
/// axis, the error is up to 1/512 of the difference between neighbours.
const FILTER: f64 = 6e-3;

/// A range of values that is divided evenly into bins.
pub struct Bins {
    low: f64,
    range: f64,
    bins: usize,
}

impl Bins {
    /// The range from the smallest to the largest of `values`, divided into `bins` bins.
    pub fn of(values: &[f32], bins: usize) -> Bins {
        let low = values.iter().copied().fold(f32::INFINITY, f32::min);
        let high = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        // The range is computed in single precision, as the tested CUDA kernels do.
        Bins { low: f64::from(low), range: f64::from(high - low), bins }
    }

    /// Returns the bin of a value, computed in double precision. If the value is closer than `uncertainty` to the border
    /// of the bin, the neighbouring bin is returned, too.
    pub fn find(&self, value: f64, uncertainty: f64) -> (usize, Option<usize>) {
        if self.range <= 0.0 {
            return (0, None);
        }
        let per_unit = self.bins as f64 / self.range;
        let clamp = |position: f64| position.max(0.0).min(self.bins as f64 - 1.0) as usize;
        let position = (value - self.low) * per_unit;
        let (bin, below, above) =
            (clamp(position), clamp(position - uncertainty * per_unit), clamp(position + uncertainty * per_unit));
        (bin, [below, above].into_iter().find(|other| *other != bin))
    }
}

/// The expected results of a test case, with which the results of all histogram algorithms are compared.
pub struct Oracle {
    sums: CrSums,
    /// For each fixed bin: its number of voxels, and the number of those that are mapped into the moving image.
    voxels: Vec<usize>,
    counted: Vec<f64>,
    joint: Vec<f64>,
    /// Tolerance of each count of the joint histogram: the number of voxels that rounding may move to another bin.
    doubtful: Vec<f64>,
    /// Tolerance of each sum over a fixed bin: the number of voxels that rounding of coordinates may move out of the
    /// moving image.
    doubtful_inside: Vec<f64>,
}

impl Oracle {
    /// Computes the expected sums and counts of a test case. `voxel_bins` are the bins of the fixed voxels.
    pub fn new(case: &Case, voxel_bins: &[u16]) -> Oracle {
        let bins = case.bins;
        let range = Bins::of(&case.moving, bins);
        let zeros = || vec![0.0; bins];
        let mut oracle = Oracle {
            sums: CrSums { weight: zeros(), sum: zeros(), square: zeros() },
            voxels: vec![0; bins],
            counted: zeros(),
            joint: vec![0.0; bins * bins],
            doubtful: vec![0.0; bins * bins],
            doubtful_inside: zeros(),
        };
        for (sample, bin) in case.samples().iter().zip(voxel_bins) {
            let fixed = usize::from(*bin);
            oracle.voxels[fixed] += 1;
            let sums = &mut oracle.sums;
            sums.weight[fixed] += sample.weight;
            sums.sum[fixed] += sample.weight * sample.value;
            sums.square[fixed] += sample.weight * sample.value * sample.value;
            let uncertainty = if case.filtered { FILTER } else { VALUES };
            let (moving, other) = range.find(sample.value, uncertainty);
            let at = fixed * bins + moving;
            // At a point exactly on the border of the moving image, the weight is 0, and a voxel without weight is not
            // counted.
            if sample.weight > 0.0 {
                oracle.counted[fixed] += 1.0;
                oracle.joint[at] += 1.0;
            }
            if sample.inside.abs() < COORDINATES {
                oracle.doubtful_inside[fixed] += if case.edge > 0.0 { 0.0 } else { 1.0 };
                oracle.doubtful[at] += 1.0;
            }
            if let Some(other) = other {
                oracle.doubtful[at] += 1.0;
                let (from, to) = (moving.min(other), moving.max(other));
                (from..=to).for_each(|moving| oracle.doubtful[fixed * bins + moving] += 1.0);
            }
        }
        oracle
    }

    /// Length of the longest chain of additions in single precision for a bin.
    ///
    /// A block processes voxels at a fixed stride. Adding zero is exact, so no chain is longer than the number of the
    /// bin's voxels.
    fn additions(&self, bin: usize, scheme: CrScheme, settings: &Settings, blocks: usize) -> f64 {
        let voxels: usize = self.voxels.iter().sum();
        let each = voxels.div_ceil(blocks * settings.threads);
        let chain = match scheme {
            CrScheme::GlobalAtomic => voxels,
            // The algorithm `GlobalAtomicDouble` adds in double precision; `Slabs` and `Skipping` add integers.
            CrScheme::GlobalAtomicDouble | CrScheme::Slabs | CrScheme::Skipping => 0,
            CrScheme::GlobalMerge => each,
            CrScheme::SharedAtomic => each * settings.threads + blocks,
            CrScheme::SharedMerge => each * settings.threads,
            CrScheme::SharedWarp => each * 32 + settings.threads / 32,
            CrScheme::ConflictFree => {
                let halvings = settings.threads.ilog2() as usize;
                settings.segment.div_ceil(settings.threads) + halvings + self.voxels[bin] / settings.segment + 1
            }
            // Number of additions in sequence: the 16 voxels of a piece (sorted voxels that one thread adds up), then
            // the 2048 / 16 pieces of a tile (a box of 2048 voxels), then the tiles of a thread block. At least 64
            // tiles are assumed.
            CrScheme::Tiled => 16 + 2048 / 16 + voxels.div_ceil(2048 * blocks).max(64),
        };
        self.counted[bin].min(chain as f64)
    }

    /// Compares the sums that an algorithm computed with the expected sums. The algorithm ran in at least `blocks`
    /// thread blocks. Returns a description of the first error.
    pub fn check_sums(
        &self,
        case: &Case,
        (scheme, settings): (CrScheme, &Settings),
        blocks: usize,
        found: &CrSums,
    ) -> Option<String> {
        let expected = [&self.sums.weight, &self.sums.sum, &self.sums.square];
        for (expected, found) in expected.into_iter().zip([&found.weight, &found.sum, &found.square]) {
            let bins = || expected.iter().enumerate();
            let allowed = |(bin, expected)| self.allowed(case, (scheme, settings), blocks, bin, expected);
            // The correlation ratio needs Σw·y² only as a total over all bins. So the algorithm `Skipping` computes a
            // single sum of squares.
            let wanted: Vec<(f64, f64)> = match (scheme, found.len()) {
                (CrScheme::Skipping, 1) => vec![(expected.iter().sum(), bins().map(allowed).sum())],
                _ => expected.iter().copied().zip(bins().map(allowed)).collect(),
            };
            if found.len() != wanted.len() {
                return Some(format!("{} sums of {}", found.len(), wanted.len()));
            }
            for (bin, ((expected, allowed), found)) in wanted.iter().zip(found).enumerate() {
                let difference = (expected - found).abs();
                if difference.is_nan() || difference > *allowed {
                    return Some(format!("bin {bin}: expected {expected}, found {found}, allowed {allowed:.2e}"));
                }
            }
        }
        None
    }

    /// Allowed difference of a bin's sum (Σw, Σw·y or Σw·y²) from the `expected` value, if this algorithm computes the
    /// sum.
    fn allowed(
        &self,
        case: &Case,
        (scheme, settings): (CrScheme, &Settings),
        blocks: usize,
        bin: usize,
        expected: &f64,
    ) -> f64 {
        // Each addition of a chain of additions has an error of up to half of the last bit of the sum. If all terms are
        // equal, all errors have the same direction. For terms of one sign in any order, the total error is at most
        // 2⁻²⁴ of the sum, times the number of additions. The products and the conversion from units add a few rounding
        // errors.
        let roundings = self.additions(bin, scheme, settings, blocks) + 8.0;
        let rounding = roundings * f64::from(f32::EPSILON) / 2.0 * expected;
        let values = if case.filtered { FILTER } else { VALUES };
        // Near the border of the moving image, weights rise from 0 to 1 over at least two voxels. So the error of a
        // weight is at most that of a coordinate.
        let sampling = self.counted[bin] * (2.0 * values + 3.0 * COORDINATES) + self.doubtful_inside[bin];
        let sampling = if case.map.is_none() { 0.0 } else { sampling };
        // The algorithms `Slabs` and `Skipping` round weights and values to units of 2⁻¹⁶ of their range. The error of
        // a sum is up to three half units for each voxel.
        let in_units = matches!(scheme, CrScheme::Slabs | CrScheme::Skipping);
        let units = if in_units { self.voxels[bin] as f64 * 1.5 / 65536.0 } else { 0.0 };
        rounding + sampling + units
    }

    /// Compares a joint histogram with the expected counts. Returns a description of the first error.
    pub fn check_counts(&self, found: &[u32]) -> Option<String> {
        if found.len() != self.joint.len() {
            return Some(format!("{} counts of {}", found.len(), self.joint.len()));
        }
        let wrong = |at: &usize| (self.joint[*at] - f64::from(found[*at])).abs() > self.doubtful[*at];
        (0..found.len()).find(wrong).map(|at| {
            let (expected, found, doubtful) = (self.joint[at], found[at], self.doubtful[at]);
            format!("counter {at}: expected {expected}, found {found}, of which {doubtful} doubtful")
        })
    }
}
