//! AFNI's affine maps (`.aff12.1D`): the first three rows of a matrix from base (fixed) to source (moving), in AFNI's
//! world, which is LPS mm (`3dAllineate -1Dmatrix_save`). For images that are not oblique.

use nalgebra::Matrix4;

use super::super::ErrorKind;
use super::super::formats::header::flipped;
use super::matrix::{self, checked};
use crate::AffineTransform;

/// The line before the numbers, as AFNI writes it.
const COMMENT: &str = "# 3dAllineate matrices (DICOM-to-DICOM, row-by-row):";

pub(super) fn parse(text: &str) -> Result<AffineTransform, ErrorKind> {
    let found = || ErrorKind::Format { expected: "an affine map of AFNI", found: "other words than numbers".into() };
    let mut numbers = matrix::numbers(text).ok_or_else(found)?;
    if numbers.len() != 12 {
        return Err(ErrorKind::Count { what: "numbers of the matrix", expected: 12, found: numbers.len() });
    }
    numbers.extend([0.0, 0.0, 0.0, 1.0]);
    checked(turned(AffineTransform::from_homogeneous(&Matrix4::from_row_slice(&numbers))))
}

pub(super) fn text(affine: &AffineTransform) -> String {
    let matrix = turned(*affine).to_homogeneous();
    let numbers = (0..12).map(|at| matrix[(at / 4, at % 4)].to_string()).collect::<Vec<_>>();
    format!("{COMMENT}\n{}\n", numbers.join(" "))
}

/// Converts a map from RAS to RAS into one from LPS to LPS, or back.
fn turned(affine: AffineTransform) -> AffineTransform {
    let mut turned = flipped(affine);
    (0..2).for_each(|column| turned.matrix.column_mut(column).neg_mut());
    turned
}
