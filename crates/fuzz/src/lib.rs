//! Fuzzing: all readers of the program are given damaged files and command lines. No reader may panic, take long, or
//! allocate more memory than the length of the input justifies.
//!
//! A [`Target`] has valid inputs (seeds) and a function that reads one input. [`run()`] damages the valid inputs at
//! random and reads them, in one thread. The random numbers follow from a seed number, so that a failure can be
//! repeated. Fuzzing engines that are guided by code coverage are not used: they need a nightly compiler, and the file
//! formats are small.

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
