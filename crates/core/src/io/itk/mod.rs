//! ITK's transforms, as ANTs reads and writes them: affine `.mat`, `.txt` and `.tfm`, warp `.nii.gz`.
//!
//! ITK's world is LPS: x and y have the opposite sign of the RAS world used elsewhere. The sign flip happens in this
//! module only.

mod affine;
mod matlab;
mod text;
mod warp;

pub use affine::{read_affine, write_affine};
pub use warp::{read_warp, write_warp};
