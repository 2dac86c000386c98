//! The brain of a head: a mask, found by registration to a head whose brain is known, and by the intensities at its edge.

mod align;
mod distance;
mod error;
mod extract;
mod refine;
mod regions;
mod template;

pub use error::Error;
pub use extract::{Brain, Doubt, extract};
pub use template::{Contrast, Template};
