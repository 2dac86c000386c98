//! Histograms of the logarithms of intensities, and the table of the expected logarithm without shading (the sharp
//! logarithm) for each measured logarithm.

use std::ops::RangeInclusive;

/// A sample of a histogram counts as this number of units, which are divided between the two nearest bins. Units are
/// whole numbers, so that the sums do not depend on the order.
pub(crate) const WHOLE: f64 = 65_536.0;

/// Histogram of logarithms. Each sample is divided linearly between the two nearest bins.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// The smallest logarithm of a sample; it lies in the middle of the first bin.
    pub low: f64,
    /// The largest logarithm of a sample; it lies in the middle of the last bin.
    pub high: f64,
    /// Number of samples in each bin, in units of 1/65536 of a sample; all 0 if all samples have the same logarithm.
    pub shares: Vec<u64>,
}

impl Histogram {
    /// Allowed numbers of bins of a histogram.
    pub const BINS: RangeInclusive<usize> = 2..=65_536;

    /// Distance between the middles of two neighbouring bins.
    pub fn width(&self) -> f64 {
        width(self.low, self.high, self.shares.len())
    }

    /// Number of samples in each bin. It is not a whole number, because each sample is divided between two bins.
    pub fn counts(&self) -> Vec<f64> {
        self.shares.iter().map(|share| *share as f64 / WHOLE).collect()
    }
}

/// Returns the distance between the middles of two neighbouring bins, if the middle of the first of `bins` bins is at
/// `low` and that of the last bin at `high`.
pub(crate) fn width(low: f64, high: f64, bins: usize) -> f64 {
    (high - low) / (bins - 1) as f64
}

/// The expected sharp logarithm E\[u | v\] for each measured logarithm v, where u is the logarithm without shading.
#[derive(Debug, Clone, Copy)]
pub struct Sharpened<'a> {
    /// In N4's table of expected logarithms without shading: the measured logarithm v in the middle of the first bin.
    pub low: f64,
    /// Distance between the middles of two neighbouring bins; above 0.
    pub width: f64,
    /// Expected sharp logarithm E\[u | v\] for the measured logarithm v in the middle of each bin. Values between two
    /// middles are interpolated linearly.
    pub expected: &'a [f64],
}

impl Sharpened<'_> {
    /// Returns the residual of a sample: its measured logarithm minus the expected logarithm without shading.
    pub(crate) fn residual(&self, value: f64) -> f64 {
        let (bin, beyond) = place(value, self.low, self.width, self.expected.len());
        value - (self.expected[bin] + (self.expected[bin + 1] - self.expected[bin]) * beyond)
    }
}

/// Returns the index of the bin whose centre is at or below a value, and the distance of the value from this centre, in
/// bins. The index is never that of the last bin.
pub(crate) fn place(value: f64, low: f64, width: f64, bins: usize) -> (usize, f64) {
    let at = ((value - low) / width).max(0.0);
    let bin = (at as usize).min(bins - 2);
    (bin, (at - bin as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_counts_of_bins_between_low_and_high() {
        let histogram = Histogram { low: 1.0, high: 3.0, shares: vec![65_536, 32_768, 0, 0, 131_072] };
        assert_eq!(histogram.width(), 0.5);
        assert_eq!(histogram.counts(), [1.0, 0.5, 0.0, 0.0, 2.0]);
    }
}
