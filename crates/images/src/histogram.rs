//! Histograms with bins of equal width, and their quantiles: ITK's `Histogram`.

/// A histogram of intensities.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Number of intensities in each bin.
    pub counts: Vec<f64>,
    /// Lower limits of the bins, and the upper limit of the last bin.
    limits: Vec<f64>,
}

impl Histogram {
    /// Counts intensities in `bins` bins from the lower to the upper of `limits`; both belong to bins. Intensities
    /// outside are left out.
    pub fn of(values: &[f32], bins: usize, limits: [f64; 2]) -> Histogram {
        // ITK computes the width of the bins in single precision.
        let width = f64::from(limits[1] as f32 - limits[0] as f32) / bins as f64;
        let limits: Vec<f64> = (0..bins).map(|bin| limits[0] + bin as f64 * width).chain([limits[1]]).collect();
        let mut counts = vec![0.0; bins];
        for value in values.iter().map(|value| f64::from(*value)) {
            let above = limits.partition_point(|limit| *limit <= value);
            match above.checked_sub(1) {
                Some(bin) if bin < bins => counts[bin] += 1.0,
                Some(_) if value == limits[bins] => counts[bins - 1] += 1.0,
                _ => {}
            }
        }
        Histogram { counts, limits }
    }

    /// Upper limit of a bin.
    pub fn upper_limit(&self, bin: usize) -> f64 {
        self.limits[bin + 1]
    }

    /// Middle of a bin.
    pub fn middle(&self, bin: usize) -> f64 {
        (self.limits[bin] + self.limits[bin + 1]) / 2.0
    }

    /// The intensity below which a share of all counted intensities lies; within a bin by linear interpolation.
    pub fn quantile(&self, share: f64) -> f64 {
        let total: f64 = self.counts.iter().sum();
        let bins = self.counts.len();
        let mut sum = 0.0;
        let from_below = share < 0.5;
        for n in 0..bins {
            let bin = if from_below { n } else { bins - 1 - n };
            let (before, count) = (sum, self.counts[bin]);
            sum += count;
            let (low, high) = (self.limits[bin], self.limits[bin + 1]);
            if from_below && (sum / total >= share || n + 1 == bins) {
                return low + (share - before / total) / (count / total) * (high - low);
            }
            if !from_below && (1.0 - sum / total <= share || n + 1 == bins) {
                return high - (1.0 - before / total - share) / (count / total) * (high - low);
            }
        }
        f64::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_the_counted_values() {
        let values: Vec<f32> = (0..=100).map(|n| n as f32).collect();
        let histogram = Histogram::of(&values, 20, [0.0, 100.0]);
        assert_eq!(histogram.counts.iter().sum::<f64>(), 101.0);
        assert_eq!((histogram.middle(0), histogram.upper_limit(19)), (2.5, 100.0));
        for share in [0.01, 0.25, 0.5, 0.75, 0.99] {
            assert!((histogram.quantile(share) - 100.0 * share).abs() < 1.0, "{share}");
        }
    }
}
