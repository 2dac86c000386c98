//! Robust statistics: medians, and distances from them in robust standard deviations.

/// Factor by which the median absolute deviation of values is multiplied to estimate their standard deviation, if they
/// are normally distributed.
pub const NORMAL: f64 = 1.4826;
/// Factor by which the mean absolute deviation is multiplied to estimate the standard deviation of a normal
/// distribution.
const NORMAL_OF_MEAN: f64 = 1.2533;

/// The median of the values; NaN if there are no values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[count / 2],
        count => 0.5 * (values[count / 2 - 1] + values[count / 2]),
    }
}

/// Robust z scores (Iglewicz and Hoaglin 1993): the distance of each finite value from the median, in robust standard
/// deviations. The robust standard deviation is estimated from the median absolute deviation, or from the mean absolute
/// deviation if more than half of the values are equal. `None` for values that are not finite, and for all values if
/// fewer than `least` are finite or all are equal.
pub fn robust_z(values: &[Option<f64>], least: usize) -> Vec<Option<f64>> {
    let finite: Vec<f64> = values.iter().flatten().copied().filter(|value| value.is_finite()).collect();
    let middle = median(finite.clone());
    let away: Vec<f64> = finite.iter().map(|value| (value - middle).abs()).collect();
    let mean = NORMAL_OF_MEAN * away.iter().sum::<f64>() / away.len().max(1) as f64;
    let deviation = Some(NORMAL * median(away)).filter(|deviation| *deviation > 0.0).unwrap_or(mean);
    let known = finite.len() >= least && deviation > 0.0;
    let z = |value: &Option<f64>| {
        value.filter(|value| value.is_finite() && known).map(|value| (value - middle) / deviation)
    };
    values.iter().map(z).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_those_of_sorted_values() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![3.0, 1.0, 2.0, 10.0]), 2.5);
        assert!(median(vec![]).is_nan());
    }

    #[test]
    fn one_far_value_does_not_hide_itself() {
        let values = [1.0, 2.0, 3.0, 4.0, 100.0].map(Some);
        let z = robust_z(&values, 4);
        assert_eq!(z[2], Some(0.0));
        assert!((z[4].unwrap() - 97.0 / NORMAL).abs() < 1e-9);
        assert!((z[0].unwrap() + 2.0 / NORMAL).abs() < 1e-9);
    }

    #[test]
    fn equal_values_and_few_have_no_distance() {
        assert_eq!(robust_z(&[Some(1.0); 6], 4), [None; 6]);
        assert_eq!(robust_z(&[Some(1.0), Some(2.0), None], 4), [None; 3]);
        let most = [0.0, 0.0, 0.0, 0.0, 5.0].map(Some);
        assert!((robust_z(&most, 4)[4].unwrap() - 5.0 / NORMAL_OF_MEAN).abs() < 1e-9);
        let odd = [Some(1.0), Some(f64::NAN), None, Some(2.0), Some(4.0), Some(3.0)];
        assert_eq!(
            robust_z(&odd, 4).iter().map(Option::is_some).collect::<Vec<_>>(),
            [true, false, false, true, true, true]
        );
    }
}
