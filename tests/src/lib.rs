//! What the whole-program tests share: the program itself, a folder to work in, a brain made of formulas.

mod brain;
mod program;

pub use brain::{Brain, grid};
pub use program::{Run, Workplace};
