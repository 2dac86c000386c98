//! A mixture of three Gaussians, fitted to a histogram by expectation and maximisation (Dempster, Laird and Rubin 1977).

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use super::Histogram;

/// The fit starts with three classes that divide the sorted intensities: the second and the third class begin at these
/// shares of all intensities.
const STARTS: [f64; 2] = [0.2, 0.6];
/// Largest number of iterations of the fit of a mixture.
const MOST_ITERATIONS: usize = 1000;
/// The fit of the mixture ends when an iteration changes no class's mean by more than this share of the width of a
/// histogram bin.
const SMALL_CHANGE: f64 = 1e-4;

/// A class of a mixture: a Gaussian.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// Share of the intensities that belong to the class, 0 to 1.
    pub share: f64,
    /// Mean of the intensities that belong to the class.
    pub mean: f64,
    /// Standard deviation of the intensities that belong to the class.
    pub deviation: f64,
}

/// A mixture of three Gaussians in ascending order of their means. In a T1-weighted image of a brain, these are fluid,
/// grey matter and white matter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Mixture {
    /// The Gaussians of the mixture (classes of intensities), the darkest first.
    pub classes: [Class; 3],
}

impl Class {
    /// The share of the class times its probability density at an intensity.
    fn density(&self, value: f64) -> f64 {
        let distance = (value - self.mean) / self.deviation;
        self.share / (self.deviation * TAU.sqrt()) * (-0.5 * distance * distance).exp()
    }
}

impl Mixture {
    /// Fits a mixture of three Gaussians to a histogram of intensities. The initial Gaussians depend only on quantiles
    /// of the histogram.
    pub fn fit(histogram: &Histogram) -> Mixture {
        let mut below = 0.0;
        let total = histogram.total();
        let parts: Vec<[f64; 3]> = histogram
            .bins()
            .map(|(_, count)| {
                let share = (below + 0.5 * count) / total;
                below += count;
                let part = STARTS.iter().filter(|start| share > **start).count();
                std::array::from_fn(|class| f64::from(u8::from(class == part)))
            })
            .collect();
        let mut mixture = Mixture::of(histogram, &parts);
        for _ in 0..MOST_ITERATIONS {
            let parts: Vec<[f64; 3]> = histogram.bins().map(|(value, _)| mixture.posteriors(value)).collect();
            let next = Mixture::of(histogram, &parts);
            let changes = next.classes.iter().zip(&mixture.classes).map(|(a, b)| (a.mean - b.mean).abs());
            let change = changes.fold(0.0, f64::max);
            mixture = next;
            if change <= SMALL_CHANGE * histogram.width() {
                break;
            }
        }
        mixture.classes.sort_by(|a, b| a.mean.total_cmp(&b.mean));
        mixture
    }

    /// Returns the mixture that fits a histogram best, given which share of the voxels in each bin belongs to each
    /// class (`parts`).
    fn of(histogram: &Histogram, parts: &[[f64; 3]]) -> Mixture {
        let total = histogram.total();
        let classes = std::array::from_fn(|class| {
            let weighted =
                || histogram.bins().zip(parts).map(|((value, count), parts)| (value, count * parts[class]));
            // A class that loses all intensities keeps a tiny share, so that its mean and deviation are numbers.
            let weight = weighted().map(|(_, weight)| weight).sum::<f64>().max(f64::MIN_POSITIVE);
            let mean = weighted().map(|(value, weight)| value * weight).sum::<f64>() / weight;
            let square =
                weighted().map(|(value, weight)| (value - mean) * (value - mean) * weight).sum::<f64>() / weight;
            Class { share: weight / total, mean, deviation: square.sqrt().max(histogram.width()) }
        });
        Mixture { classes }
    }

    /// The probabilities that an intensity belongs to each class; their sum is 1.
    fn posteriors(&self, value: f64) -> [f64; 3] {
        let densities = self.classes.map(|class| class.density(value));
        let sum = densities.iter().sum::<f64>();
        if sum > 0.0 {
            return densities.map(|density| density / sum);
        }
        // Far from all classes, the densities are too small for a floating-point number and become 0. Such an intensity
        // belongs to the class with the nearest mean, measured in standard deviations.
        let apart = |class: &Class| ((value - class.mean) / class.deviation).abs();
        let nearest = (0..3).min_by(|a, b| apart(&self.classes[*a]).total_cmp(&apart(&self.classes[*b])));
        std::array::from_fn(|class| f64::from(u8::from(Some(class) == nearest)))
    }

    /// The intensity of a voxel that is half grey and half white matter: the middle between the means of the two
    /// brightest classes. Above it, the brightest class prevails if both classes have equal shares and deviations.
    ///
    /// The fitted deviations are not used here. Voxels of grey matter with parts of other tissue widen the class of grey
    /// matter, and with the fitted deviations this class would also take the voxels at the border that are mostly white
    /// matter.
    pub fn threshold(&self) -> f64 {
        0.5 * (self.classes[1].mean + self.classes[2].mean)
    }

    /// Difference between the means of the two brightest classes, divided by the mean of their standard deviations.
    pub fn contrast(&self) -> f64 {
        let [_, grey, white] = self.classes;
        (white.mean - grey.mean) / (0.5 * (white.deviation + grey.deviation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Intensities drawn from each class with a fixed sequence of random numbers. The sum of 12 uniform numbers, minus 6,
    /// is almost a standard normal variable.
    fn drawn(classes: &[Class; 3], count: usize) -> Vec<f32> {
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut values = Vec::new();
        for class in classes {
            for _ in 0..(class.share * count as f64) as usize {
                let normal = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                values.push((class.mean + class.deviation * normal) as f32);
            }
        }
        values
    }

    fn class(share: f64, mean: f64, deviation: f64) -> Class {
        Class { share, mean, deviation }
    }

    #[test]
    fn the_mixture_that_made_the_data_is_found() {
        for classes in [
            [class(0.15, 40.0, 12.0), class(0.45, 80.0, 8.0), class(0.40, 115.0, 6.0)],
            [class(0.30, 300.0, 60.0), class(0.40, 600.0, 50.0), class(0.30, 800.0, 40.0)],
            [class(0.10, 0.2, 0.05), class(0.60, 0.5, 0.06), class(0.30, 0.75, 0.04)],
        ] {
            let histogram = Histogram::of(&drawn(&classes, 200_000)).expect("different values");
            let mixture = Mixture::fit(&histogram);
            for (found, truth) in mixture.classes.iter().zip(&classes) {
                // The standard error of a class's mean is about 0.01 of the class's standard deviation, and that of its
                // share about 0.002. The errors are several times as large where classes overlap, and because the
                // histogram leaves out the tails.
                assert!((found.mean - truth.mean).abs() < 0.1 * truth.deviation, "{found:?} for {truth:?}");
                assert!((found.deviation / truth.deviation - 1.0).abs() < 0.1, "{found:?} for {truth:?}");
                assert!((found.share - truth.share).abs() < 0.02, "{found:?} for {truth:?}");
            }
            let truth = Mixture { classes };
            assert!((mixture.contrast() / truth.contrast() - 1.0).abs() < 0.05, "{}", mixture.contrast());
        }
    }

    #[test]
    fn equal_classes_are_equally_probable_at_the_threshold() {
        let mixture = Mixture { classes: [class(0.2, 0.0, 1.0), class(0.4, 100.0, 10.0), class(0.4, 140.0, 10.0)] };
        assert_eq!(mixture.threshold(), 120.0);
        assert_eq!(mixture.contrast(), 4.0);
        // At the threshold between the two brightest classes, the probability density of the darkest class is
        // practically 0.
        assert!((mixture.posteriors(120.0)[2] - 0.5).abs() < 1e-12);
        assert_eq!(mixture.posteriors(1e9), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn a_mixture_of_two_values_has_finite_numbers() {
        let values: Vec<f32> = (0..1000).map(|n| if n % 3 == 0 { 1.0 } else { 2.0 }).collect();
        let mixture = Mixture::fit(&Histogram::of(&values).expect("different values"));
        let numbers = mixture.classes.iter().flat_map(|class| [class.share, class.mean, class.deviation]);
        assert!(numbers.clone().all(f64::is_finite), "{mixture:?}");
        assert!(mixture.threshold().is_finite());
    }
}
