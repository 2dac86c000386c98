//! Matrices of 4 × 4 numbers in RAS mm, from fixed to moving: those of MRtrix (`transformconvert`, `mrregister`) and
//! NiftyReg (`reg_aladin -aff`).

use nalgebra::Matrix4;

use super::super::ErrorKind;
use crate::AffineTransform;

/// Largest accepted difference of a number in the last row from 0 0 0 1.
const ROUNDING: f64 = 1e-6;

/// The numbers of a text whose lines with `#` are comments; `None` if a word is not a number.
pub(super) fn numbers(text: &str) -> Option<Vec<f64>> {
    let words = text.lines().filter(|line| !line.trim_start().starts_with('#')).flat_map(str::split_whitespace);
    words.map(|word| word.parse().ok()).collect()
}

/// Reads a matrix of 4 × 4 numbers.
pub(super) fn parse(text: &str) -> Result<AffineTransform, ErrorKind> {
    let found = || ErrorKind::Format { expected: "a matrix (text)", found: "other words than numbers".into() };
    let numbers = numbers(text).ok_or_else(found)?;
    if numbers.len() != 16 {
        return Err(ErrorKind::Count { what: "numbers of the matrix", expected: 16, found: numbers.len() });
    }
    let matrix = Matrix4::from_row_slice(&numbers);
    let last: [f64; 4] = [numbers[12], numbers[13], numbers[14], numbers[15]];
    if last.iter().zip([0.0, 0.0, 0.0, 1.0]).any(|(found, expected)| (found - expected).abs() > ROUNDING) {
        return Err(ErrorKind::LastRow(last));
    }
    checked(AffineTransform::from_homogeneous(&matrix))
}

/// The affine map of a matrix, which must be finite and not singular.
pub(super) fn checked(affine: AffineTransform) -> Result<AffineTransform, ErrorKind> {
    if let Some((index, value)) = affine.to_homogeneous().transpose().iter().enumerate().find(|(_, v)| !v.is_finite())
    {
        return Err(ErrorKind::NotFiniteNumber { what: "matrix", index, value: *value });
    }
    affine.inverse().map(|_| affine).ok_or(ErrorKind::Singular)
}
