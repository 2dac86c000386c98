//! What metrics of two images compute besides the similarity.

use crate::ops::Memory;

/// What a metric of two images writes: its derivatives with respect to the values of each image, or updates computed
/// from them. The fixed image comes first.
pub enum MetricOutput<'a, B: Memory> {
    /// One number for each voxel of each image.
    Derivatives([&'a mut B::Image; 2]),
    /// Updates of displacement fields, which move each image along the gradient of the similarity: update(x) =
    /// derivative(x)·∇image(x). The image gradient is by central differences, one-sided at the border, converted to a
    /// displacement in voxels by 1/spacing² on each axis.
    Updates {
        /// The updates of both displacement fields, in voxels.
        fields: [&'a mut B::Field; 2],
        /// Voxel spacing of the grid, mm; only ratios matter. The updates follow the gradient in *physical* space.
        spacing: [f64; 3],
    },
}

/// Factors (finest spacing / spacing)² for each axis, which convert a gradient per voxel to a displacement in voxels along
/// the physical gradient.
pub(crate) fn physical_factors(spacing: [f64; 3]) -> [f32; 3] {
    let finest = spacing.into_iter().fold(f64::INFINITY, f64::min);
    spacing.map(|spacing| (finest / spacing).powi(2) as f32)
}
