//! Computations over many registrations: templates from subjects, fused labels from atlases, and
//! time points of one person.
//!
//! This crate does not register images and reads no files. Results of the crates `linear` and `syn` come in as
//! transforms and volumes. The caller decides when each computation runs.

pub mod fusion;
pub mod longitudinal;
pub mod template;
