//! Symmetric diffeomorphic registration as ANTs' SyN (Avants et al. 2008, 2011), of one or several pairs of images,
//! each pair with its metric and weight.
//!
//! Both images are mapped to a middle space on the fixed grid. φf maps points of the fixed image to the middle space,
//! and φm points of the (affinely aligned) moving image. Images are resampled through the inverses of φf and φm. The
//! four fields are [`Fields`]. Another deformable stage can continue from the fields of an earlier stage
//! ([`Fixed::find`]). At the end the fields are composed to the two warps ([`Fixed::warps`]).
//!
//! | file | contents |
//! |---|---|
//! | `options.rs`, `channel.rs` | the options, their ranges, the images and metrics |
//! | `fixed.rs` | the fixed images, prepared for one registration or many |
//! | `levels.rs`, `convergence.rs` | the levels, coarse to fine; when a level ends, and when it is undone |
//! | `iteration.rs`, `metrics.rs`, `update.rs` | one iteration: metrics, the sum of the channels' updates, the step |
//! | `restriction.rs` | weights on the world components of updates |
//! | `smoothing.rs`, `splines.rs` | smoothing of updates and fields by a Gaussian, or by B-splines that are fitted to them |
//! | `load.rs` | the images on the device, smoothed for each level |
//! | `fields.rs`, `relaxation.rs` | the four fields; the two warps composed of them and relaxed |
//! | `outcome.rs` | the results |
//! | `memory.rs` | the memory that a registration needs |

mod boundaries;
mod channel;
mod contrast;
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
mod smoothing;
mod splines;
mod update;
mod valid_data;

pub use channel::{Channel, Images, Metric};
pub use error::Error;
pub use fields::Fields;
pub use fixed::Fixed;
pub use levels::register;
pub use options::{Counted, Options};
pub use outcome::{Iterations, LevelOutcome, Outcome, Relaxed, Scores, Warps};
pub use splines::Mesh;
