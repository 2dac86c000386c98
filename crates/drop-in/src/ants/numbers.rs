//! Numbers on command lines and in printed output, in the notation of C++.

use antsreg_console::Refusal;

/// Formats a number as C++ streams do by default: six significant digits, without zeros at the end.
pub fn general(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return match value {
            _ if value.is_nan() => "nan".into(),
            _ if value.is_infinite() => if value > 0.0 { "inf" } else { "-inf" }.into(),
            _ => "0".into(),
        };
    }
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        trimmed(&format!("{value:.*}", (5 - exponent) as usize))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
    }
}

/// Reads numbers separated by `x`, such as `1x1x2`.
///
/// # Errors
/// A part that is no number.
pub fn vector(word: &str) -> Result<Vec<f64>, Refusal> {
    let number = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite());
    let numbers: Option<Vec<f64>> = word.split('x').map(number).collect();
    numbers.ok_or_else(|| Refusal::new(word, "expected numbers such as 1x1x2"))
}

/// Reads one number for each axis, or one number for all.
///
/// # Errors
/// A part that is no number; another count of numbers.
pub fn of_axes(word: &str, axes: usize) -> Result<[f64; 3], Refusal> {
    let numbers = vector(word)?;
    match numbers.len() {
        1 => Ok([numbers[0]; 3]),
        count if count == axes => Ok(std::array::from_fn(|axis| numbers.get(axis).copied().unwrap_or(numbers[0]))),
        count => Err(Refusal::new(word, format!("expected 1 or {axes} numbers separated by x, found {count}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_by_cpp_streams() {
        for (value, text) in [
            (0.1, "0.1"),
            (123456.7, "123457"),
            (1234567.0, "1.23457e+06"),
            (0.00001234567, "1.23457e-05"),
            (-2.5, "-2.5"),
            (100.0, "100"),
            (999999.6, "1e+06"),
        ] {
            assert_eq!(general(value), text);
        }
    }
}
