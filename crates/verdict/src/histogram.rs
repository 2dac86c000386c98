//! Mutual information and correlation of pairs of intensities.

use rayon::prelude::*;

/// Number of bins of each image's intensities. Some 10,000 pairs fill 24 × 24 bins well.
const BINS: usize = 24;

/// A joint histogram of two intensities from 0 to 1, with the sums for their correlation.
#[derive(Debug, Clone)]
pub(crate) struct Joint {
    counts: [f64; BINS * BINS],
    sums: [f64; 5],
    total: f64,
}

impl Joint {
    pub fn new() -> Joint {
        Joint { counts: [0.0; BINS * BINS], sums: [0.0; 5], total: 0.0 }
    }

    /// The histogram of the pairs that `pair` gives for the numbers up to `count`. Parts of a fixed size are added in
    /// order, so that the sums do not depend on the number of threads.
    pub fn of(count: usize, pair: impl Fn(usize) -> Option<[f32; 2]> + Sync) -> Joint {
        const PART: usize = 2048;
        let part = |first: usize| {
            let mut joint = Joint::new();
            let pairs = (first..count.min(first + PART)).filter_map(&pair);
            pairs.for_each(|[first, second]| joint.add(first, second));
            joint
        };
        let parts: Vec<Joint> = (0..count).into_par_iter().step_by(PART).map(part).collect();
        let mut parts = parts.into_iter();
        let first = parts.next().unwrap_or_else(Joint::new);
        parts.fold(first, |mut sum, part| {
            sum.counts.iter_mut().zip(part.counts).for_each(|(sum, count)| *sum += count);
            sum.sums.iter_mut().zip(part.sums).for_each(|(sum, term)| *sum += term);
            sum.total += part.total;
            sum
        })
    }

    /// Adds a pair of intensities. The second is shared between its two nearest bins, so that the measures change
    /// smoothly with a transform.
    pub fn add(&mut self, first: f32, second: f32) {
        let last = (BINS - 1) as f32;
        let row = ((first * last + 0.5) as usize).min(BINS - 1);
        let at = (second * last).clamp(0.0, last);
        let column = (at as usize).min(BINS - 2);
        let share = f64::from(at - column as f32);
        self.counts[row * BINS + column] += 1.0 - share;
        self.counts[row * BINS + column + 1] += share;
        let [a, b] = [f64::from(first), f64::from(second)];
        for (sum, term) in self.sums.iter_mut().zip([a, b, a * a, b * b, a * b]) {
            *sum += term;
        }
        self.total += 1.0;
    }

    /// Number of pairs.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The mutual information as a share of the mean entropy, 2·I(A, B)/(H(A) + H(B)): 0 if independent, 1 if one
    /// intensity determines the other (Maes et al. 1997). 0 without pairs or contrast.
    pub fn information(&self) -> f64 {
        let (mut rows, mut columns, mut joint) = ([0.0; BINS], [0.0; BINS], 0.0);
        let entropy = |count: f64| if count > 0.0 { -(count / self.total) * (count / self.total).ln() } else { 0.0 };
        for (n, count) in self.counts.iter().enumerate() {
            rows[n / BINS] += count;
            columns[n % BINS] += count;
            joint += entropy(*count);
        }
        let [first, second] = [rows, columns].map(|counts| counts.into_iter().map(entropy).sum::<f64>());
        if first + second > 1e-9 { (2.0 * (1.0 - joint / (first + second))).max(0.0) } else { 0.0 }
    }

    /// The squared correlation of both intensities; 0 without pairs or contrast.
    pub fn explained(&self) -> f64 {
        let [a, b, aa, bb, ab] = self.sums.map(|sum| sum / self.total);
        let variances = (aa - a * a) * (bb - b * b);
        if variances > 1e-12 { (ab - a * b).powi(2) / variances } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn information_is_one_for_a_function_and_zero_for_independent_values() {
        let (mut same, mut apart, mut inverse) = (Joint::new(), Joint::new(), Joint::new());
        for a in 0..BINS {
            for b in 0..BINS {
                let [a, b] = [a, b].map(|n| n as f32 / (BINS - 1) as f32);
                same.add(a, a);
                inverse.add(a, 1.0 - a);
                apart.add(a, b);
            }
        }
        for joint in [&same, &inverse] {
            assert!((joint.information() - 1.0).abs() < 1e-3, "{}", joint.information());
            assert!((joint.explained() - 1.0).abs() < 1e-6, "{}", joint.explained());
        }
        assert!(apart.information() < 1e-6 && apart.explained() < 1e-9);
        assert_eq!(Joint::new().information(), 0.0);
    }
}
