//! Engines that register many subjects, on all devices.

mod engine;
mod engines;
mod registrar;
mod room;
mod task;

pub use engine::Engine;
pub use engines::Engines;
pub use room::{Largest, largest_grid};
pub use task::{Sequel, Task};
