//! `antsreg-mutants`: mutation testing of a crate from one build.
//!
//! The mutants are those that `cargo mutants --list --json` prints. `prepare` writes all of them into a copy of the
//! sources, each behind a switch that is read when a program starts ([`schema`]), and builds the tests of the crate
//! once. `run` measures which test reaches which mutant, then runs for each mutant only the tests that reach it.
//! `alone` builds the tests again for each mutant that no switch can hold, and runs all of them.

pub mod alone;
pub mod build;
pub mod list;
pub mod manifest;
pub mod run;
pub mod schema;
pub mod source;
pub mod tree;

/// An error with its message; the program prints it and stops.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
