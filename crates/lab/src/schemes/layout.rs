//! Kernel arguments with the memory layout of the structures in `cu/`.

use antsreg_core::AffineTransform;

/// Kernel argument: a vector or point with three coordinates, in the memory layout of the structure `Vector` in the
/// header `points.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Vector(pub(super) [f32; 3]);

/// Kernel argument with the layout of the structure `Size` in the header `points.cuh`: number of voxels along each
/// axis.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Size([i32; 3]);

impl Size {
    pub(super) fn of(shape: [usize; 3]) -> Size {
        Size(shape.map(|n| n as i32))
    }
}

/// Kernel argument with the layout of the structure `Map` in the header `points.cuh`: the three rows of an affine map,
/// each with its translation at the end.
pub(super) fn map(transform: &AffineTransform) -> [f32; 12] {
    std::array::from_fn(|element| match (element / 4, element % 4) {
        (row, 3) => transform.translation[row] as f32,
        (row, column) => transform.matrix[(row, column)] as f32,
    })
}
