//! Many subjects to one fixed image: who they are, what registers them, and how reading, computing and writing overlap.

mod aside;
mod backlog;
mod budget;
mod dispatch;
mod engine;
mod engines;
mod pipeline;
mod registrar;
mod room;
mod subjects;
mod task;

pub use aside::Aside;
pub use backlog::{Backlog, Hold};
pub use engine::Engine;
pub use engines::Engines;
pub use pipeline::Crew;
pub use room::{Largest, largest_grid};
pub use subjects::{Listing, Subject, channels_of, is_image, list};
pub use task::{Sequel, Task};
