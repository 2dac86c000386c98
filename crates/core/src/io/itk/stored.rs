//! A transform of ITK as its files store it.

use super::super::ErrorKind;

/// A transform with the numbers as stored in the file.
pub(super) struct Stored {
    /// Name of the kind of transform, such as `AffineTransform_double_3_3`.
    pub name: String,
    /// Parameters that an optimiser changes: for most kinds of transform a matrix row by row, then a translation.
    pub parameters: Vec<f64>,
    /// Fixed parameters, which an optimiser does not change: for most kinds of transform the centre of rotation.
    pub fixed_parameters: Vec<f64>,
}

/// Checks that a transform has as many numbers of a kind as it needs.
pub(super) fn expect_count(what: &'static str, expected: usize, numbers: &[f64]) -> Result<(), ErrorKind> {
    if numbers.len() == expected { Ok(()) } else { Err(ErrorKind::Count { what, expected, found: numbers.len() }) }
}
