//! A dense displacement field.

use crate::Grid;

/// Displacements in world millimetres (RAS) on a grid: a point x of the grid's space goes to x + u(x).
///
/// Between voxel centres u is trilinear; outside the grid it is zero, as in ITK.
#[derive(Debug, Clone, PartialEq)]
pub struct DisplacementField {
    /// Where the vectors stand.
    pub grid: Grid,
    /// One vector per voxel, mm, first axis fastest.
    pub vectors: Vec<[f32; 3]>,
}
