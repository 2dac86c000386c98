//! Expected histograms, computed on the host in double precision, and the tolerances of single precision.

use crate::schemes::{CrScheme, CrSums};

use super::subject::{How, Subject};

/// Tolerance, in voxels, of the moving image's coordinates to which fixed voxels are mapped. The rounding error of
/// these coordinates is about 1e-5 voxel.
const COORDINATES: f64 = 1e-4;
/// Tolerance of interpolated values, as a share of the moving image's range.
const VALUES: f64 = 5e-5;

/// Expected histograms of a pair of images, in double precision.
pub struct Reference {
    bins: usize,
    /// The expected sums Σw, Σw·y and Σw·y² over the voxels of each bin; one list for each of the three sums.
    sums: [Vec<f64>; 3],
    counts: Vec<f64>,
    /// For each cell of the joint histogram, the number of voxels that rounding may move into or out of the cell,
    /// because they are near a border between bins or near the border of the image.
    doubtful: Vec<f64>,
    doubtful_inside: Vec<f64>,
    /// Largest magnitude of the moving image's values at the fixed voxels.
    largest: f64,
    given: bool,
}

impl Reference {
    /// Computes the expected histograms of all fixed voxels that lie inside the moving image. Each voxel has weight 1.
    pub fn new(subject: &Subject, how: How, bins: usize) -> Reference {
        let values = if how == How::Given { &subject.given } else { &subject.moving };
        let low = f64::from(values.iter().copied().fold(f32::INFINITY, f32::min));
        let high = f64::from(values.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let per_unit = if high > low { bins as f64 / (high - low) } else { 0.0 };
        let uncertainty = if how == How::Given { 1e-6 * bins as f64 } else { VALUES * bins as f64 };
        let mut reference = Reference {
            bins,
            sums: std::array::from_fn(|_| vec![0.0; bins]),
            counts: vec![0.0; bins * bins],
            doubtful: vec![0.0; bins * bins],
            doubtful_inside: vec![0.0; bins],
            largest: low.abs().max(high.abs()),
            given: how == How::Given,
        };
        let clamp = |position: f64| position.clamp(0.0, bins as f64 - 1.0) as usize;
        for (voxel, fixed) in subject.fixed.binned(bins).into_iter().enumerate() {
            let fixed = usize::from(fixed);
            let (inside, value) = match how {
                How::Given => (f64::INFINITY, f64::from(subject.given[voxel])),
                _ => {
                    let sample = subject.sample(voxel);
                    (sample.inside, sample.value)
                }
            };
            let position = (value - low) * per_unit;
            let moving = clamp(position);
            if inside >= 0.0 {
                let powers = [1.0, value, value * value];
                reference.sums.iter_mut().zip(powers).for_each(|(sums, power)| sums[fixed] += power);
                reference.counts[fixed * bins + moving] += 1.0;
            }
            let at_border = inside.abs() < COORDINATES;
            if at_border {
                reference.doubtful_inside[fixed] += 1.0;
            }
            let (below, above) = (clamp(position - uncertainty), clamp(position + uncertainty));
            if at_border || below != above {
                (below..=above).for_each(|moving| reference.doubtful[fixed * bins + moving] += 1.0);
            }
        }
        reference
    }

    /// Compares sums with the expected sums. Returns the largest relative deviation, and whether all deviations are
    /// within the tolerances.
    pub fn compare_sums(&self, scheme: CrScheme, found: &CrSums) -> (f64, bool) {
        let (mut worst, mut agree) = (0.0_f64, true);
        for ((expected, found), power) in
            self.sums.iter().zip([&found.weight, &found.sum, &found.square]).zip([0, 1, 2])
        {
            let allowed = (0..self.bins).map(|bin| self.allowed(scheme, power, bin));
            // The correlation ratio needs Σw·y² only as a total over all bins. So the algorithm `Skipping` computes a
            // single sum of squares, not a sum for each bin.
            let expected: Vec<(f64, f64)> = match (scheme, found.len()) {
                (CrScheme::Skipping, 1) => vec![(expected.iter().sum(), allowed.sum())],
                _ => expected.iter().copied().zip(allowed).collect(),
            };
            agree &= expected.len() == found.len();
            for ((expected, allowed), found) in expected.iter().zip(found) {
                let difference = (expected - found).abs();
                agree &= difference <= *allowed;
                worst = worst.max(if difference > 0.0 { difference / expected.abs().max(1e-9) } else { 0.0 });
            }
        }
        (worst, agree)
    }

    /// Tolerance of the sum Σ w·y^`power` over the voxels of a bin, where y is the moving value and w its weight.
    fn allowed(&self, scheme: CrScheme, power: i32, bin: usize) -> f64 {
        let (voxels, expected) = (self.sums[0][bin], self.sums[power as usize][bin]);
        // If n terms of one sign are added in single precision, the rounding error is at most n·2⁻²⁴ of the sum. The
        // algorithm `GlobalAtomic` adds all voxels of a bin to one sum. In the other algorithms with sums in single
        // precision, each thread block or thread has its own sum, of some thousand terms.
        let terms = if scheme == CrScheme::GlobalAtomic { voxels } else { voxels.min(20_000.0) };
        let rounding = (terms + 100.0) * f64::from(f32::EPSILON) / 2.0 * expected.abs();
        let sampling = if self.given { 0.0 } else { voxels * 2.0 * VALUES * self.largest.powi(power) };
        let border = self.doubtful_inside[bin] * self.largest.powi(power);
        // The algorithms `Slabs` and `Skipping` round values to units of 2⁻¹⁶ of the range. The error of a sum is at
        // most three half units for each voxel.
        let in_units = matches!(scheme, CrScheme::Slabs | CrScheme::Skipping);
        let units = if in_units { voxels * 1.5 / 65536.0 * self.largest.powi(power) } else { 0.0 };
        rounding + sampling + border + units
    }

    /// Compares counts with the expected counts. Returns the share of voxels that are counted in another bin than
    /// expected, and whether all of these voxels are near a border.
    pub fn compare_counts(&self, found: &[u32]) -> (f64, bool) {
        if found.len() != self.bins * self.bins {
            return (1.0, false);
        }
        let differences = self.counts.iter().zip(found).map(|(expected, found)| (expected - f64::from(*found)).abs());
        let agree = differences.clone().zip(&self.doubtful).all(|(difference, doubtful)| difference <= *doubtful);
        (differences.sum::<f64>() / self.counts.iter().sum::<f64>().max(1.0), agree)
    }
}
