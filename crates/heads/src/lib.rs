//! Preparation of raw scans of heads for registration.
//!
//! [`bias`] corrects shading by N4. [`brain`] finds the brain of a head. [`tissue`] finds the white matter of a brain.
//! This crate reads no files and prints nothing.

pub mod bias;
pub mod brain;
pub mod tissue;
