//! Linear registration by correlation ratio: FLIRT's multi-start, multi-resolution search.

mod options;

pub use options::{Dof, Options, Outcome, Search, Start};
