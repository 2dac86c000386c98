//! Shared parts of the tests of the whole program: running the program, a temporary folder, a synthetic brain.

mod brain;
mod program;

pub use brain::{Brain, grid};
pub use program::{Run, Workplace};
