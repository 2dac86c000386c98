//! Brain extraction: finds the mask of the brain in an image of a head, by registration to a head whose brain is known,
//! and by the intensities at the edge of the brain.

mod align;
mod ball;
mod contrast;
mod error;
mod extract;
mod finer;
mod kind;
mod packed;
mod refine;
mod shading;
mod surface;
mod synthesis;
mod template;
mod verdict;
mod warning;
mod window;

pub use align::device_bytes;
pub(crate) use antsreg_images::regions::keep_largest;
pub use contrast::Contrast;
pub use error::Error;
pub use extract::{Extraction, extract, value_without_skull, without_skull};
pub use kind::{Kind, kind, mask_of_brain};
pub use synthesis::in_contrast_of;
pub use template::Template;
pub use warning::BrainWarning;
