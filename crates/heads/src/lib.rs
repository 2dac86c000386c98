//! Preparation of raw scans of heads for registration.
//!
//! [`bias`] corrects shading by N4. [`brain`] finds the brain of a head. This crate reads no files and prints
//! nothing.

pub mod bias;
pub mod brain;
