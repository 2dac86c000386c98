//! Members of a group of images that are unlike the others.

use antsreg_report::robust::{NORMAL, median};

/// A value is an outlier if it lies this many robust standard deviations below the median.
const DEVIATIONS: f64 = 4.0;
/// Lower limit for the robust standard deviation of correlations. Even without a failed registration, the correlations of
/// similar subjects after affine registration vary by this much.
const LEAST_DEVIATION: f64 = 0.03;

/// The correlation below which a member of a group is an outlier. `values` are the correlations of all members with one
/// image.
pub fn lowest_usual(values: &[f64]) -> f64 {
    let middle = median(values.to_vec());
    let deviation = NORMAL * median(values.iter().map(|value| (value - middle).abs()).collect());
    middle - DEVIATIONS * deviation.max(LEAST_DEVIATION)
}

/// The members whose value differs from that of more than half of all members, with this most frequent value.
pub fn unlike_most<T: Copy + PartialEq>(values: &[Option<T>]) -> Option<(T, Vec<usize>)> {
    let known = || values.iter().flatten();
    let most = *known().max_by_key(|value| known().filter(|other| other == value).count())?;
    let unlike: Vec<usize> = (0..values.len()).filter(|n| values[*n].is_some_and(|value| value != most)).collect();
    (2 * unlike.len() < known().count()).then_some((most, unlike))
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

    #[test]
    fn the_minority_is_unlike() {
        assert_eq!(unlike_most(&[Some(1), None, Some(2), Some(1)]), Some((1, vec![2])));
        assert_eq!(unlike_most(&[Some(1), Some(2)]), None);
        assert_eq!(unlike_most::<u8>(&[None]), None);
    }
}
