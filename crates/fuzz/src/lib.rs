//! Damaged files and command lines through everything that the program reads: no panic, no long wait, and no more memory than
//! the input accounts for.
//!
//! A [`Target`] has seeds, good inputs of its kind, and a function that reads one input. [`run()`] damages seeds at random and
//! reads them, in one thread; the numbers of a run follow from its seed, so that a failure comes again. It is a plain loop, as
//! engines that are guided by coverage need a nightly compiler, and the formats are small.

mod mutate;
mod run;
mod seeds;
mod targets;

use peak_alloc::PeakAlloc;

pub use run::{Budget, Error, Failure, Report, once, run};
pub use targets::{TARGETS, Target};

/// The allocator, which counts the memory that readers allocate.
#[global_allocator]
pub(crate) static MEMORY: PeakAlloc = PeakAlloc;
