//! Displacement fields as ITK's NIfTI vector images: three planes, LPS mm.

use std::path::Path;

use super::super::{Error, nifti};
use crate::DisplacementField;

/// Signs that turn an LPS vector into an RAS one, and back.
const FLIP: [f32; 3] = [-1.0, -1.0, 1.0];

/// Reads a displacement field; its vectors become RAS mm.
pub fn read_warp(path: &Path) -> Result<DisplacementField, Error> {
    let (grid, values) = nifti::read_warp(path)?;
    let count = grid.len();
    let vectors = (0..count).map(|at| std::array::from_fn(|axis| FLIP[axis] * values[axis * count + at])).collect();
    Ok(DisplacementField { grid, vectors })
}

/// Writes a displacement field, its vectors in LPS mm.
pub fn write_warp(path: &Path, field: &DisplacementField) -> Result<(), Error> {
    let components: Vec<u8> = (0..3)
        .flat_map(|axis| field.vectors.iter().flat_map(move |vector| (FLIP[axis] * vector[axis]).to_le_bytes()))
        .collect();
    nifti::write_warp(path, &field.grid, &components)
}
