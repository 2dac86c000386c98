//! Mathematics of many registrations: templates from subjects, fused labels from atlases.
//!
//! This crate does not register and reads no files. Results of `linear` and `syn` come in as transforms and volumes;
//! the caller decides what is run when.

pub mod fusion;
pub mod template;
