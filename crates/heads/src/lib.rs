//! What raw scans of heads need before they are registered.
//!
//! [`bias`] corrects shading by N4. Nothing here reads files or prints.

pub mod bias;
