//! Many subjects to one fixed image: who they are, what registers them, and how reading, computing and writing overlap.

mod budget;
mod engine;
mod pipeline;
mod subjects;

pub use engine::{Engine, Registered, Request, engines, threads_for_writing};
pub use pipeline::{Crew, run};
pub use subjects::{Subject, list};
