//! Many subjects to one fixed image: who they are, and what registers them.

mod engine;
mod engines;
mod registrar;
mod room;
mod subjects;
mod task;

pub use engine::Engine;
pub use engines::Engines;
pub use room::{Largest, largest_grid};
pub use subjects::{Listing, Subject, channels_of, is_image, list};
pub use task::{Sequel, Task};
