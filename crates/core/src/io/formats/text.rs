//! Numbers in headers that are text.

use std::str::FromStr;

use super::super::{ErrorKind, FieldNotServed};

/// Reads the numbers of a field, separated by spaces. `most` is the largest number of them.
pub(in crate::io) fn numbers<T: FromStr>(field: &str, text: &str, most: usize) -> Result<Vec<T>, ErrorKind> {
    let words = text.split_whitespace().take(most + 1);
    let numbers: Vec<T> =
        words.map(|word| word.parse().ok()).collect::<Option<_>>().ok_or_else(|| wrong(field, text))?;
    if numbers.len() > most { Err(wrong(field, text)) } else { Ok(numbers) }
}

/// Reads the single number of a field.
pub(in crate::io) fn number<T: FromStr>(field: &str, text: &str) -> Result<T, ErrorKind> {
    text.trim().parse().map_err(|_| wrong(field, text))
}

/// The error of a field whose value is impossible.
pub(in crate::io) fn wrong(field: &str, text: &str) -> ErrorKind {
    const SHOWN: usize = 60;
    ErrorKind::Field { field: field.into(), found: text.chars().take(SHOWN).collect::<String>().into() }
}

/// The error of a field whose value is possible, but not supported.
pub(in crate::io) fn refused(field: &str, text: &str, expected: &'static str) -> ErrorKind {
    ErrorKind::FieldNotServed(Box::new(FieldNotServed { field: field.into(), found: text.into(), expected }))
}

/// Numbers joined by spaces, each with as many digits as needed to read it back.
pub(in crate::io) fn joined<T: ToString>(numbers: impl IntoIterator<Item = T>) -> String {
    numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
}
