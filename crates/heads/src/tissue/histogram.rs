//! Histograms of intensities.

use antsreg_core::intensity::quantiles;

/// Number of bins of a histogram.
const BINS: usize = 256;
/// The bins of the histogram cover the intensities between these two quantiles of the image. Intensities outside, such
/// as those of vessels, are left out.
const RANGE: [f64; 2] = [0.001, 0.999];

/// A histogram of intensities with bins of equal width.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Intensity at the lower end of the histogram's first bin.
    least: f64,
    /// Width of each bin of the histogram, in units of the image's intensities.
    width: f64,
    counts: Vec<f64>,
}

impl Histogram {
    /// Counts intensities, except the darkest and the brightest 0.1 %. `None` if all are equal or none is finite.
    pub fn of(values: &[f32]) -> Option<Histogram> {
        let (low, high) = quantiles(values, RANGE[0], RANGE[1])?;
        let (least, width) = (f64::from(low), (f64::from(high) - f64::from(low)) / BINS as f64);
        if width <= 0.0 {
            return None;
        }
        let mut counts = vec![0.0; BINS];
        for value in values.iter().filter(|value| (low..=high).contains(value)) {
            let bin = (f64::from(*value) - least) / width;
            counts[(bin as usize).min(BINS - 1)] += 1.0;
        }
        Some(Histogram { least, width, counts })
    }

    /// The centre and the count of each bin, in ascending order of intensity.
    pub fn bins(&self) -> impl Iterator<Item = (f64, f64)> + Clone {
        self.counts.iter().enumerate().map(|(bin, count)| (self.least + (bin as f64 + 0.5) * self.width, *count))
    }

    /// Width of each bin of the histogram, in units of the image's intensities.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// Number of intensities that the histogram counts, over all bins.
    pub fn total(&self) -> f64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intensities_are_counted_in_equal_bins() {
        let values: Vec<f32> = (0..=100_000).map(|n| n as f32).collect();
        let histogram = Histogram::of(&values).expect("different values");
        // The darkest and the brightest 0.1 % of the values are left out. The other values are divided equally among
        // the bins.
        assert_eq!(histogram.total(), 99_801.0);
        assert_eq!(histogram.width(), 99_800.0 / 256.0);
        let (first, last) = (histogram.bins().next().expect("a bin"), histogram.bins().last().expect("a bin"));
        assert_eq!(first.0, 100.0 + 0.5 * histogram.width());
        assert_eq!(last.0, 99_900.0 - 0.5 * histogram.width());
        assert!(histogram.bins().all(|(_, count)| (count - 99_801.0 / 256.0).abs() < 1.5));
    }

    #[test]
    fn equal_or_missing_intensities_have_no_histogram() {
        assert_eq!(Histogram::of(&[3.0; 50]), None);
        assert_eq!(Histogram::of(&[f32::NAN; 50]), None);
        assert_eq!(Histogram::of(&[]), None);
    }
}
