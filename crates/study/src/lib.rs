//! Studies of many subjects: who the subjects are, and the files of a template that is built from them.

pub mod subjects;
pub mod template;
