//! What many registrations make together: templates from subjects, labels from atlases.
//!
//! Nothing here registers or reads files: results of `linear` and `syn` come in as plain transforms and volumes, and the
//! program decides what is run when.

pub mod fusion;
pub mod template;
