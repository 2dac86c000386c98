//! Parsers for numbers on the command line.

/// Parses a finite number above 0.
pub fn positive(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
    value.ok_or_else(|| format!("expected a number above 0, found `{text}`"))
}

/// Parses a whole number of at least 1.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    let value = text.parse().ok().filter(|value: &usize| *value >= 1);
    value.ok_or_else(|| format!("expected a whole number of at least 1, found `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert_eq!(positive("0.5"), Ok(0.5));
        assert_eq!(at_least_one("3"), Ok(3));
        assert!(["0", "-1", "inf", "nan", ""].into_iter().all(|text| positive(text).is_err()));
        assert!(["0", "-1", "1.5", ""].into_iter().all(|text| at_least_one(text).is_err()));
    }
}
