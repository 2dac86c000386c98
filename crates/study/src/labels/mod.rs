//! Labels for an image, either from one label map through existing transforms, or from several atlases that are
//! registered to the image and fused. Also leave-one-out scores of a set of atlases.
//!
//! An *atlas* is an image with a label map. A *target* is the image that gets labels.

mod atlas;
mod brains;
mod carry;
mod error;
mod fusion;
mod leave_one_out;
mod load;
mod options;
mod page;
mod plot;
mod progress;
mod propagate;
mod record;
mod scores;
mod study;
mod target;

pub use atlas::{Atlas, AtlasSource, NotAnAtlas};
pub use carry::{Carried, carry};
pub use error::AtlasesError;
pub use fusion::{CarriedAtlas, Fusion, fuse_everywhere};
pub use leave_one_out::{Scored, leave_one_out};
pub use options::{Carrying, LabelOptions};
pub use progress::{LabelsProgress, Registered};
pub use record::{AtlasRecord, Record, Seconds, TargetRecord};
pub use scores::{Method, SummaryRow, TargetScores, mean_jaccard, summary};
pub use study::AtlasStudy;
pub use target::{Labelled, TargetFiles, label_target};
