//! Symmetric diffeomorphic registration with the semantics of ANTs' SyN (Avants et al. 2008, 2011): one pair of images or
//! several, each with its metric and weight.
//!
//! Both images move to a middle space on the fixed grid. φf and φm map points of the fixed and the (affinely aligned)
//! moving image there; images are read through their inverses. The four fields are [`Fields`]; a further stage can go on from
//! those of an earlier one ([`Fixed::find`]), and in the end they are composed to the two warps ([`Fixed::warps`]).
//!
//! | file | contents |
//! |---|---|
//! | `options.rs`, `check.rs`, `channel.rs` | the options, their ranges, the images and metrics |
//! | `fixed.rs` | the fixed side, for one registration or many |
//! | `levels.rs`, `convergence.rs` | the levels from coarse to fine; when one ends, and when it is undone |
//! | `iteration.rs`, `metrics.rs`, `update.rs` | one iteration: metrics, the sum of the channels' updates, the step |
//! | `restriction.rs` | weights on the world components of updates |
//! | `load.rs` | the images on the device, smoothed for each level |
//! | `fields.rs`, `relaxation.rs` | the four fields; the two warps composed of them and relaxed |
//! | `outcome.rs` | the results |
//! | `memory.rs` | memory that a registration takes |

mod channel;
mod check;
mod convergence;
mod error;
mod fields;
mod fixed;
mod iteration;
mod levels;
mod load;
pub mod memory;
mod metrics;
mod options;
mod outcome;
mod relaxation;
mod restriction;
mod update;

pub use channel::{Channel, Images, Metric};
pub use error::Error;
pub use fields::Fields;
pub use fixed::Fixed;
pub use levels::register;
pub use options::Options;
pub use outcome::{Course, LevelOutcome, Outcome, Relaxed, Scores, Warps};
