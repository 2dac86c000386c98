//! Subjects that are left out of the affine average, because their registration failed.

use antsreg_report::robust::{NORMAL, median};

use super::session::Session;

/// A subject whose correlation with the template lies this many robust standard deviations below the median is an
/// outlier.
const DEVIATIONS: f64 = 4.0;
/// Lower limit for the robust standard deviation of the correlations. Even without a failed registration, the
/// correlations of similar subjects after affine registration vary by this much.
const LEAST_DEVIATION: f64 = 0.03;

/// The outliers among the subjects of a template, as indices in its list of subjects. `correlations` holds the
/// correlation of each subject with the template.
pub fn outliers(session: &Session, correlations: &[f64]) -> Vec<usize> {
    let lowest = lowest_usual(correlations);
    let unusual = session.included.iter().zip(correlations).filter(|(_, correlation)| **correlation < lowest);
    unusual.map(|(subject, _)| *subject).collect()
}

/// The correlation with the template below which a subject is an outlier. `values` are the correlations of all
/// subjects.
fn lowest_usual(values: &[f64]) -> f64 {
    let middle = median(values.to_vec());
    let deviation = NORMAL * median(values.iter().map(|value| (value - middle).abs()).collect());
    middle - DEVIATIONS * deviation.max(LEAST_DEVIATION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_failures_are_outliers() {
        let alike = [1.0, 0.82, 0.80, 0.78, 0.81, 0.75];
        let lowest = lowest_usual(&alike);
        assert!(alike.iter().all(|value| *value >= lowest));
        assert!(lowest > 0.5, "a failed registration correlates by 0.3 or so: {lowest}");
    }
}
