//! Values in the memory layout of the kernels in `cu/`.

use antsreg_core::AffineTransform;

/// The structure `Vector` of the header `points.cuh`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Vector(pub(super) [f32; 3]);

/// The structure `Size` of the header `points.cuh`: voxels along each axis.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Size([i32; 3]);

impl Size {
    pub(super) fn of(shape: [usize; 3]) -> Size {
        Size(shape.map(|n| n as i32))
    }
}

/// The structure `Map` of the header `points.cuh`: the rows of an affine map, each with the translation last.
pub(super) fn map(transform: &AffineTransform) -> [f32; 12] {
    std::array::from_fn(|element| match (element / 4, element % 4) {
        (row, 3) => transform.translation[row] as f32,
        (row, column) => transform.matrix[(row, column)] as f32,
    })
}
