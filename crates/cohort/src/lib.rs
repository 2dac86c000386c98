//! Computations over many registrations: templates from subjects, and fused labels from atlases.
//!
//! This crate does not register images and reads no files. Results of the crates `linear` and `syn` come in as
//! transforms and volumes. The caller decides when each computation runs.

pub mod fusion;
pub mod template;
