//! Label fusion: one label map of a target image out of those that several atlases propose for it.
//!
//! Every atlas has been registered to the target, and its image and labels brought onto the target's grid. Where the
//! atlases agree there is nothing to fuse; the other voxels are put to the vote:
//!
//! - [`majority`]: every atlas has one vote.
//! - [`joint`]: atlases vote by weights that make the expected error smallest, given how alike each looks to the target
//!   nearby and how likely two of them are wrong together. H. Wang, J. W. Suh, S. R. Das, J. B. Pluta, C. Craige,
//!   P. A. Yushkevich, "Multi-atlas segmentation with joint label fusion", IEEE TPAMI 35(3), 2013.
//!
//! A tie goes to the smallest label. Results do not depend on the number of threads.

mod block;
mod error;
mod fused;
mod joint;
mod majority;
mod search;
mod tally;
mod undecided;
mod weights;

pub use error::FusionError;
pub use fused::Fused;
pub use joint::{Atlas, JointOptions, joint};
pub use majority::majority;
