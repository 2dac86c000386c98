//! The files of a template: where they lie, their digests, and the manifests of the steps that wrote them.

mod digest;
mod error;
mod layout;
mod manifest;

pub use digest::{FileRecord, of_words, while_written};
pub use error::Error;
pub use layout::{AverageFiles, Layout, RegistrationFiles, SubjectFiles, TemplateFiles};
pub use manifest::{Manifest, Stage, read_json, write_json};
