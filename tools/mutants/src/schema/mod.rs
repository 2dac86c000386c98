//! Sources in which every mutant stands behind a switch (mutant schemata, Untch, Offutt and Harrold 1993).
//!
//! An operator is replaced in the tree of the expression. `cargo mutants` replaces it in the text, so that the
//! precedence of operators may change the meaning of the neighbours too.

mod edit;
mod rewrite;
mod sites;
mod syntax;

pub use rewrite::{Rewritten, rewrite};

/// Name of the module that holds the switch.
pub const MODULE: &str = "__mutants";

/// Source of the module that holds the switch, for the mutants 1 to `count`.
pub fn runtime(count: usize) -> String {
    include_str!("runtime.rs.in").replace("COUNT", &count.to_string())
}
