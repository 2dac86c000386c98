//! Symmetric diffeomorphic registration with the semantics of ANTs' SyN (Avants et al. 2008, 2011): one pair of images or
//! several, each with its metric and weight.
//!
//! Both images move to a middle space on the fixed grid. φf and φm map points of the fixed and the (affinely aligned)
//! moving image there; images are read through their inverses. One iteration is `iteration.rs`, the way from
//! coarse to fine `levels.rs`; `fields.rs` holds the four fields and how they become the two warps; `fixed.rs` is the
//! fixed side alone, for many images that are brought to one; `outcome.rs` what comes out. What drives them: `load.rs`
//! holds the images, `metrics.rs` the metrics, `update.rs` adds the channels up.

mod channel;
mod convergence;
mod error;
mod fields;
mod fixed;
mod iteration;
mod levels;
mod load;
mod metrics;
mod options;
mod outcome;
mod update;

pub use channel::{Channel, Images, Metric};
pub use error::Error;
pub use fixed::Fixed;
pub use levels::register;
pub use options::Options;
pub use outcome::{Course, LevelOutcome, Outcome, Relaxed, Scores, Warps};
