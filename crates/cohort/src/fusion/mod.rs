//! Label fusion: combines the label maps that several atlases propose for a target image into one.
//!
//! Every atlas has been registered to the target, and its image and labels have been resampled on the target's grid.
//! Where all atlases agree, their label is taken. The other voxels are decided by votes:
//!
//! - [`majority`]: every atlas has one vote.
//! - [`joint`]: votes have weights that minimise the expected error. The weights depend on how similar each atlas is to
//!   the target near the voxel, and on how likely two atlases make the same error. H. Wang, J. W. Suh, S. R. Das, J. B.
//!   Pluta, C. Craige, P. A. Yushkevich, "Multi-atlas segmentation with joint label fusion", IEEE TPAMI 35(3),
//!   2013.
//! - [`joint_everywhere`]: as [`joint`], but at all voxels of a region and also for intensities, as `antsJointFusion`
//!   does.
//!
//! With equal votes, the smallest label wins. Results do not depend on the number of threads.

mod ballot;
mod counts;
mod error;
mod everywhere;
mod fused;
mod joint;
mod majority;
mod options;
mod tally;
mod undecided;

pub use error::FusionError;
pub use everywhere::{FusedImages, joint_everywhere};
pub use fused::Fused;
pub use joint::{Atlas, Compared, compare, joint, joint_device_bytes};
pub use majority::majority;
pub use options::JointOptions;
