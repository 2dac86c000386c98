//! What raw scans of heads need before they are registered.
//!
//! [`bias`] corrects shading by N4. [`brain`] finds the brain of a head. Nothing here reads files or prints.

pub mod bias;
pub mod brain;
