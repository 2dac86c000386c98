//! Symmetric diffeomorphic registration by windowed cross-correlation, with the semantics of ANTs' SyN.

mod options;

pub use options::{LevelOutcome, Options, Outcome};
