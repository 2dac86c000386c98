//! Histogram matching of two images, as in ITK's `HistogramMatchingImageFilter`.
//!
//! In both images, landmarks divide the voxels above the mean into equal shares. Intensities between two landmarks
//! are mapped linearly to those between the same landmarks of the other image (Nyúl, Udupa & Zhang 2000). Below the
//! mean and above the last landmark, one linear map each is used.

use rayon::prelude::*;

/// Number of bins of the intensity histogram of each image, for histogram matching.
const BINS: usize = 256;
/// Number of landmarks for histogram matching, between the mean and the largest intensity of an image.
const POINTS: usize = 12;
/// Number of voxels of an image that one parallel task processes.
const PIECE: usize = 1 << 16;

/// Landmarks of an image's intensities: its minimum, its mean, values that divide the voxels above the mean into
/// equal shares, and its maximum.
#[derive(Debug, Clone, PartialEq)]
pub struct Landmarks {
    darkest: f64,
    /// Intensities of the landmarks for histogram matching, from the image's mean to its maximum, in ascending order.
    values: [f64; POINTS + 2],
}

impl Landmarks {
    /// Computes from an image's intensities the landmarks for histogram matching; `None` if `voxels` is empty.
    pub fn of(voxels: &[f32]) -> Option<Landmarks> {
        let pieces = || voxels.par_chunks(PIECE);
        let darkest =
            f64::from(pieces().map(|piece| piece.iter().copied().fold(f32::NAN, f32::min)).reduce_with(f32::min)?);
        let brightest =
            f64::from(pieces().map(|piece| piece.iter().copied().fold(f32::NAN, f32::max)).reduce_with(f32::max)?);
        // The sums of intensities from the parallel tasks are added in order, so that the image's mean does not depend
        // on the number of threads.
        let sums: Vec<f64> = pieces().map(|piece| piece.iter().map(|value| f64::from(*value)).sum()).collect();
        let mean = sums.iter().sum::<f64>() / voxels.len() as f64;
        let width = (brightest - mean) / BINS as f64;
        let count = |piece: &[f32]| {
            let mut histogram = [0u64; BINS];
            for value in piece.iter().map(|value| f64::from(*value)).filter(|value| *value >= mean) {
                // The maximum intensity belongs to the last bin of the histogram. In an image of equal values, all
                // voxels belong to the first bin, because 0/0 becomes bin 0.
                let bin = ((value - mean) / width) as usize;
                histogram[bin.min(BINS - 1)] += 1;
            }
            histogram
        };
        let add = |a: [u64; BINS], b: [u64; BINS]| std::array::from_fn(|bin| a[bin] + b[bin]);
        let histogram = pieces().map(count).reduce_with(add)?;
        let mut landmarks = Landmarks { darkest, values: [mean; POINTS + 2] };
        for (n, value) in landmarks.values[..=POINTS].iter_mut().enumerate().skip(1) {
            *value = mean + width * quantile(&histogram, n as f64 / (POINTS + 1) as f64);
        }
        landmarks.values[POINTS + 1] = brightest;
        Some(landmarks)
    }

    /// Maps the intensities of an image so that its landmarks take the values of another image's landmarks. `self`
    /// are the landmarks of `voxels`.
    pub fn match_to(&self, other: &Landmarks, voxels: &mut [f32]) {
        let slope = |from: f64, to: f64| if from == 0.0 { 0.0 } else { to / from };
        let below = slope(self.values[0] - self.darkest, other.values[0] - other.darkest);
        let pairs = || self.values.windows(2).zip(other.values.windows(2));
        let slopes: Vec<f64> = pairs().map(|(from, to)| slope(from[1] - from[0], to[1] - to[0])).collect();
        let map = |value: f64| match self.values.iter().position(|landmark| value < *landmark) {
            Some(0) => other.darkest + (value - self.darkest) * below,
            Some(n) => other.values[n - 1] + (value - self.values[n - 1]) * slopes[n - 1],
            None => other.values[POINTS + 1],
        };
        let voxels = voxels.par_iter_mut().with_min_len(PIECE);
        voxels.for_each(|voxel| *voxel = map(f64::from(*voxel)) as f32);
    }
}

/// The quantile of a histogram, in bins: the position below which this share of the entries lies (above 0, below 1). As
/// in ITK, the counts are added up from the first bin for shares below ½, else from the last bin.
fn quantile(histogram: &[u64; BINS], share: f64) -> f64 {
    let total = histogram.iter().sum::<u64>() as f64;
    let mut reached = 0.0;
    if share < 0.5 {
        for (bin, count) in histogram.iter().enumerate() {
            let own = *count as f64 / total;
            if reached + own >= share {
                return bin as f64 + (share - reached) / own;
            }
            reached += own;
        }
        return BINS as f64;
    }
    for (bin, count) in histogram.iter().enumerate().rev() {
        let own = *count as f64 / total;
        if reached + own >= 1.0 - share {
            return (bin + 1) as f64 - (1.0 - share - reached) / own;
        }
        reached += own;
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_count_from_the_nearer_end() {
        let histogram = |counts: &[(usize, u64)]| {
            let mut histogram = [0; BINS];
            counts.iter().for_each(|(bin, count)| histogram[*bin] = *count);
            histogram
        };
        assert_eq!(quantile(&histogram(&[(0, 4), (10, 4)]), 0.25), 0.5);
        assert_eq!(quantile(&histogram(&[(0, 4), (10, 4)]), 0.875), 10.75);
        // All bins between the two that have entries are possible quantiles. From the first bin, the quantile is the end
        // of bin 10, and from the last bin, the start of bin 200.
        assert_eq!(quantile(&histogram(&[(10, 1), (200, 3)]), 0.25), 11.0);
        assert_eq!(quantile(&histogram(&[(10, 1), (200, 1)]), 0.5), 200.0);
        assert_eq!(quantile(&histogram(&[(10, 3), (200, 1)]), 0.75), 200.0);
    }

    #[test]
    fn an_image_repeated_many_times_has_the_same_landmarks() {
        let once: Vec<f32> = (0..1000).map(|n| (n * 7919 % 1000 * n / 500) as f32).collect();
        let many = once.repeat(2 * PIECE / 1000 + 1);
        assert!(many.len() > 2 * PIECE);
        // Sums of integers are exact, and all shares of voxels are quotients of the same value.
        assert_eq!(Landmarks::of(&many), Landmarks::of(&once));
    }
}
