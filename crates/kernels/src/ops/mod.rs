//! The operations of a registration, one trait for each family. Formula, units, boundary rule and source of an operation
//! are stated here, once for all devices.

mod fields;
mod intensity;
mod memory;
mod relaxation;
mod similarity;
mod warping;

pub use fields::Fields;
pub use intensity::Intensity;
pub use memory::Memory;
pub use relaxation::Relaxation;
pub use similarity::Similarity;
pub use warping::Warping;

/// Whole-volume operations on one device. Images stay on the device; numbers and small tables are returned to the
/// host.
///
/// # Conventions
/// - Shapes are `[nx, ny, nz]`, x fastest in memory. Maps between volumes act on voxel indices (f64); the caller
///   derives them from the grids.
/// - A *field* holds displacements `u` in voxels of its own grid: it maps index x to x + u(x). Between voxels u is
///   trilinear; outside the grid u has the value of the nearest border voxel. The registration stages set the
///   displacements of border voxels to zero. So displacements outside the grid are zero, as in ITK.
/// - Operations that take `&mut` outputs allocate nothing.
/// - The same input gives the same bits, for any number of threads.
pub trait Backend: Memory + Intensity + Warping + Similarity + Fields + Relaxation {}

impl<B: Memory + Intensity + Warping + Similarity + Fields + Relaxation> Backend for B {}
